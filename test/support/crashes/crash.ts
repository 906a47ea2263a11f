/**
 * A server that is killed at a seeded random moment of a seeded random workload, and started again. Records what its
 * clients know at that time. `crash-check.ts` compares it with the state after the restart.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { helloServer, sourceOf } from "../archives/archives.ts";
import { serverOf } from "../http/serve-child.ts";
import { Client, type Served, ServerEnded, serve } from "../http/served.ts";
import { marked } from "../sandbox/jobs.ts";
import { has } from "../vitest/machine.ts";
import { checkAfterCrash, checkAfterEnd, type Known, scopeOf } from "./crash-check.ts";
import { checkVolumes, mountsFor, VolumeWork } from "./crash-volumes.ts";

/** Numbers from 0 to 1, determined by a seed (mulberry32). */
export const randomFrom = (seed: number) => {
  let state = seed >>> 0;
  return (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** A revision that responds with its text; some take time to build. */
const revision = (text: string, slowly: boolean): Uint8Array =>
  sourceOf({
    "package.json": JSON.stringify({
      type: "module",
      scripts: { start: "node server.js", ...(slowly ? { build: "sleep 0.2; echo built" } : {}) },
    }),
    "server.js": helloServer(text),
  });

class Workload {
  readonly known = new Map<string, Known>();
  readonly #client: Client;
  readonly #random: () => number;
  #deploys = 0;
  #over = false;

  constructor(client: Client, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  of(name: string): Known {
    const known = this.known.get(name) ?? { name };
    this.known.set(name, known);
    return known;
  }

  /** Returns the URL; undefined if the deploy failed because a volume was deleted meanwhile. */
  async deploy(name: string): Promise<string | undefined> {
    const known = this.of(name);
    const text = `${name} ${++this.#deploys}`;
    const pending: Known["pending"] = { text };
    known.pending = pending;
    known.deleting = undefined;
    for await (const { deploy_id, status, message, url, reason } of this.#client.deploy(
      name,
      revision(text, has("npm") && this.#random() < 0.3),
      mountsFor(this.#random),
    )) {
      pending.deployId = deploy_id;
      if (reason === "volume_unavailable") {
        known.pending = undefined;
        return undefined;
      }
      if (status === "ERROR") throw new Failure(`a deploy failed: ${message}`);
      if (url === undefined) continue;
      known.serving = text;
      known.pending = undefined;
      return url;
    }
    throw new Error("the stream was cut");
  }

  async remove(name: string): Promise<void> {
    const known = this.of(name);
    known.deleting = "sent";
    await this.#client.remove(name);
    known.deleting = "done";
    known.serving = undefined;
  }

  /** Deploys one name repeatedly. */
  async redeploys(name: string): Promise<void> {
    while (!this.#over) await this.deploy(name);
  }

  /** Creates and deletes deployments. */
  async others(): Promise<void> {
    for (let n = 0; !this.#over; n++) {
      const names = [...this.known.values()].filter(({ name, serving }) => name !== "alpha" && serving !== undefined);
      const old = names[Math.floor(this.#random() * names.length)];
      if (old !== undefined && this.#random() < 0.4) await this.remove(old.name);
      else await this.deploy(old !== undefined && this.#random() < 0.4 ? old.name : `first-${n}`);
    }
  }

  /** Calls a deployment continuously; it must respond as one of its revisions. */
  async requests(name: string, url: string): Promise<void> {
    const known = this.of(name);
    while (!this.#over) {
      const before = [known.serving, known.pending?.text];
      const response = await fetch(url, { signal: AbortSignal.timeout(30_000) });
      const text = await response.text();
      if (![...before, known.serving, known.pending?.text].includes(text))
        throw new Failure(`${name} answered ${response.status} '${text}', not one of '${before.join("', '")}'`);
      await sleep(5);
    }
  }

  /** Starts no new calls. A call that the kill interrupts is not a failure. */
  stop(): void {
    this.#over = true;
  }
}

/** A violation, as opposed to the errors that a kill of the server causes. */
class Failure extends Error {}

const untilCut = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (error instanceof Failure) throw error;
  });

export interface Crash {
  /** Milliseconds from `ready` until every deployment responded again. */
  readonly answered: number;
  /** Deploys that no client saw end. */
  readonly cut: number;
}

/** Kills the engine, or its process group, and waits until it has ended. */
export const kill = async ({ child }: Pick<Served, "child">, group: boolean): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  process.kill(group ? -(child.pid as number) : (child.pid as number), "SIGKILL");
  await ended;
};

/**
 * The processes to kill: the engine, which takes the server with it; the engine's process group; a process that
 * contains both; or the server alone.
 */
const modes = ["engine", "group", "inline", "server"] as const;

/** Kills the server, and waits until the engine has started it again. */
export const killServer = async ({ child, url }: Served): Promise<void> => {
  process.kill(serverOf(child.pid as number) as number, "SIGKILL");
  const isUp = async () => (await fetch(`${url}/health`).catch(() => undefined))?.status === 200;
  while (!(await isUp())) await sleep(20);
};

/** Starts a server and kills it before or soon after it is ready, during its recovery. */
const killAtStart = async (
  dataDir: string,
  options: Readonly<Record<string, string>>,
  after: number,
): Promise<void> => {
  let killed: Promise<void> | undefined;
  const started = serve(dataDir, options, (child) => {
    killed = sleep(after).then(() => kill({ child }, false));
  });
  await started.catch((error: unknown) => {
    if (!(error instanceof ServerEnded)) throw error;
  });
  await killed;
};

export const crash = async (seed: number, runner: "bubblewrap" | "process"): Promise<Crash> => {
  const random = randomFrom(seed);
  const dataDir = await mkdtemp(join(tmpdir(), "portside-crash-"));
  const mode = modes[seed % modes.length];
  const options = {
    runner,
    "drain-seconds": "1",
    "grace-seconds": "2",
    ...(mode === "inline" ? { engine: mode } : {}),
  };
  const servers: Served[] = [];
  try {
    const first = await serve(dataDir, options);
    servers.push(first);
    const workload = new Workload(new Client(first.url, first.apiKey as string), random);
    const url = (await workload.deploy("alpha")) as string;
    if (random() < 0.5) await workload.deploy("beta");
    const volumes = new VolumeWork(new Client(first.url, first.apiKey as string), randomFrom(seed + 1));
    const deploys = [workload.redeploys("alpha"), workload.others(), workload.requests("alpha", url)];
    const lanes = [...deploys, volumes.lane()].map(untilCut);
    const running = Promise.all(lanes);
    await Promise.race([sleep(random() * 1500), running]);
    if (mode === "server") await killServer(first);
    else await kill(first, mode === "group");
    workload.stop();
    volumes.stop();
    await running;
    // The instances of a running engine are not orphans.
    const left = mode === "server" ? [] : marked(`${scopeOf(dataDir)}.`);
    const orphans = new Set(left.map(({ instance }) => instance));
    if (mode !== "server" && random() < 0.3) await killAtStart(dataDir, options, random() * 900);

    const second = mode === "server" ? first : await serve(dataDir, options);
    if (second !== first) servers.push(second);
    const client = new Client(second.url, first.apiKey as string);
    const answered = await checkAfterCrash(client, dataDir, [...workload.known.values()], orphans);
    await checkVolumes(client, dataDir, volumes.known, await client.list());
    // The recovered server must work normally.
    const after = new Workload(client, random);
    await after.deploy("alpha");
    second.child.kill("SIGTERM");
    await checkAfterEnd(second, dataDir);
    return { answered, cut: [...workload.known.values()].filter(({ pending }) => pending !== undefined).length };
  } finally {
    for (const server of servers) await kill(server, true);
    await rm(dataDir, { recursive: true, force: true });
  }
};
