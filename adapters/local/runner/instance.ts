/** One instance of a service: started, watched until it listens, its output kept, stopped. */
import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { NewLogEntry } from "../../../core/domain/log-entry.ts";
import { readLine } from "../../../core/domain/log-line.ts";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import type { Image } from "../builder/images.ts";
import { APP, programBinds } from "../builder/steps.ts";
import type { Toolchain } from "../builder/toolchain.ts";
import { removeTree } from "../remove-tree.ts";
import { execLast } from "./exec-last.ts";
import { describeExit } from "./exit.ts";
import { type InstanceMounts, mountVolumes, type VolumeFolders } from "./mounts.ts";
import { accepts, lookAt } from "./ready.ts";
import { type Bind, type Exit, type Runner, type Running, stopRunning } from "./runner.ts";

export interface InstanceDeps {
  readonly runner: Runner;
  /** Where Node must be told its memory limit, because no kernel limit tells it. */
  readonly tellsNodeItsMemory: boolean;
  readonly toolchain: Toolchain;
  readonly volumes: VolumeFolders;
  /** Folders of instances that run without a sandbox. */
  readonly runDir: string;
  readonly scope: string;
  readonly ids: Ids;
  readonly log: (entry: NewLogEntry) => Promise<void> | undefined;
  readonly logger: Logger;
  /** Counts how long it runs, from its start to what this returns; absent: nobody counts. */
  readonly meter?: (template: ServiceTemplate) => () => void;
  readonly graceMillis: number;
  /** How long a service may listen elsewhere before that is taken for its last word. */
  readonly elsewhereMillis: number;
}

export interface InstanceSpec {
  readonly template: ServiceTemplate;
  readonly revision: string;
  readonly image: Image;
}

const TAIL = 20;
const PROCESSES = 1024;

export class Instance {
  readonly id: string;
  readonly port: number;
  readonly #running: Running;
  readonly #deps: InstanceDeps;
  readonly #tail: readonly string[];
  #stopping: Promise<Exit> | undefined;

  constructor(deps: InstanceDeps, running: Running, port: number, tail: readonly string[]) {
    this.id = running.id.slice(running.id.indexOf(".") + 1);
    this.port = port;
    this.#deps = deps;
    this.#running = running;
    this.#tail = tail;
  }

  /** Resolves when nothing of it is left. */
  get exited(): Promise<Exit> {
    return this.#running.exited;
  }

  /** The last lines that it printed, oldest first. */
  get tail(): readonly string[] {
    return [...this.#tail];
  }

  processes(): number[] {
    return this.#running.processes();
  }

  stop(): Promise<Exit> {
    this.#stopping ??= stopRunning(this.#running, this.#deps.graceMillis);
    return this.#stopping;
  }

  kill(): void {
    this.#running.kill();
  }
}

/** A loopback port that nobody has now. Somebody may take it before the service does; that is looked for later. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const nodeOptions = (deps: InstanceDeps, { template, image }: InstanceSpec): Record<string, string> => {
  if (!deps.tellsNodeItsMemory || image.kind !== "node") return {};
  const own = template.env["NODE_OPTIONS"] ?? "";
  if (own.includes("max-old-space-size")) return {};
  const mebibytes = Math.floor((template.memory * 0.75) / 1024 ** 2);
  return { NODE_OPTIONS: `${own} --max-old-space-size=${mebibytes}`.trim() };
};

const environment = (
  deps: InstanceDeps,
  spec: InstanceSpec,
  port: number,
  app: string,
  home: string,
): Record<string, string> => {
  const { template, image, revision } = spec;
  const path = [join(app, "node_modules", ".bin"), ...image.path, join(deps.toolchain.node, "..")];
  return {
    PATH: [...path, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    HOME: home,
    TMPDIR: home,
    LANG: "C.UTF-8",
    ...(image.kind === "node" ? { NODE_ENV: "production" } : {}),
    PYTHONUNBUFFERED: "1",
    ...template.env,
    ...nodeOptions(deps, spec),
    CRON_TOKEN: template.cronToken,
    PORT: String(port),
    K_SERVICE: template.name,
    K_REVISION: revision,
  };
};

const removeHome = (deps: InstanceDeps, home: string): Promise<void> =>
  removeTree(home).catch((cause: unknown) =>
    deps.logger.warn("the folder of an instance could not be removed", { home, cause }),
  );

const launchInstance = (deps: InstanceDeps, spec: InstanceSpec, port: number, mounts: InstanceMounts): Instance => {
  const { template, image, revision } = spec;
  const id = deps.ids.id();
  const sandboxed = deps.runner.mapsPaths;
  const app = sandboxed ? APP : image.app;
  const home = sandboxed ? "/tmp" : join(deps.runDir, id);
  if (!sandboxed) mkdirSync(home, { recursive: true });
  const binds: Bind[] = [
    { host: image.app, inside: app, writable: false },
    ...programBinds([deps.toolchain.node, ...image.needs]),
  ];
  const tail: string[] = [];
  const running = deps.runner.start(
    {
      id: `${deps.scope}.${id}`,
      argv: ["sh", "-c", execLast(image.command)],
      cwd: app,
      env: { ...environment(deps, spec, port, app, home), ...mounts.env },
      binds,
      folders: mounts.binds,
      limits: { memory: template.memory, cpu: template.cpu, processes: PROCESSES },
    },
    (stream, line) => {
      tail.push(line.slice(0, 2000));
      if (tail.length > TAIL) tail.shift();
      return deps.log({
        owner: template.owner,
        service: template.name,
        revision,
        instance: id,
        logName: stream,
        ...readLine(line, stream),
      });
    },
  );
  const ended = deps.meter?.(template);
  void running.exited.then(() => ended?.());
  void running.exited.then(() => mounts.ended());
  if (!sandboxed) void running.exited.then(() => removeHome(deps, home));
  return new Instance(deps, running, port, tail);
};

export interface StartOptions {
  readonly listenMillis: number;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
}

const FIRST_TRY_MS = 5;
const SLOWEST_TRY_MS = 100;
const LOOK_MS = 500;

type Outcome =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly failure: DeployFailure }
  | { readonly kind: "lost_port" };

const failedToListen = (message: string, tail: readonly string[]): Outcome => ({
  kind: "failed",
  failure: { reason: "did_not_listen", message, logTail: tail },
});

/** What is known of a starting instance's sockets. */
class Watch {
  readonly #instance: Instance;
  readonly #patience: number;
  #elsewhereSince: number | undefined;
  words = "nothing listens on PORT";

