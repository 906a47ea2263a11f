/**
 * kill -9 during rollbacks, and while a new value of a secret redeploys three services. The old or the new release
 * serves, and the list agrees. A record of a rollback's stream determines the moment of the kill, and at least half of
 * the kills must interrupt a rollback. PORTSIDE_RELEASE_KILLS sets the number of kills (4), PORTSIDE_SEED the first
 * seed (random).
 */
import { randomInt } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import type { ReleaseRow } from "../../core/domain/deploy/releases/release.ts";
import { envSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { kill, killServer, randomFrom } from "../support/crashes/crash.ts";
import { Client, end, type Served, serve } from "../support/http/served.ts";
import { eventually } from "../support/vitest/eventually.ts";

const count = Number(process.env["PORTSIDE_RELEASE_KILLS"] ?? 4);
const first = Number(process.env["PORTSIDE_SEED"] ?? randomInt(2 ** 31));

const modes = ["engine", "group", "inline", "server"] as const;
// Other tests find processes by the names of their services.
const names = ["killed-1", "killed-2", "killed-3"];
const env = JSON.stringify({ TOKEN: { secret: "KEY" } });

interface Shown {
  readonly source: string;
  readonly env: { readonly TOKEN: string };
}

const releasesOf = async (client: Client, name: string): Promise<readonly ReleaseRow[]> =>
  (await client.get<{ releases: ReleaseRow[] }>(`/v1/deployment/releases?name=${name}&limit=100`)).releases;

const shownBy = async (client: Client, name: string): Promise<Shown> => {
  const url = (await client.list()).find((one) => one.name === name)?.url ?? "";
  return (await (await fetch(url, { headers: { connection: "close" } })).json()) as Shown;
};

/** Sets a value, and waits for the redeploys. */
const setSecret = async (client: Client, value: string): Promise<number> => {
  const set = await client.post<{ version: number; deploys: { deploy_id: string }[] }>("/v1/secret/set", {
    name: "KEY",
    value,
  });
  for (const { deploy_id: id } of set.deploys) await client.records(`/v1/deploy/${id}`);
  return set.version;
};

/** Concurrent rollbacks of several deployments. */
class Rollbacks {
  readonly ended: Promise<unknown>;
  #running: number;
  readonly #reached = Promise.withResolvers<void>();

  /** @param at the number of the last deployment's record that `reached` waits for */
  constructor(client: Client, of: readonly string[], at: number) {
    this.#running = of.length;
    this.ended = Promise.all(of.map((name, index) => this.#follow(client, name, index === of.length - 1 ? at : 0)));
  }

  /** Resolves when the record has arrived, or when the rollback has ended without it. */
  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Whether a rollback runs whose stream has no final record yet. */
  get areRunning(): boolean {
    return this.#running > 0;
  }

  async #follow(client: Client, name: string, at: number): Promise<void> {
    let records = 0;
    try {
      for await (const { status } of client.follow("/v1/deployment/rollback", { name })) {
        records += 1;
        if (status === "DONE" || status === "ERROR") this.#running -= 1;
        if (records === at) this.#reached.resolve();
      }
    } catch {
      // The kill cuts the stream.
    }
    if (at > 0) this.#reached.resolve();
  }
}

/** The number of records of a rollback before `DONE`. The kill follows one of them. */
const RECORDS = 4;

/** Returns whether the kill interrupted a rollback. */
const crash = async (seed: number, folder: string): Promise<boolean> => {
  const random = randomFrom(seed);
  const mode = modes[seed % modes.length];
  const options = {
    runner: "process",
    "drain-seconds": "1",
    "grace-seconds": "2",
    ...(mode === "inline" ? { engine: mode } : {}),
  };
  let served: Served = await serve(folder, options);
  const apiKey = served.apiKey as string;
  const clientOf = ({ url }: Served): Client => new Client(url, apiKey);
  try {
    const client = clientOf(served);
    const values = new Map([[await setSecret(client, "value 1"), "value 1"]]);
    const sources = new Map<string, string>();
    for (const name of names)
      for (const text of [`${name} a`, `${name} b`]) {
        await Array.fromAsync(client.deploy(name, envSource(text), {}, { env }));
        sources.set((await releasesOf(client, name))[0]?.image_digest ?? "", text);
      }
    const before = new Map(
      await Promise.all(names.map(async (name) => [name, await releasesOf(client, name)] as const)),
    );

    // If the kill interrupts the call, its version is the second.
    values.set(2, "value 2");
    const rollbacks = new Rollbacks(client, names.slice(0, 2), 1 + Math.floor(random() * RECORDS));
    const set = setSecret(client, "value 2").catch(() => undefined);
    await rollbacks.reached;
    const isHit = rollbacks.areRunning;
    if (mode === "server") await killServer(served);
    else {
      await kill(served, mode === "group");
      served = await serve(folder, options);
    }
    await Promise.all([rollbacks.ended, set]);

    const after = clientOf(served);
    for (const name of names) {
      const releases = await releasesOf(after, name);
      const numbers = releases.map(({ release }) => release);
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => b - a));
      // No earlier release changes or disappears.
      expect(releases.slice(-2).map(({ status: _, ...one }) => one)).toEqual(
        before.get(name)?.map(({ status: _, ...one }) => one),
      );
    }
    // The server continues the redeploys that the kill interrupted, so the serving release may change meanwhile.
    for (const name of names)
      await eventually(async () => {
        const [serving] = await releasesOf(after, name);
        expect(await shownBy(after, name)).toEqual({
          source: sources.get(serving?.image_digest ?? ""),
          env: { TOKEN: values.get(serving?.secrets["KEY"] ?? 0) },
        });
      });
    // Setting the value again redeploys the deployments that a later rollback has given the old value.
    await setSecret(after, "value 2");
    for (const name of names) expect((await shownBy(after, name)).env.TOKEN).toBe("value 2");
    // Rollbacks work after the kill.
    for (const name of names) {
      const release = (await releasesOf(after, name)).at(-1)?.release;
      const records = await after.records("/v1/deployment/rollback", { name, release });
      expect(records.at(-1)).toMatchObject({ status: "DONE" });
      expect(await shownBy(after, name)).toEqual({ source: `${name} a`, env: { TOKEN: "value 1" } });
    }
    return isHit;
  } finally {
    await end(served);
  }
};

describe("after kill -9 during a rollback and a new value of a secret, the list names the serving release", () => {
  const hits: boolean[] = [];
  afterAll(() => expect(hits.filter(Boolean).length).toBeGreaterThanOrEqual(hits.length / 2));
  test.each(Array.from({ length: count }, (_, n) => ({ seed: first + n })))(
    "seed $seed",
    { timeout: 180_000 },
    async ({ seed }) => {
      using folder = folderWith();
      hits.push(await crash(seed, folder.path));
    },
  );
});
