/**
 * The engine runs the stored services: it owns their listeners, their instances, and the pools that connect the two.
 * The server decides which services and revisions exist: it changes the state, and then calls the engine to apply the
 * change.
 */
import { totalmem } from "node:os";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { InstanceStatus } from "../../../core/domain/deploy/instance-status.ts";
import { effectiveMax } from "../../../core/domain/deploy/instances.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { ReleasedService } from "../../../core/domain/deploy/releases/release.ts";
import type { Revision, ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { Severity } from "../../../core/domain/logs/entry.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import type { Load, Telemetry } from "../../../core/ports/telemetry.ts";
import { INTERRUPTED } from "../../shared/deploy/rollout-ends.ts";
import { BackgroundTasks } from "../../shared/runtime/background-tasks.ts";
import { FairSemaphore } from "../../shared/runtime/fair-semaphore.ts";
import { type ImageStore, imageMissing } from "../builds/image-store.ts";
import type { LocalConfig } from "../config.ts";
import { rolloutFailureOf } from "../deploy/rollout-failure.ts";
import type { Ingress } from "../ingress/index.ts";
import { Pool, type StopReason } from "../ingress/pool.ts";
import { beyondBudget, oldestFirst, type Sleeper } from "../ingress/sleep.ts";
import { describeExit } from "../instances/describe-exit.ts";
import type { Instance, InstanceDeps, InstanceSpec } from "../instances/instance.ts";
import { type StartOptions, startInstance } from "../instances/start-instance.ts";
import type { CronTimers } from "../schedules/cron-timers.ts";
import type { StoredState } from "../state/stored-state.ts";
import type { ServedHosts } from "../tls/served-hosts.ts";
import type { MeasuredInstance } from "../usage/recorder.ts";
import { type ReportedInstance, reportInstances } from "./instance-report.ts";
import { type Candidate, changesTo, type RunningService } from "./reconcile.ts";

/**
 * The maximum number of concurrent starts for `min_instances`. Also limits how many services start an instance
 * concurrently when this engine takes over from another one.
 */
const MAX_CONCURRENT_STARTS = 4;

const idleMessages: Readonly<Record<StopReason, string>> = {
  idle: "Stopping an idle instance",
  quota: "Stopping a frozen instance, because another instance needs its place in the account's quota",
  memory: "Stopping a frozen instance, because frozen instances use too much memory",
};

interface FrozenInstance extends Sleeper {
  readonly stop: (reason: StopReason) => Promise<void>;
}

/** How often the engine checks the state for changes that it missed, in milliseconds. */
const POLL_MS = 1000;

const keyOf = ({ createdAt, revision }: Candidate): string => `${createdAt} ${revision}`;

/** How to start a candidate. */
export type CandidateOptions = Pick<StartOptions, "listenMillis" | "signal" | "say">;

/** The result of applying the state. */
export interface AppliedState {
  /** The port of each service, by the service's name. */
  readonly ports: Readonly<Record<string, number>>;
}

/** The calls that the server makes to the engine. */
export interface Engine {
  /**
   * Starts a candidate, which is an instance of a new revision and receives no requests yet. The candidate joins its
   * service when `apply` finds that the revision serves. Returns the failure if the start fails.
   */
  start(candidate: Candidate, options: CandidateOptions): Promise<DeployFailure | undefined>;
  /** Stops the candidate, if it is running and has not joined its service. */
  end(candidate: Candidate): Promise<void>;
  /** Resolves when routes and schedules match the state. */
  apply(): Promise<AppliedState>;
  /** Returns the service's instances, including those of a running rollout. */
  instances(service: ReleasedService): Promise<readonly InstanceStatus[]>;
  /**
   * Starts a run of the service's schedule now. Resolves to false if the service has no schedule. Rejects with
   * `TooManyFires` if too many requested runs have not ended.
   */
  fire(service: ScheduledService, fireId: string): Promise<boolean>;
}

export interface EngineDeps {
  readonly config: LocalConfig;
  readonly state: Pick<StoredState, "services" | "jobs" | "hosts" | "hasChanged" | "rollingTemplate">;
  readonly timers: Pick<CronTimers, "apply" | "request">;
  readonly ingress: Ingress;
  /** Receives the custom domains and certificates of the state. */
  readonly hosts: Pick<ServedHosts, "apply">;
  readonly images: Pick<ImageStore, "find">;
  readonly instances: InstanceDeps;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** Called when a pool has started an instance, whether for waiting requests or for `min_instances`. */
  readonly onColdStart: (service: ReleasedService) => void;
  readonly listenMillis: number;
}

export class LocalEngine implements Engine {
  readonly #deps: EngineDeps;
  /** The number of instances, by account. */
  readonly #instances = new Map<AccountId, number>();
  readonly #running = new Map<DeploymentName, RunningService>();
  readonly #candidates = new Map<string, Candidate & { readonly owner: AccountId; readonly instance: Instance }>();
  /** The instances that are not ready yet. */
  readonly #starting = new Map<Instance, InstanceSpec>();
  /** By account, the pending stop of a frozen instance, which frees a place in the account's quota. */
  readonly #yielding = new Map<AccountId, Promise<void>>();
  readonly #drains: BackgroundTasks;
  /** Permits starts for `min_instances`. One account cannot take all permits, because a start may take a minute. */
  readonly #turns = new FairSemaphore(MAX_CONCURRENT_STARTS, MAX_CONCURRENT_STARTS - 1);
  #applied: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #pollTimer: NodeJS.Timeout | undefined;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#drains = new BackgroundTasks(deps.logger);
  }

  async start(candidate: Candidate, options: CandidateOptions): Promise<DeployFailure | undefined> {
    const template = this.#deps.state.rollingTemplate(candidate);
    if (template === undefined)
      return {
        reason: "superseded",
        message: "Another deploy changed this deployment in the meantime. Deploy again to replace it.",
      };
    const { owner } = template;
    const image = this.#deps.images.find(template.image);
    if (image === undefined) return imageMissing;
    while (!this.#take(owner)) {
      const room = this.#makeRoom(owner);
      if (room === undefined)
        return {
          reason: "quota_exceeded",
          message: `Your account already runs its maximum number of instances (${this.#deps.config.instancesPerAccount}). Delete a deployment, or wait until idle instances stop.`,
        };
      await room;
    }
    const spec = { template, revision: candidate.revision, image };
    const started = await this.#start(spec, { ...options, verifies: true }).catch((cause) => {
      this.#deps.logger.error("could not start an instance", { name: candidate.name, cause });
      return rolloutFailureOf(cause);
    });
    if ("reason" in started) {
      this.#give(owner);
      return started;
    }
    this.#candidates.set(keyOf(candidate), { ...candidate, owner, instance: started });
    if (!options.signal.aborted) return undefined;
    await this.end(candidate);
    return INTERRUPTED;
  }

  async #start(spec: InstanceSpec, options: StartOptions): Promise<Instance | DeployFailure> {
    const launched: Instance[] = [];
    const onLaunched = (instance: Instance) => {
      launched.push(instance);
      this.#starting.set(instance, spec);
    };
    try {
      return await startInstance(this.#deps.instances, spec, { ...options, onLaunched });
    } finally {
      for (const instance of launched) this.#starting.delete(instance);
    }
  }

  async end(candidate: Candidate): Promise<void> {
    const known = this.#candidates.get(keyOf(candidate));
    if (known === undefined) return;
    this.#candidates.delete(keyOf(candidate));
    this.#give(known.owner);
    await known.instance.stop();
  }

  /** The candidates that have not joined their service. */
  get candidates(): readonly Candidate[] {
    return [...this.#candidates.values()];
  }

  async instances({ name, owner }: ReleasedService): Promise<readonly InstanceStatus[]> {
    const found: ReportedInstance[] = [];
    for (const [instance, { template, revision }] of this.#starting)
      if (template.name === name && template.owner === owner) found.push({ instance, revision, state: "starting" });
    // A candidate is ready, but receives no requests.
    for (const candidate of this.#candidates.values())
      if (candidate.name === name && candidate.owner === owner)
        found.push({ instance: candidate.instance, revision: candidate.revision, state: "starting" });
    for (const { template, revision, pool } of this.#deps.ingress.route(name)?.revisions ?? [])
      if (template.owner === owner) found.push(...pool.instances.map((one) => ({ ...one, revision })));
    return reportInstances(found);
  }

  async fire(service: ScheduledService, fireId: string): Promise<boolean> {
    return this.#deps.timers.request(service, fireId);
  }

  /** Serializes calls, so each one starts from the result of the previous one. */
  apply(): Promise<AppliedState> {
    const work = this.#applied.then(() => this.#apply());
    // The next call or check retries after a failure.
    this.#applied = work.then(
      () => {
        this.#hasFailed = false;
      },
      () => {
        this.#hasFailed = true;
      },
    );
    return work;
  }

  async #apply(): Promise<AppliedState> {
    const { hosts, ingress, state, timers } = this.#deps;
    hosts.apply(state.hosts());
    try {
      await this.#applyServices();
    } finally {
      // A failure of one service must not stop the schedules of other services.
      timers.apply(state.jobs());
    }
    return { ports: ingress.servicePorts() };
  }

  async #applyServices(): Promise<void> {
    const { ingress, state } = this.#deps;
    const { removed, added, served } = changesTo(state.services(), this.#running);
    for (const name of removed) {
      this.#drains.add(ingress.removeService(name), "a removed service did not drain");
      this.#running.delete(name);
    }
    for (const { name, owner, createdAt } of added) {
      await ingress.addService(name);
      this.#running.set(name, { owner, createdAt, revision: null });
    }
    // The spare ports come after the services' previous ports, which they could otherwise take. Instances start last,
    // because an instance can reach only the ports that were open when its network was created.
    await ingress.openSparePorts();
    for (const { wanted, revision } of served) {
      const { name, owner, createdAt } = wanted;
      this.#serve(createdAt, revision);
      this.#running.set(name, { owner, createdAt, revision: revision.id });
    }
  }

  /** Routes the service's requests to a revision. Adds the revision's candidate, if any, to the pool. */
  #serve(createdAt: Timestamp, { id, template }: Revision): void {
    const pool = this.#pool(template, id);
    const key = keyOf({ name: template.name, createdAt, revision: id });
    const candidate = this.#candidates.get(key);
    if (candidate !== undefined) {
      this.#candidates.delete(key);
      pool.add(candidate.instance);
    }
    this.#deps.ingress.switchTo(template.name, { template, revision: id, pool });
    pool.startMissing();
  }

  /** The services with at least one instance that is not frozen. */
  get running(): readonly DeploymentName[] {
    return this.#deps.ingress
      .serving()
      .filter(({ pool }) => pool.size > pool.frozen.length)
      .map(({ template }) => template.name);
  }

  /**
   * Starts an instance of each listed service that has none. Resolves when every start has succeeded or failed. Throws
   * if all starts failed, because then the cause is probably this process and not a service. Otherwise, logs the
   * failures.
   */
  async warm(services: readonly DeploymentName[]): Promise<void> {
    const failed: DeploymentName[] = [];
    const warm = async (name: DeploymentName) => {
      if (!(await this.#warmOne(name))) failed.push(name);
    };
    const turns = new FairSemaphore(MAX_CONCURRENT_STARTS);
    await Promise.all(services.map((name) => turns.take(name, undefined, () => warm(name))));
    if (services.length > 0 && failed.length === services.length)
      throw new Error(`No service could start an instance: ${failed.slice(0, 10).join(", ")}.`);
    if (failed.length > 0) this.#deps.logger.warn("some services could not start an instance", { services: failed });
  }

  async #warmOne(name: DeploymentName): Promise<boolean> {
    const admission = await this.#deps.ingress.route(name)?.admit(undefined, new AbortController().signal);
    // A service that was removed in the meantime needs no instance.
    if (admission === undefined || !("slot" in admission)) return admission?.kind !== "did_not_start";
    admission.slot.release();
    return true;
  }

  /** Returns the instances of the serving revisions, with their services. */
  pooled(): readonly MeasuredInstance[] {
    return this.#deps.ingress
      .serving()
      .flatMap(({ pool, template: { owner, name } }) =>
        pool.instances.map(({ instance }) => ({ owner, name, instance })),
      );
  }

  /** Counts the waiting requests, and the instances by state. */
  load(): Omit<Load, "logEntriesWaiting"> {
    const pools = this.#deps.ingress.serving().map(({ pool }) => pool.load);
    const sum = (of: (pool: Pool["load"]) => number): number => pools.reduce((total, pool) => total + of(pool), 0);
    const [starting, busy] = [sum((pool) => pool.starting), sum((pool) => pool.busy)];
    const [idle, frozen] = [sum((pool) => pool.idle), sum((pool) => pool.frozen)];
    const all = [...this.#instances.values()].reduce((total, taken) => total + taken, 0);
    return {
      instances: { starting, busy, idle, frozen, rolling: all - starting - busy - idle - frozen },
      requestsWaiting: sum((pool) => pool.waiting),
    };
  }

  /** Stops checking the state. Another engine applies later changes. */
  unwatch(): void {
    clearInterval(this.#pollTimer);
  }

  /** Checks the state once a second until `unwatch` or `close`. Applies new changes, and retries after a failure. */
  watch(): void {
    this.#pollTimer = setInterval(() => void this.#checkState(), POLL_MS).unref();
  }

  async #checkState(): Promise<void> {
    try {
      if (this.#deps.state.hasChanged() || this.#hasFailed) await this.apply();
    } catch (cause) {
      this.#deps.logger.error("could not apply the state to services; will try again", { cause });
    }
  }

  /** Resolves when removed services have drained. */
  async close(): Promise<void> {
    this.unwatch();
    await this.#applied;
    await this.#drains.settle();
  }

  #pool(template: ServiceTemplate, revision: string): Pool {
    const { config, images, instances, listenMillis, logger, telemetry } = this.#deps;
    const { owner, name, health, useHttp2 } = template;
    const log = (severity: Severity, instance: string, event: string, message: string, more: object = {}) => {
      const json = { event, message, ...more };
      void instances.log({ owner, service: name, revision, instance, severity, logName: "platform", json });
    };
    const pool = new Pool({
      concurrency: template.concurrency,
      maxInstances: effectiveMax(template.maxInstances, config.maxInstances),
      ...(health === undefined
        ? {}
        : {
            health: {
              intervalMillis: health.interval * 1000,
              failures: health.failures,
              drainMillis: config.drainSeconds * 1000,
              check: (instance, signal) => instance.checkHealth(health, useHttp2, signal),
              onUnhealthy: (instance, problem) =>
                log(
                  "ERROR",
                  instance.id,
                  "unhealthy",
                  `Replacing an instance whose health check GET ${health.path} failed ${health.failures} times in a row: it ${problem}`,
                ),
            },
          }),
      minInstances: template.minInstances ?? 0,
      idle: template.idle ?? config.idle,
      idleMillis: config.idleSeconds * 1000,
      stopAfterMillis: config.stopAfterSeconds * 1000,
      queueLimit: config.queue,
      waitMillis: template.timeout * 1000,
      acquireQuota: () => {
        const taken = this.#take(owner);
        if (!taken) void this.#makeRoom(owner)?.then(() => pool.startMissing());
        return taken;
      },
      releaseQuota: () => this.#give(owner),
      inTurn: (start) => this.#turns.take(owner, undefined, start),
      start: async (signal) => {
        const start = async () => {
          const image = images.find(template.image);
          if (image === undefined) return imageMissing;
          const options = { listenMillis, signal, say: () => undefined };
          return this.#start({ template, revision, image }, options);
        };
        const outcome = await start().catch((cause): DeployFailure => {
          logger.error("could not start an instance", { name, cause });
          return {
            reason: "internal",
            message: "The platform could not start an instance. The operator can find the reason in the server's log.",
          };
        });
        if ("reason" in outcome && outcome.reason !== "interrupted")
          log("ERROR", "", "start_failed", outcome.message, { reason: outcome.reason, exit_code: outcome.exitCode });
        return outcome;
      },
      onStarted: (instance, millis) => {
        telemetry.coldStarted(millis / 1000);
        this.#deps.onColdStart({ owner, name });
        log("INFO", instance.id, "started", `An instance started in ${millis} ms`, { cold_start_ms: millis });
      },
      onFrozen: (instance) => {
        log("INFO", instance.id, "frozen", "Freezing an idle instance until its next request");
        this.#fitMemory();
      },
      onThawed: (instance, millis) =>
        log("INFO", instance.id, "thawed", `A frozen instance thawed in ${millis} ms`, { thaw_ms: millis }),
      onSleepFailed: (instance, cause) =>
        logger.warn("could not freeze or thaw an instance", { name, instance: instance.id, cause }),
      onIdle: (instance, reason) => log("INFO", instance.id, "idle", idleMessages[reason], { reason }),
      onUnreachable: (instance) =>
        log("ERROR", instance.id, "unreachable", "Stopping an instance that can no longer serve requests"),
      onCrashed: (instance, exit) => {
        const { reason, message, exitCode } = describeExit(exit, template.memory, instance.tail);
        log("CRITICAL", instance.id, "crashed", message, { reason, exit_code: exitCode });
      },
    });
    return pool;
  }

  /** @param owner only instances of this account; defaults to all accounts */
  #frozen(owner?: AccountId): FrozenInstance[] {
    const names = [...this.#running].filter(([, running]) => owner === undefined || running.owner === owner);
    return names.flatMap(([name]) => {
      const pool = this.#deps.ingress.route(name)?.serving?.pool;
      if (pool === undefined) return [];
      return pool.frozen.map((pooled) => ({
        idleSince: pooled.idleSince,
        memory: pooled.memory,
        stop: (reason) => pool.stopIdle(pooled, reason),
      }));
    });
  }

  /**
   * Stops the account's frozen instance that has been idle longest. If such a stop is already pending, returns its
   * promise. Resolves when the instance has stopped. Returns undefined if the account has no frozen instance.
   */
  #makeRoom(owner: AccountId): Promise<void> | undefined {
    const present = this.#yielding.get(owner);
    if (present !== undefined) return present;
    const [oldest] = oldestFirst(this.#frozen(owner));
    if (oldest === undefined) return undefined;
    const stopped = oldest.stop("quota").finally(() => this.#yielding.delete(owner));
    this.#yielding.set(owner, stopped);
    return stopped;
  }

  /** Stops frozen instances, longest idle first, until the others use at most the memory of `frozenMemory`. */
  #fitMemory(): void {
    const budget = this.#deps.config.frozenMemory ?? totalmem() / 2;
    for (const one of beyondBudget(this.#frozen(), budget)) void one.stop("memory");
  }

  #take(owner: AccountId): boolean {
    const taken = this.#instances.get(owner) ?? 0;
    if (taken >= this.#deps.config.instancesPerAccount) return false;
    this.#instances.set(owner, taken + 1);
    return true;
  }

  #give(owner: AccountId): void {
    this.#instances.set(owner, (this.#instances.get(owner) ?? 1) - 1);
  }
}