  /** @param patience how long it may listen elsewhere, in milliseconds */
  constructor(instance: Instance, patience: number) {
    this.#instance = instance;
    this.#patience = patience;
  }

  /** @param open whether something accepts connections on the instance's port */
  async look(open: boolean, say: (message: string) => void): Promise<Outcome | undefined> {
    const { port, tail } = this.#instance;
    const pids = this.#instance.processes();
    const sight = lookAt(pids, port);
    // Without /proc the connection has to do.
    if (open && (sight.kind === "right" || process.platform !== "linux")) {
      if (sight.kind === "right" && sight.warning !== undefined) say(sight.warning);
      return { kind: "ready" };
    }
    if (open && pids.length > 0 && (await accepts(port))) return { kind: "lost_port" };
    if (sight.kind !== "elsewhere") this.#elsewhereSince = undefined;
    else {
      this.#elsewhereSince ??= Date.now();
      this.words = sight.words;
      if (Date.now() - this.#elsewhereSince >= this.#patience)
        return failedToListen(`The service is up, but ${sight.words}.`, tail);
    }
    return undefined;
  }
}

/** Watches a new instance until it is ready or it is clear that it will not be. */
const awaitReady = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  instance: Instance,
  options: StartOptions,
): Promise<Outcome> => {
  const { port } = instance;
  const watch = new Watch(instance, deps.elsewhereMillis);
  const begun = Date.now();
  let ended: Exit | undefined;
  void instance.exited.then((exit) => {
    ended = exit;
  });
  let lookedAt = begun;
  for (let pause = FIRST_TRY_MS; ; pause = Math.min(pause * 1.3, SLOWEST_TRY_MS)) {
    if (options.signal.aborted)
      return { kind: "failed", failure: { reason: "interrupted", message: "The rollout was ended." } };
    const open = await accepts(port);
    if (ended !== undefined) {
      // Something answers where the service could not listen: the port was lost to it.
      if (open) return { kind: "lost_port" };
      return { kind: "failed", failure: describeExit(ended, spec.template.memory, instance.tail) };
    }
    if (open || Date.now() - lookedAt >= LOOK_MS) {
      lookedAt = Date.now();
      const outcome = await watch.look(open, options.say);
      if (outcome !== undefined) return outcome;
    }
    if (Date.now() - begun >= options.listenMillis)
      return failedToListen(`After ${options.listenMillis / 1000} s ${watch.words} (${port}).`, instance.tail);
    await Promise.race([sleep(pause), instance.exited]);
  }
};

/** The machine may lack the room for it: on the disk, in its process table, for another control group. */
const launchWhereRoom = async (deps: InstanceDeps, spec: InstanceSpec): Promise<Instance | DeployFailure> => {
  const mounts = await mountVolumes(deps.runner, deps.volumes, spec.template, spec.image.app);
  if ("reason" in mounts) return mounts;
  try {
    return launchInstance(deps, spec, await freePort(), mounts);
  } catch (cause) {
    mounts.ended();
    deps.logger.error("an instance could not be started", { service: spec.template.name, cause });
    return {
      reason: "provider_unavailable",
      message: "The platform's machine has no room to start the service now; try again.",
    };
  } finally {
    await mounts.started();
  }
};

const PORT_TRIES = 3;

/** Starts an instance; what comes back listens, or says why it does not and has left nothing. */
export const startInstance = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  options: StartOptions,
): Promise<Instance | DeployFailure> => {
  for (let tries = 1; ; tries++) {
    const instance = await launchWhereRoom(deps, spec);
    if ("reason" in instance) return instance;
    const outcome = await awaitReady(deps, spec, instance, options);
    if (outcome.kind === "ready") return instance;
    instance.kill();
    await instance.exited;
    if (outcome.kind === "failed") return outcome.failure;
    if (tries === PORT_TRIES)
      return {
        reason: "did_not_listen",
        message: "Other programs of this machine keep taking the ports given to the service.",
      };
  }
};
