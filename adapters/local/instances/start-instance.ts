/** Starts an instance of a service, and watches it until it listens or it is clear that it will not. */
import { setTimeout as sleep } from "node:timers/promises";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { mountVolumes } from "../sandbox/mounts.ts";
import type { Exit } from "../sandbox/runner.ts";
import { NoUserLeft } from "../sandbox/users/account-users.ts";
import { giveFolder } from "../tenant-files/give-tree.ts";
import { describeExit } from "./exit.ts";
import { freePort } from "./free-port.ts";
import type { Instance, InstanceDeps, InstanceSpec } from "./instance.ts";
import { launchService } from "./launch-service.ts";
import type { Sight } from "./ready.ts";

export interface StartOptions {
  /** Makes sure that connections reach the service, in the version of HTTP that it declares. Takes longer than to see it listen. */
  readonly verifies?: boolean;
  readonly listenMillis: number;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
}

/** Whoever waits for a cold start waits for the next try too: while most services come up, tries follow closely. */
const EAGER_TRY_MS = 4;
const EAGER_FOR_MS = 500;
const PATIENT_TRY_MS = 50;
const LOOK_MS = 500;

type Outcome =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly failure: DeployFailure }
  | { readonly kind: "lost_port" };

const failedToListen = (message: string, tail: readonly string[]): Outcome => ({
  kind: "failed",
  failure: { reason: "did_not_listen", message, logTail: tail },
});

const NOT_HTTP2 =
  "it declares use_http2 and does not speak HTTP/2 without TLS (h2c); serve h2c on PORT, or deploy without use_http2";
const SILENT_OVER_HTTP2 =
  "the service accepts connections, but does not answer over HTTP/2 without TLS (h2c), which it declares by use_http2";

/** What is known of a starting instance's sockets. */
class Watch {
  readonly #instance: Instance;
  readonly #patience: number;
  readonly #verifies: boolean;
  readonly #useHttp2: boolean;
  #elsewhereSince: number | undefined;
  words = "nothing listens on PORT";

  /** @param patience how long it may listen elsewhere, in milliseconds */
  constructor(instance: Instance, patience: number, verifies: boolean, useHttp2: boolean) {
    this.#instance = instance;
    this.#patience = patience;
    this.#verifies = verifies;
    this.#useHttp2 = useHttp2;
  }

  async #see(open: boolean): Promise<Sight> {
    const sight = await this.#instance.look(open);
    if (!open || sight.kind !== "right" || !this.#verifies) return sight;
    if (!(await this.#instance.connects()))
      return { kind: "elsewhere", words: "it does not accept connections over IPv4; listen on 0.0.0.0" };
    const answer = this.#useHttp2 ? await this.#instance.askHttp2() : "speaks";
    if (answer === "refuses") return { kind: "elsewhere", words: NOT_HTTP2 };
    return answer === "silent" ? { kind: "silent", words: SILENT_OVER_HTTP2 } : sight;
  }

  /** @param open whether something accepts connections on the instance's port */
  async look(open: boolean, say: (message: string) => void): Promise<Outcome | undefined> {
    const { tail } = this.#instance;
    const sight = await this.#see(open);
    if (open && sight.kind === "right") {
      if (sight.warning !== undefined) say(sight.warning);
      return { kind: "ready" };
    }
    if (sight.kind === "lost") return { kind: "lost_port" };
    if (sight.kind === "silent") this.words = sight.words;
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
  const watch = new Watch(instance, deps.elsewhereMillis, options.verifies === true, spec.template.useHttp2);
  const begun = Date.now();
  let ended: Exit | undefined;
  void instance.exited.then((exit) => {
    ended = exit;
  });
  let lookedAt = begun;
  for (;;) {
    if (options.signal.aborted)
      return { kind: "failed", failure: { reason: "interrupted", message: "The rollout was ended." } };
    const open = await instance.accepts();
    if (ended !== undefined) {
      // Something answers where the service could not listen: the port was lost to it.
      if (ended.lostPort === true || (open && ended.failure === undefined)) return { kind: "lost_port" };
      return { kind: "failed", failure: describeExit(ended, spec.template.memory, instance.tail) };
    }
    if (open || Date.now() - lookedAt >= LOOK_MS) {
      lookedAt = Date.now();
      const outcome = await watch.look(open, options.say);
      if (outcome !== undefined) return outcome;
    }
    const waited = Date.now() - begun;
    if (waited >= options.listenMillis)
      return failedToListen(`After ${options.listenMillis / 1000} s ${watch.words} (${port}).`, instance.tail);
    await Promise.race([sleep(waited < EAGER_FOR_MS ? EAGER_TRY_MS : PATIENT_TRY_MS), instance.exited]);
  }
};

/** What was built with an engine that is no longer there cannot run. */
const engineGone = (why: string): DeployFailure => ({
  reason: "provider_unavailable",
  message: `The service runs in a container, and ${why}.`,
});

/** The user of the account's services, or the reason that it has none. */
const userFor = (deps: InstanceDeps, owner: AccountId): number | DeployFailure => {
  try {
    return deps.userOf(owner) ?? 0;
  } catch (error) {
    if (error instanceof NoUserLeft) return error.failure;
    throw error;
  }
};

/** Resolves at the deadline as well: an engine may wait for something in the container's image for good. */
const begins = async (instance: Instance, { listenMillis, signal }: StartOptions): Promise<void> => {
  const begun = new AbortController();
  const late = sleep(listenMillis, undefined, { signal: AbortSignal.any([begun.signal, signal]) });
  await Promise.race([instance.begun, late.catch(() => undefined)]);
  begun.abort();
};

/** The machine may lack the room for it: on the disk, in its process table, for another control group. */
const launchWhereRoom = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  options: StartOptions,
): Promise<Instance | DeployFailure> => {
  const { image } = spec;
  if (image.kind === "container" && typeof deps.containers === "string") return engineGone(deps.containers);
  const target = image.kind === "container" && typeof deps.containers !== "string" ? deps.containers : deps.runner;
  const programs = [deps.toolchain.node, deps.toolchain.shims];
  const built = image.kind === "container" ? undefined : { app: image.app, programs: [...programs, ...image.needs] };
  const user = built === undefined ? undefined : userFor(deps, spec.template.owner);
  if (typeof user === "object") return user;
  // An earlier server may have run builds as another user.
  if (built !== undefined)
    for (const path of [built.app, ...built.programs])
      if (path === built.app || path.startsWith(`${deps.cacheDir}/`)) await giveFolder(path, user ?? 0);
  const mounts = await mountVolumes(target, deps.volumes, spec.template, built, user);
  if ("reason" in mounts) return mounts;
  try {
    const instance = launchService(deps, spec, await freePort(), mounts);
    await begins(instance, options);
    return instance;
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
    const instance = await launchWhereRoom(deps, spec, options);
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
