/** The deploys of this process that are running or ended recently (`DeployLimits.keptMs`). */
import type { AccountId } from "../../domain/accounts/account.ts";
import type { DeployLimits } from "../../domain/accounts/limits.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import type { Clock } from "../../ports/system.ts";
import { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";
import { type DeployIdentity, type EndReason, RunningDeploy } from "./running-deploy.ts";

/** Maximum total size of the records of ended deploys. If it is exceeded, the oldest deploys are dropped early. */
const MAX_ENDED_BYTES = 64 * 1024 * 1024;

export class RunningDeploys {
  /** Permits one deploy per name at a time, in order of arrival. */
  readonly names = new KeyedSemaphore(1);
  /**
   * Permits one rollout per name at a time, until its schedule is set. A redeploy that a client starts needs no permit
   * of `names`, and therefore does not wait for builds.
   */
  readonly rollouts = new KeyedSemaphore(1);
  /** Permits one redeploy for a new value of a secret per account at a time. */
  readonly redeploys = new KeyedSemaphore(1);
  /** The redeploys that wait for their turn, by account, deployment and secret. */
  readonly waitingRedeploys = new Map<string, RunningDeploy>();
  /** Limits the concurrent builds of an account. */
  readonly builds: KeyedSemaphore;
  readonly #runs = new Map<string, RunningDeploy>();
  /**
   * The deploys of `#runs` that have not ended. Kept separately because lists read them often and many ended deploys
   * may exist.
   */
  readonly #live = new Set<RunningDeploy>();
  readonly #clock: Clock;
  readonly #limits: DeployLimits;
  /** Set by `endAll`. Deploys that begin later end immediately. */
  #endReason: EndReason | undefined;

  constructor(clock: Clock, limits: DeployLimits, buildsAtOnce: number) {
    this.#clock = clock;
    this.#limits = limits;
    this.builds = new KeyedSemaphore(buildsAtOnce);
  }

  begin(identity: DeployIdentity): RunningDeploy {
    this.#forgetOld();
    const run = new RunningDeploy(this.#clock, identity);
    this.#runs.set(run.deployId, run);
    this.#live.add(run);
    void run.settled.then(() => this.#live.delete(run));
    if (this.#endReason !== undefined) run.end(this.#endReason);
    void this.#keepAlive(run);
    return run;
  }

  /** Whether `endAll` was called. */
  get isClosing(): boolean {
    return this.#endReason !== undefined;
  }

  find(deployId: string): RunningDeploy | undefined {
    this.#forgetOld();
    return this.#runs.get(deployId);
  }

  /** Returns the account's deploys that are running or ended recently. */
  ofAccount(owner: AccountId): RunningDeploy[] {
    this.#forgetOld();
    return [...this.#runs.values()].filter((run) => run.owner === owner);
  }

  /** Returns the account's deploys of a name that have not ended. */
  active(owner: AccountId, name: DeploymentName): RunningDeploy[] {
    return this.#active().filter((run) => run.owner === owner && run.name === name);
  }

  /** Returns the account's unfinished deploys that create a deployment, in order of arrival. */
  firstDeploys(owner: AccountId): RunningDeploy[] {
    return this.#active().filter((run) => run.owner === owner && run.first !== undefined && run.phase !== "ended");
  }

  /** Resolves when no deploy is running. */
  async settle(): Promise<void> {
    for (let runs = this.#active(); runs.length > 0; runs = this.#active())
      await Promise.all(runs.map((run) => run.settled));
  }

  /** Ends all current and future deploys. Resolves when the current deploys have settled. */
  async endAll(reason: EndReason): Promise<void> {
    this.#endReason = reason;
    const runs = this.#active();
    for (const run of runs) run.end(reason);
    await Promise.all(runs.map((run) => run.settled));
  }

  #active(): RunningDeploy[] {
    return [...this.#live].filter((run) => run.endedAt === undefined);
  }

  async #keepAlive(run: RunningDeploy): Promise<void> {
    const settled = new AbortController();
    void run.settled.then(() => settled.abort());
    while (!settled.signal.aborted) {
      const due = plusMillis(run.lastAt, this.#limits.heartbeatMs);
      const wait = Number((due - this.#clock.now()) / 1_000_000n);
      if (wait > 0) await this.#clock.sleep(wait, settled.signal);
      else run.repeat();
      if (run.phase === "ended") return;
    }
  }

  #forgetOld(): void {
    const ended = [...this.#runs.values()].filter((run) => run.endedAt !== undefined);
    const now = this.#clock.now();
    let bytes = ended.reduce((sum, run) => sum + run.bytes, 0);
    for (const run of ended) {
      const old = run.endedAt !== undefined && plusMillis(run.endedAt, this.#limits.keptMs) <= now;
      if (!old && bytes <= MAX_ENDED_BYTES) continue;
      bytes -= run.bytes;
      this.#runs.delete(run.deployId);
    }
  }
}
