/** One rollout: its ids, its deadline, and its chain of conditional writes. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { type Instant, millisOf, plusMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { RolloutRequest } from "../../../../core/ports/service-platform.ts";
import type { Clock, Ids } from "../../../../core/ports/system.ts";
import { ok } from "../../../../core/result.ts";
import { revisionIdOf } from "../../../cloud/deploy/revision-id.ts";
import type { RetryOptions } from "../../call-policy.ts";
import type { Step } from "../../failures.ts";
import { hostOf } from "../records/names.ts";
import { etagOf, type HeldRecord, type RolloutState } from "../records/record.ts";
import type { Found } from "../records/records.ts";
import type { ReleaseObjects } from "../records/releases.ts";
import { heldIn, type WriteDeps, writeConditionally } from "../records/writes.ts";
import type { RetireDeps } from "../retire.ts";
import type { RevisionDeps } from "./create-revision.ts";
import type { PrepareDeps } from "./prepare.ts";
import type { VerdictDeps } from "./verdict.ts";

export interface RolloutDeps extends WriteDeps, VerdictDeps, RevisionDeps, RetireDeps, PrepareDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly releases: ReleaseObjects;
  /** The setting `releasesKept`. */
  readonly releasesKept: number;
  /** The index of the load balancer to which `balancer`, `scaling` and `location` refer. */
  readonly balancerIndex: number;
}

export type ReportProgress = (message: string) => void;

/**
 * Milliseconds added to the deadline for listening. In this time, ECS places the task, pulls the image and waits for
 * the health checks.
 */
const SLACK_MS = 5 * 60_000;
/** How long S3 Files may reject a new mount, in milliseconds. AWS documents "several minutes" (`isRefusedMount`). */
const MOUNT_MS = 8 * 60_000;
/**
 * How long ECS may be unable to read secrets, in milliseconds. AWS documents no bound: "changes that I make are not
 * always immediately visible", https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html.
 */
const SECRETS_MS = 2 * 60_000;
/** How long to retry a call, in milliseconds. */
export const RETRY_TIMEOUT_MS = 60_000;
/** How long to retry a call after an abort, in milliseconds. An abort must finish within 10 s. */
export const FINAL_RETRY_TIMEOUT_MS = 1500;
/**
 * How long other writers wait before they take over a rollout that is moving traffic. Must exceed the duration of that
 * rollout's calls.
 */
const MOVING_MS = 3 * 60_000;

export class RolloutAttempt {
  readonly deps: RolloutDeps;
  readonly request: RolloutRequest;
  readonly signal: AbortSignal;
  /**
   * The rollout's deadline. The timeout starts only after the prerequisites exist, because creating them can take
   * minutes.
   */
  readonly end: Instant;
  /** Before this time, a rejected mount does not fail the rollout. */
  readonly mountsUntil: Instant;
  /** Before this time, an unreadable secret does not fail the rollout. */
  readonly secretsUntil: Instant;
  /** The id of the rollout's first write. */
  readonly write: string;
  readonly revision: string;
  readonly host: string;
  /** ARN of the rule that references the revision before the revision has traffic; undefined until the rule exists. */
  placeholderRule: string | undefined;

  constructor(deps: RolloutDeps, request: RolloutRequest, signal: AbortSignal) {
    this.deps = deps;
    this.request = request;
    this.signal = signal;
    const { mounts, secrets = {} } = request.template;
    const mountMs = mounts.length > 0 ? MOUNT_MS : 0;
    const secretsMs = Object.keys(secrets).length > 0 ? SECRETS_MS : 0;
    const now = deps.clock.now();
    this.mountsUntil = plusMillis(now, mountMs);
    this.secretsUntil = plusMillis(now, secretsMs);
    this.end = plusMillis(now, Math.max(mountMs, secretsMs) + request.listenDeadlineMs + SLACK_MS);
    this.write = deps.ids.id();
    this.revision = revisionIdOf(request.template.name, this.write);
    this.host = hostOf(deps.location.shared, request.template.name);
  }

  /** Retry options for the calls of a phase, capped at the rollout's deadline. */
  left(): RetryOptions {
    const left = Math.max(0, millisOf(this.end) - millisOf(this.deps.clock.now()));
    return { signal: this.signal, timeoutMs: Math.min(RETRY_TIMEOUT_MS, left), turnMs: left };
  }

  state(write: string, step: RolloutState["step"], until: Instant): RolloutState {
    const at = timestampOf(this.deps.clock.now());
    return { write, step, revision: this.revision, at, until: timestampOf(until) };
  }

  /** Records a later step of this rollout. Fails if another writer has changed the record since `before`. */
  writeStep(
    before: HeldRecord,
    step: "moving" | "moved" | "ended",
    change: Partial<Pick<HeldRecord, "former" | "retired" | "released" | "releases">>,
    retry: RetryOptions,
  ): Step<HeldRecord> {
    const { clock, ids } = this.deps;
    const { name, owner } = this.request.template;
    const write = ids.id();
    const until = step === "moving" ? plusMillis(clock.now(), MOVING_MS) : this.end;
    const expected = { etag: etagOf(before), owner };
    const next = (seen: Found) => {
      const record = heldIn(seen) ?? before;
      return ok({ ...record, ...change, state: this.state(write, step, until) });
    };
    return writeConditionally(this.deps, { name, owner, expected, write, isLaterWrite: true, change: next }, retry);
  }

  /** Returns a failure if another writer has changed the record; otherwise undefined. */
  async lost(record: HeldRecord): Promise<DeployFailure | undefined> {
    const { name, owner } = this.request.template;
    const expected = { etag: etagOf(record), owner };
    // The state is unchanged, so the call writes nothing and only checks the record's etag.
    const write = { name, owner, expected, write: record.state.write, isLaterWrite: true, change: () => ok(record) };
    const same = await writeConditionally(this.deps, write, this.left());
    return same.isErr() ? same.error : undefined;
  }
}
