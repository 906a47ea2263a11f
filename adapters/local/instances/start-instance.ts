/** Starts an instance of a service and watches it until it is ready or has failed. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { mountVolumes } from "../sandbox/mounts.ts";
import type { Exit } from "../sandbox/runner.ts";
import { withoutScope } from "../sandbox/scope.ts";
import { NoUserLeft } from "../sandbox/users/account-users.ts";
import type { SecretValues } from "../secrets/resolve-secrets.ts";
import { chownFolder } from "../tenant-files/chown-tree.ts";
import { BusySocket, type SocketUser } from "./busy-socket.ts";
import { describeExit } from "./describe-exit.ts";
import { freePort } from "./free-port.ts";
import type { Instance, InstanceDeps, InstanceSpec } from "./instance.ts";
import { launchService } from "./launch-service.ts";
import type { ListenState } from "./listen-state.ts";

export interface StartOptions {
  /**
   * Whether to also open a connection to the service, and to check HTTP/2 if the service declares it. This takes
   * longer.
   */
  readonly verifies?: boolean;
  readonly listenMillis: number;
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
  /** Called with each instance that starts, before it is ready. */
  readonly onLaunched?: (instance: Instance) => void;
}

/**
 * The polling interval adds to the latency of a cold start, so it is short during the time in which most services
 * become ready.
 */
const EAGER_TRY_MS = 4;
const EAGER_FOR_MS = 500;
const PATIENT_TRY_MS = 50;
/** The interval between health checks during a start. Afterwards, the service's own interval applies. */
const HEALTH_TRY_MS = 250;
const POLL_MS = 500;

type Outcome =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly failure: DeployFailure }
  | { readonly kind: "lost_port" };

const cancelled: Outcome = {
  kind: "failed",
  failure: { reason: "interrupted", message: "The rollout was cancelled." },
};

const failedToListen = (message: string, tail: readonly string[]): Outcome => ({
  kind: "failed",
  failure: { reason: "did_not_listen", message, logTail: tail },
});

const NOT_HTTP2 =
  "it does not speak HTTP/2 without TLS (h2c), although it declares use_http2; serve h2c on PORT, or deploy without use_http2";
const SILENT_OVER_HTTP2 =
  "it accepts connections, but does not respond over HTTP/2 without TLS (h2c), although it declares use_http2";

/** Returns where the instance listens. If `verifies` is set, checks the result with a connection. */
const verifiedState = async (
  instance: Instance,
  open: boolean,
  { template }: InstanceSpec,
  { verifies = false }: StartOptions,
): Promise<ListenState> => {
  const state = await instance.listenState(open);
  if (!open || state.kind !== "right" || !verifies) return state;
  if (!(await instance.connects()))
    return { kind: "elsewhere", message: "it does not accept connections over IPv4; listen on 0.0.0.0" };
  const answer = template.useHttp2 ? await instance.probeHttp2() : "speaks";
  if (answer === "refuses") return { kind: "elsewhere", message: NOT_HTTP2 };
  return answer === "silent" ? { kind: "silent", message: SILENT_OVER_HTTP2 } : state;
};

/** Tracks the listen state of a starting instance. */
const trackListening = (deps: InstanceDeps, spec: InstanceSpec, instance: Instance, options: StartOptions) => {
  let elsewhereSince: number | undefined;
  const tracker = {
    problem: `nothing listens on PORT (${instance.port})`,
    /**
     * Returns undefined if the instance may still become ready.
     * @param open whether any program accepts connections on the instance's port
     */
    poll: async (open: boolean): Promise<Outcome | undefined> => {
      const state = await verifiedState(instance, open, spec, options);
      if (open && state.kind === "right") {
        if (state.warning !== undefined) options.say(state.warning);
        return { kind: "ready" };
      }
      if (state.kind === "lost") return { kind: "lost_port" };
      if ("message" in state) tracker.problem = state.message;
      if (state.kind !== "elsewhere") {
        elsewhereSince = undefined;
        return undefined;
      }
      elsewhereSince ??= performance.now();
      return performance.now() - elsewhereSince < deps.elsewhereMillis
        ? undefined
        : failedToListen(`The service is up, but ${state.message}.`, instance.tail);
    },
  };
  return tracker;
};

