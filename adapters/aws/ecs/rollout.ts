/**
 * One rollout: a revision is made beside what serves, with a service and a target group of its own, and once it is ready
 * and may serve the listener's rule is pointed at it. What serves is not touched before.
 *
 * Four writes say how far it is: `rolling`, `moving`, `moved`, or `ended`. Each is conditional on the one before, and each
 * has a time past which it is over; so a control plane that dies leaves nothing that the next deploy does not put right.
 * The rule itself takes no condition. Whoever takes over from one that died while it moved traffic deletes that one's
 * target group first: then either the rule names it, and it serves, or no rule ever will.
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import { type Instant, millisOf, plusMillis, timestampOf } from "../../../core/domain/instant.ts";
import { isLost } from "../../../core/domain/write-condition.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { RolloutEvent, RolloutRequest } from "../../../core/ports/service-platform.ts";
import type { CallOptions, Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { INTERRUPTED } from "../../shared/cloud-rollout.ts";
import { pausesBetween } from "../../shared/pauses.ts";
import { revisionIdOf } from "../../shared/revision-id.ts";
import { failureOfUnavailable } from "../failures.ts";
import { folderKey, type MountedFrom } from "../files/access-point.ts";
import type { Patience } from "../state-bucket.ts";
import { ensureRule, failureOfRule, isTaken } from "./front-rule.ts";
import { hostOf, tagsOf, urlOf } from "./names.ts";
import { etagOf, type HeldRecord, type RevisionTemplate, type RolloutState } from "./record.ts";
import type { Found } from "./records.ts";
import { type RetireDeps, retire, routedTo } from "./retire.ts";
import { type MadeRevision, makeRevision, type RevisionDeps } from "./revision.ts";
import { knownOf } from "./service.ts";
import { didNotListen } from "./stopped-task.ts";
import { type VerdictDeps, verdictOn, withLastWords } from "./verdict.ts";
import { amend, heldIn, serving, type WriteDeps, writeConditionally } from "./writes.ts";

/** Who an account's services run as: one task role for each account, with rights on its own buckets and nothing else. */
export interface TaskRoles {
  /** The account's role, made where there is none: its ARN. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Gives a role its rights on a bucket of its account. `false`: there is no such bucket. */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

/** Where a bucket is mounted from, or the folder `subPath` in it; undefined: there is no such bucket. */
export type Mountable = (
  bucket: string,
  options?: CallOptions & { readonly subPath?: string },
) => Promise<Result<MountedFrom | undefined, Unavailable>>;

export interface RolloutDeps extends WriteDeps, VerdictDeps, RevisionDeps, RetireDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly identities: TaskRoles;
  readonly mountable: Mountable;
  readonly reaches: (url: string, millis: number, clock: Clock) => Promise<boolean>;
}

const failed = (failure: DeployFailure): RolloutEvent => ({ kind: "failed", failure });

const TOO_SLOW: DeployFailure = { reason: "rollout_timeout", message: "ECS did not finish the rollout in its time." };

/** Beside the time to listen: finding a machine, pulling the image, and the checks by which ECS calls it complete. */
const SLACK_MS = 5 * 60_000;
const FIRST_LOOK_MS = 300;
const LONGEST_LOOK_MS = 3000;
/** Within a phase a call is repeated this long; an abort has to end within 10 s. */
const PATIENCE_MS = 60_000;
const LAST_PATIENCE_MS = 1500;
/** For how long nobody takes over from whoever moves traffic: longer than its calls may take. */
const MOVING_MS = 3 * 60_000;
const REACH_MS = 30_000;
/** What a revision that is replaced may take to answer what it was asked, before the deploy goes on without looking. */
const DRAIN_MS = 30_000;
const MOVED_TRIES = 3;

type Step<T> = Promise<Result<T, DeployFailure>>;

interface Prepared {
  readonly taskRole: string;
  /** By `folderKey`. */
  readonly fileSystems: ReadonlyMap<string, MountedFrom>;
}