/** Resolves when the instance listens, has failed, or has lost its port. */
const awaitListening = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  instance: Instance,
  options: StartOptions,
): Promise<Outcome> => {
  const tracker = trackListening(deps, spec, instance, options);
  const begun = performance.now();
  let ended: Exit | undefined;
  void instance.exited.then((exit) => {
    ended = exit;
  });
  let polledAt = begun;
  for (;;) {
    if (options.signal.aborted) return cancelled;
    const open = await instance.accepts();
    if (ended !== undefined) {
      // If the service has exited but the port is open, another program has the port.
      if (ended.lostPort === true || (open && ended.failure === undefined)) return { kind: "lost_port" };
      return { kind: "failed", failure: describeExit(ended, spec.template.memory, instance.tail) };
    }
    if (open || performance.now() - polledAt >= POLL_MS) {
      polledAt = performance.now();
      const outcome = await tracker.poll(open);
      if (outcome !== undefined) return outcome;
    }
    const waited = performance.now() - begun;
    if (waited >= options.listenMillis)
      return failedToListen(
        `The service was not ready after ${options.listenMillis / 1000} s: ${tracker.problem}.`,
        instance.tail,
      );
    await Promise.race([sleep(waited < EAGER_FOR_MS ? EAGER_TRY_MS : PATIENT_TRY_MS), instance.exited]);
  }
};

/** Resolves when the health check passes, or the instance has failed. A service without a check is healthy. */
const awaitHealthy = async (
  { template }: InstanceSpec,
  instance: Instance,
  { signal, say, listenMillis }: StartOptions,
  deadline: number,
): Promise<Outcome> => {
  const { health, memory, useHttp2 } = template;
  if (health === undefined) return { kind: "ready" };
  let ended: Exit | undefined;
  void instance.exited.then((exit) => {
    ended = exit;
  });
  const late = AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())));
  let problem: string | undefined;
  for (;;) {
    const result = await instance.checkHealth(health, useHttp2, AbortSignal.any([signal, late]));
    if (signal.aborted) return cancelled;
    if (ended !== undefined) return { kind: "failed", failure: describeExit(ended, memory, instance.tail) };
    if (result.healthy) return { kind: "ready" };
    if (problem === undefined) say(`Waiting for the health check: GET ${health.path} ${result.problem}`);
    // The last complete check is more informative than one that the deadline has aborted.
    if (problem === undefined || !late.aborted) problem = result.problem;
    if (late.aborted) {
      const message = `The service listens, but its health check GET ${health.path} did not pass within ${listenMillis / 1000} s: it ${problem}`;
      return { kind: "failed", failure: { reason: "unhealthy", message, logTail: instance.tail } };
    }
    await Promise.race([sleep(HEALTH_TRY_MS), instance.exited]);
  }
};

/** Returns the failure for a container image after the container engine has become unavailable. */
const engineMissing = (why: string): DeployFailure => ({
  reason: "provider_unavailable",
  message: `The service runs in a container, and ${why}.`,
});

/** Returns the uid for the account's services, 0 for the platform's own user, or a failure if no user is free. */
const userFor = (deps: InstanceDeps, owner: AccountId): number | DeployFailure => {
  try {
    return deps.userOf(owner) ?? 0;
  } catch (error) {
    if (error instanceof NoUserLeft) return error.failure;
    throw error;
  }
};

/** Waits until the command runs, but at most `listenMillis`, because a container engine may hang on an image. */
const begins = async (instance: Instance, { listenMillis, signal }: StartOptions): Promise<void> => {
  const begun = new AbortController();
  const late = sleep(listenMillis, undefined, { signal: AbortSignal.any([begun.signal, signal]) });
  await Promise.race([instance.begun, late.catch(() => undefined)]);
  begun.abort();
};

/** Containers in a virtual machine cannot connect to sockets of this machine, so they have no busy socket. */
const openBusySocket = async (
  { containers, mark, runDir }: InstanceDeps,
  { image, template }: InstanceSpec,
  id: string,
  user: SocketUser,
): Promise<BusySocket | undefined> => {
  const reaches = image.kind !== "container" || (typeof containers !== "string" && containers.engine.sharesKernel);
  if (!reaches) return undefined;
  const path = join(runDir, `${withoutScope(`${mark}.${id}`)}.busy`);
  return BusySocket.open({ path, user, maxMillis: template.timeout * 1000 });
};

/**
 * Returns a failure if the container engine is missing, no user is free, a volume cannot be mounted, or the machine has
 * run out of a resource, such as disk space or processes.
 */
const launchInstance = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  secrets: SecretValues,
  options: StartOptions,
): Promise<Instance | DeployFailure> => {
  const { image } = spec;
  if (image.kind === "container" && typeof deps.containers === "string") return engineMissing(deps.containers);
  const target = image.kind === "container" && typeof deps.containers !== "string" ? deps.containers : deps.runner;
  const programs = [deps.toolchain.node, deps.toolchain.shims];
  const built = image.kind === "container" ? undefined : { app: image.app, programs: [...programs, ...image.needs] };
  const user = built === undefined ? undefined : userFor(deps, spec.template.owner);
  if (typeof user === "object") return user;
  // An earlier run of the server may have built the files as another user.
  if (built !== undefined)
    for (const path of [built.app, ...built.programs])
      if (path === built.app || path.startsWith(`${deps.cacheDir}/`)) await chownFolder(path, user ?? 0);
  const mounts = await mountVolumes(target, deps.volumes, spec.template, built, user);
  if ("reason" in mounts) return mounts;
  let busySocket: BusySocket | undefined;
  try {
    const id = deps.ids.id();
    busySocket = await openBusySocket(deps, spec, id, target.kind === "container" ? "any" : user || "own");
    const instance = launchService(deps, spec, {
      id,
      hostPort: await freePort(),
      mounts,
      secrets,
      busySocket,
    });
    await begins(instance, options);
    return instance;
  } catch (cause) {
    await busySocket?.close();
    mounts.removeLinks();
    deps.logger.error("could not start an instance", { service: spec.template.name, cause });
    return {
      reason: "provider_unavailable",
      message:
        "The platform could not start the service. Its machine may be short of memory, disk space or processes. Try again later.",
    };
  } finally {
    await mounts.closeFolders();
  }
};

const PORT_TRIES = 3;

/** Returns a ready instance, or a failure. After a failure, no process of the instance is left. */
export const startInstance = async (
  deps: InstanceDeps,
  spec: InstanceSpec,
  options: StartOptions,
): Promise<Instance | DeployFailure> => {
  const secrets = deps.secrets.resolve(spec.template);
  if (secrets.isErr()) return secrets.error;
  for (let tries = 1; ; tries++) {
    const instance = await launchInstance(deps, spec, secrets.value, options);
    if ("reason" in instance) return instance;
    options.onLaunched?.(instance);
    const deadline = performance.now() + options.listenMillis;
    const listening = await awaitListening(deps, spec, instance, options);
    const outcome = listening.kind === "ready" ? await awaitHealthy(spec, instance, options, deadline) : listening;
    if (outcome.kind === "ready") return instance;
    instance.kill();
    await instance.exited;
    if (outcome.kind === "failed") return outcome.failure;
    if (tries === PORT_TRIES)
      return {
        reason: "did_not_listen",
        message: `Other programs on this machine took the service's port ${PORT_TRIES} times. Deploy again.`,
      };
  }
};