export class Rollout {
  readonly #deps: RolloutDeps;
  readonly #request: RolloutRequest;
  readonly #signal: AbortSignal;
  readonly #end: Instant;
  readonly #write: string;
  readonly #revision: string;
  readonly #host: string;
  /** An attempt before this one that died while it moved traffic. */
  #unfinished: RevisionTemplate | undefined;
  /** The rule that names the revision while it gets no traffic: its ARN. */
  #heldRule: string | undefined;

  constructor(deps: RolloutDeps, request: RolloutRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#end = plusMillis(deps.clock.now(), request.listenDeadline + SLACK_MS);
    this.#write = deps.ids.id();
    this.#revision = revisionIdOf(request.template.name, this.#write);
    this.#host = hostOf(deps.place.shared, request.template.name);
  }

  async run(say: (message: string) => void): Promise<RolloutEvent> {
    const { mayServe } = this.#request;
    const prepared = await this.#prepare();
    if (this.#signal.aborted) return failed(INTERRUPTED);
    if (prepared.isErr()) return failed(prepared.error);
    const begun = await this.#begin();
    if (begun.isErr()) return isLost(begun.error) ? failed(begun.error) : this.#afterDoubt(begun.error);
    const record = begun.value;
    say(`Starting revision ${this.#revision}`);
    const made = await this.#make(record, prepared.value);
    if (made.isErr()) return this.#giveUp(record, made.error);
    const { group, heldRule } = made.value;
    this.#heldRule = heldRule;
    const ready = await this.#ready(record, group, say);
    if (ready.isErr()) return this.#giveUp(record, ready.error);
    say("The revision is ready");
    const refused = await mayServe?.();
    if (refused !== undefined) return this.#giveUp(record, refused);
    const scaled = await this.#deps.scaling.set(this.#revision, group, this.#request.template, this.#left());
    if (scaled.isErr()) return this.#giveUp(record, failureOfRule(scaled.error));
    if (this.#signal.aborted) return this.#giveUp(record, INTERRUPTED);
    return this.#move(record, group, say);
  }

  #left(): Patience {
    const { clock } = this.#deps;
    const patience = Math.min(PATIENCE_MS, Math.max(0, millisOf(this.#end) - millisOf(clock.now())));
    return { signal: this.#signal, patience };
  }

  #state(write: string, step: RolloutState["step"], until: Instant): RolloutState {
    const at = timestampOf(this.#deps.clock.now());
    return { write, step, revision: this.#revision, at, until: timestampOf(until) };
  }

  /** Whoever the service runs as, with its rights on what it mounts, and where that is mounted from. */
  async #prepare(): Step<Prepared> {
    const { identities, mountable } = this.#deps;
    const { owner, mounts } = this.#request.template;
    const options = { signal: this.#signal };
    const role = await identities.ensure(owner, options);
    if (role.isErr()) return err(failureOfUnavailable(role.error));
    const fileSystems = new Map<string, MountedFrom>();
    for (const { bucket, volume, subPath } of mounts) {
      const allowed = await identities.allow(bucket, role.value, options);
      if (allowed.isErr()) return err(failureOfUnavailable(allowed.error));
      const mounted = await mountable(bucket, subPath === undefined ? options : { ...options, subPath });
      if (mounted.isErr()) return err(failureOfUnavailable(mounted.error));
      if (!allowed.value || mounted.value === undefined)
        return err({ reason: "volume_unavailable", message: `The volume '${volume}' is gone.` });
      fileSystems.set(folderKey(bucket, subPath), mounted.value);
    }
    return ok({ taskRole: role.value, fileSystems });
  }

  /** The name is ours, and every reader sees the template. */
  async #begin(): Step<HeldRecord> {
    const { template, expected } = this.#request;
    const { name, owner } = template;
    const change = (seen: Found) => this.#first(seen);
    const write = { name, owner, expected, write: this.#write, change };
    const begun = await writeConditionally(this.#deps, write, this.#left());
    const unfinished = this.#unfinished;
    if (begun.isErr() || unfinished === undefined) return begun;
    return this.#takeOver(begun.value, unfinished);
  }

  async #first(seen: Found): Step<HeldRecord> {
    const { ids, clock, records, balancer } = this.#deps;
    const { template } = this.#request;
    const { name, owner } = template;
    const before = heldIn(seen);
    if (before === undefined) {
      const rules = await balancer.rules(this.#left());
      if (rules.isErr()) return err(failureOfRule(rules.error));
      if (isTaken(rules.value, this.#host))
        return err({ reason: "name_taken", message: "The load balancer has a rule of somebody else's for this name." });
      // Before the record, so that a list never misses one.
      const pointed = await records.point(owner, name, this.#left());
      if (pointed.isErr()) return err(failureOfRule(pointed.error));
    }
    const former = before === undefined ? ok([]) : await serving(this.#deps, before, this.#left());
    if (former.isErr()) return err(failureOfUnavailable(former.error));
    const known = before === undefined ? [] : knownOf(before);
    const idle = known.map(({ id }) => id).filter((id) => !former.value.some((one) => one.id === id));
    this.#unfinished =
      before?.state.step === "moving"
        ? known.find(({ id }) => id === before.state.revision && idle.includes(id))
        : undefined;
    return ok({
      kind: "held",
      uid: before?.uid ?? ids.id(),
      createdAt: before?.createdAt ?? timestampOf(clock.now()),
      state: this.#state(this.#write, "rolling", this.#end),
      attempted: template,
      former: former.value,
      retired: [...new Set([...(before?.retired ?? []), ...idle])],
      removing: null,
      lastDeploy: before?.lastDeploy ?? null,
    });
  }

  /** Whoever moved traffic to it did not come back, or comes late: either it serves, or it never will. */
  async #takeOver(record: HeldRecord, unfinished: RevisionTemplate): Step<HeldRecord> {
    const { name, owner } = this.#request.template;
    const wanted = { owner, revision: unfinished.id, host: this.#host, drain: 0 };
    const fenced = await retire(this.#deps, wanted, this.#left());
    if (fenced.isErr()) {
      await this.#giveUp(record, failureOfRule(fenced.error));
      return err(failureOfRule(fenced.error));
    }
    if (fenced.value === "gone") return ok(record);
    const idle = record.former.map(({ id }) => id);
    const retired = [...record.retired.filter((id) => id !== unfinished.id), ...idle];
    const amended = { ...record, former: [unfinished], retired };
    const change = (now: HeldRecord) =>
      now.state.write === this.#write ? { ...amended, lastDeploy: now.lastDeploy } : undefined;
    return (await amend(this.#deps, name, change, this.#left())).map(() => amended);
  }

  #make(record: HeldRecord, prepared: Prepared): Step<MadeRevision> {
    const { template, listenDeadline } = this.#request;
    const [former] = record.former;
    const ids = { revision: this.#revision, write: this.#write };
    return makeRevision(this.#deps, { ...prepared, ...ids, template, listenDeadline, former }, this.#left());
  }

  /** Ok when the revision is ready. */
  async #ready(record: HeldRecord, group: string, say: (message: string) => void): Step<void> {
    const { clock } = this.#deps;
    const { template, listenDeadline } = this.#request;
    const candidate = { template, revision: this.#revision, group };
    let listensUntil: Instant | undefined;
    for (const pause of pausesBetween(FIRST_LOOK_MS, LONGEST_LOOK_MS)) {
      const lost = await this.#lost(record);
      if (this.#signal.aborted) return err(INTERRUPTED);
      if (lost !== undefined) return err(lost);
      const verdict = await verdictOn(this.#deps, candidate, this.#left());
      if (this.#signal.aborted) return err(INTERRUPTED);
      if (verdict.isErr()) return err(verdict.error);
      if (verdict.value === "ready") return ok(undefined);
      const now = clock.now();
      if (verdict.value === "running" && listensUntil === undefined) {
        say("The service has started; waiting until it answers");
        listensUntil = plusMillis(now, listenDeadline);
      }
      if (listensUntil !== undefined && now >= listensUntil)
        return err(await withLastWords(this.#deps, candidate, didNotListen(template.port), this.#signal));
      if (now >= this.#end) break;
      await clock.sleep(pause, this.#signal);
    }
    return err(TOO_SLOW);
  }

  /** Why this rollout is over, where somebody else wrote since. */
  async #lost(record: HeldRecord): Promise<DeployFailure | undefined> {
    const { name, owner } = this.#request.template;
    const expected = { etag: etagOf(record), owner };
    // A write of what stands already is none: it only compares.
    const write = { name, owner, expected, write: record.state.write, isGoingOn: true, change: () => ok(record) };
    const same = await writeConditionally(this.#deps, write, this.#left());
    return same.isErr() ? same.error : undefined;
  }

  /** A later write of this rollout: only where nobody else wrote since. */
  #goOn(
    before: HeldRecord,
    step: "moving" | "moved" | "ended",
    change: Partial<Pick<HeldRecord, "former" | "retired">>,
    patience: Patience,
  ): Step<HeldRecord> {
    const { clock, ids } = this.#deps;
    const { name, owner } = this.#request.template;
    const write = ids.id();
    const until = step === "moving" ? plusMillis(clock.now(), MOVING_MS) : this.#end;
    const expected = { etag: etagOf(before), owner };
    const next = (seen: Found) => {
      const record = heldIn(seen) ?? before;
      return ok({ ...record, ...change, state: this.#state(write, step, until) });
    };
    return writeConditionally(this.#deps, { name, owner, expected, write, isGoingOn: true, change: next }, patience);
  }

  /** From here on an abort changes nothing: traffic moves, and is not taken back. */
  async #move(record: HeldRecord, group: string, say: (message: string) => void): Promise<RolloutEvent> {
    const patience = { patience: PATIENCE_MS };
    const moving = await this.#goOn(record, "moving", {}, patience);
    if (moving.isErr()) return isLost(moving.error) ? this.#leave(moving.error) : this.#afterDoubt(moving.error);
    const routed = await this.#route(group, patience);
    if (routed.isErr()) {
      const isServing = await this.#isRouted();
      // Nothing is known: what the rule says counts, for whoever looks after the time of this write.
      if (isServing === undefined) return failed(routed.error);
      if (!isServing) return this.#giveUp(moving.value, routed.error);
    }
    return this.#written(moving.value, say);
  }

  /** All requests for the host go to the group; those that the former revision has it may answer. */
  async #route(group: string, patience: Patience): Step<void> {
    const { balancer } = this.#deps;
    const { template } = this.#request;
    const tags = tagsOf({ ...template, revision: this.#revision });
    const front = await ensureRule(this.#deps, { host: this.#host, group, tags }, patience);
    if (front.isErr()) return err(front.error);
    const others = front.value.targets.filter((one) => one.group !== group && one.weight > 0);
    const targets = [{ group, weight: 1 }, ...others.map((one) => ({ group: one.group, weight: 0 }))];
    const isDone = front.value.targets.every((one) => one.group === group);
    if (isDone) return ok(undefined);
    const moved = await balancer.forward(front.value.arn, targets, patience);
    return moved.mapErr(failureOfRule);
  }

  async #isRouted(): Promise<boolean | undefined> {
    const rules = await this.#deps.balancer.rules({ patience: LAST_PATIENCE_MS });
    return rules.isErr() ? undefined : routedTo(rules.value, this.#host, [this.#revision]) !== undefined;
  }

  /** Traffic has moved already; what cannot be written down is tried again. */
  async #finish(moving: HeldRecord, retired: readonly string[], tries = MOVED_TRIES): Step<HeldRecord> {
    const moved = await this.#goOn(moving, "moved", { former: [], retired }, { patience: PATIENCE_MS });
    const isOver = moved.isOk() || isLost(moved.error) || tries === 1;
    return isOver ? moved : this.#finish(moving, retired, tries - 1);
  }

  async #written(moving: HeldRecord, say: (message: string) => void): Promise<RolloutEvent> {
    const { reaches, clock, place } = this.#deps;
    const { name } = this.#request.template;
    const retired = [...new Set([...moving.retired, ...moving.former.map(({ id }) => id)])];
    const moved = await this.#finish(moving, retired);
    if (moved.isErr()) return failed(moved.error);
    await this.#dropHeldRule();
    const url = urlOf(place.shared, name);
    const answers = await reaches(url, REACH_MS, clock);
    if (retired.length > 0) say("Ending the revision before it");
    await this.#sweep(moved.value, DRAIN_MS, PATIENCE_MS);
    if (answers) return { kind: "ready", revision: this.#revision, url };
    return failed({ ...TOO_SLOW, message: `The revision serves, and ${url} takes no connection.` });
  }

  /** A listener has room for few rules. One that stays all the same goes with its revision. */
  async #dropHeldRule(): Promise<void> {
    if (this.#heldRule === undefined) return;
    const dropped = await this.#deps.balancer.dropRule(this.#heldRule, { patience: PATIENCE_MS });
    if (dropped.isErr())
      this.#deps.logger.warn("a rule that nobody needs was not taken away", { revision: this.#revision });
  }

  /** Nothing is rolled out any more; what had traffic has it still. Where even this fails, time ends it. */
  async #giveUp(record: HeldRecord, failure: DeployFailure): Promise<RolloutEvent> {
    if (isLost(failure)) return this.#leave(failure);
    const patience = { patience: LAST_PATIENCE_MS };
    const wanted = { owner: record.attempted.owner, revision: this.#revision, host: this.#host, drain: 0 };
    // One that may have got traffic is fenced first: what is written then is true for ever.
    const fenced = record.state.step === "moving" ? await retire(this.#deps, wanted, patience) : ok("gone" as const);
    if (fenced.isErr()) return failed(failure);
    if (fenced.value === "serves") return this.#written(record, () => undefined);
    const retired = [...new Set([...record.retired, this.#revision])];
    const ended = await this.#goOn(record, "ended", { retired }, patience);
    if (ended.isOk()) await this.#sweep(ended.value, 0, LAST_PATIENCE_MS);
    else if (isLost(ended.error)) return this.#leave(failure);
    else this.#deps.logger.warn("a failed rollout shows until its time is over", { name: this.#request.template.name });
    return failed(this.#signal.aborted ? INTERRUPTED : failure);
  }

  /** Somebody else goes on from here, who knows nothing of what this rollout made last. */
  async #leave(failure: DeployFailure): Promise<RolloutEvent> {
    const { owner } = this.#request.template;
    const wanted = { owner, revision: this.#revision, host: this.#host, drain: 0 };
    const left = await retire(this.#deps, wanted, { patience: LAST_PATIENCE_MS });
    if (left.isErr()) this.#deps.logger.warn("a revision that lost was not taken away", { revision: this.#revision });
    return failed(failure);
  }

  /** Takes away what serves no more; what is left over is known by the record, and the next rollout comes to it. */
  async #sweep(record: HeldRecord, drain: number, millis: number): Promise<void> {
    const { name, owner } = this.#request.template;
    const gone = new Set<string>();
    for (const revision of record.retired) {
      const retired = await retire(this.#deps, { owner, revision, host: this.#host, drain }, { patience: millis });
      if (retired.isOk() && retired.value === "gone") gone.add(revision);
      else this.#deps.logger.warn("a revision that serves no more was not taken away", { revision });
    }
    if (gone.size === 0) return;
    const forget = (now: HeldRecord) => ({ ...now, retired: now.retired.filter((id) => !gone.has(id)) });
    const amended = await amend(this.#deps, name, forget, { patience: millis });
    // The next rollout looks once more for what is gone.
    if (amended.isErr()) this.#deps.logger.warn("what was taken away is still known", { name });
  }

  /** A write did not end well, and may stand all the same: what the record says about it counts. */
  async #afterDoubt(failure: DeployFailure): Promise<RolloutEvent> {
    const seen = await this.#deps.records.read(this.#request.template.name, { patience: LAST_PATIENCE_MS });
    const held = seen.isOk() ? heldIn(seen.value) : undefined;
    if (held === undefined || held.state.revision !== this.#revision)
      return failed(this.#signal.aborted ? INTERRUPTED : failure);
    return this.#giveUp(held, failure);
  }
}
