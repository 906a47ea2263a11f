/**
 * Rolls out a template in two writes. The first creates the revision without moving traffic. The second moves all
 * traffic once the revision is ready and may serve. A first deployment has no previous revision, so it stays private
 * until the second write.
 *
 * The rollout's state, with a deadline, is stored on the service, so every reader sees it. If the control plane dies
 * between the writes, the next deploy of the name repairs the state.
 */

import { type DeployFailure, isLost } from "../../../core/domain/deploy/reason.ts";
import { writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import { type Instant, millisOf, plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { RolloutEvent, RolloutRequest } from "../../../core/ports/service-platform.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result, safeTry } from "../../../core/result.ts";
import { backoff } from "../../cloud/calls/backoff.ts";
import type { DeployNote } from "../../cloud/deploy/deploy-note.ts";
import { secretMissing, withoutSecrets } from "../../cloud/deploy/pinned-secrets.ts";
import { revisionIdOf } from "../../cloud/deploy/revision-id.ts";
import { failed, INTERRUPTED } from "../../shared/deploy/rollout-ends.ts";
import type { Identities } from "../accounts/identities.ts";
import { failureOfUnavailable } from "../failures.ts";
import type { RolloutSecrets } from "../secrets/secret-store.ts";
import { isAccessRefused } from "./conditions.ts";
import { hasAllTraffic, type OwnService } from "./parse.ts";
import { PROBE_SECONDS } from "./probes.ts";
import { allowPublicAccess } from "./public-access.ts";
import { labelsOf, type RolloutState, renderNote, renderRecord } from "./record.ts";
import { addRelease, noReleases, removeRelease, renderRevisionRecord } from "./releases/release-record.ts";
import { type RetentionDeps, retainReleases } from "./releases/retain-releases.ts";
import { type RunService, renderMinimum, renderTemplate } from "./render.ts";
import { isUnknownIdentity, learnFrom, type RunBehavior } from "./run-behavior.ts";
import type { RetryOptions } from "./services.ts";
import { allTraffic, unchangedTraffic } from "./traffic.ts";
import { type VerdictDeps, verdictOn } from "./verdict.ts";
import { waitUntilPublic } from "./wait-until-public.ts";
import { warningsOf } from "./warnings.ts";
import { type Change, type CurrentState, presentOf, readState, type WriteDeps, writeConditionally } from "./writes.ts";

export interface RolloutDeps extends WriteDeps, VerdictDeps, RetentionDeps {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly identities: Identities;
  readonly secrets: RolloutSecrets;
  /** Shared by all rollouts. */
  readonly behavior: RunBehavior;
  /** The number of releases to keep per deployment. */
  readonly releasesKept: number;
}

const TOO_SLOW: DeployFailure = {
  reason: "rollout_timeout",
  message: "Cloud Run did not finish the rollout within its time limit. Deploy again.",
};

/**
 * Milliseconds added to the deadline for listening. In this time, Cloud Run pulls the image, finds an instance and
 * moves traffic.
 */
const SLACK_MS = 3 * 60_000;
const FIRST_POLL_MS = 300;
const MAX_POLL_MS = 2000;
/** How long to retry a call, in milliseconds. After an abort, the rollout must end within 10 s. */
const RETRY_MS = 60_000;
const FINAL_RETRY_MS = 8000;
/**
 * How long the first write retries while a new identity is not visible to Cloud Run, and the pause between these
 * retries, in milliseconds. They must allow fewer retries than `TRIES` in writes.ts.
 */
const IDENTITY_MS = 150_000;
const IDENTITY_PAUSE_MS = 8000;
/** "typically 2 minutes": https://cloud.google.com/iam/docs/access-change-propagation */
const GRANT_MS = 125_000;

type Step<T> = PromiseLike<Result<T, DeployFailure>>;

export class Rollout {
  readonly #deps: RolloutDeps;
  readonly #request: RolloutRequest;
  readonly #signal: AbortSignal;
  readonly #isSecondTry: boolean;
  #end: Instant;
  readonly #write: string;
  readonly #revision: string;

  constructor(deps: RolloutDeps, request: RolloutRequest, signal: AbortSignal, isSecondTry = false) {
    this.#deps = deps;
    this.#isSecondTry = isSecondTry;
    this.#request = request;
    this.#signal = signal;
    this.#end = this.#newEnd();
    this.#write = deps.ids.id();
    this.#revision = revisionIdOf(request.template.name, this.#write);
  }

  async run(report: (message: string) => void): Promise<RolloutEvent> {
    const { template, mayServe } = this.#request;
    const identity = await this.#identity();
    if (this.#signal.aborted) return failed(INTERRUPTED);
    if (identity.isErr()) return failed(identity.error);
    const begun = await this.#begin(identity.value, report);
    if (begun.isErr()) return isLost(begun.error) ? failed(begun.error) : this.#resolveUnknownWrite(begun.error);
    const etag = begun.value;
    report(`Starting revision ${this.#revision}`);
    for (const warning of warningsOf(template)) report(warning);
    const ready = await this.#awaitReady(etag);
    if (ready.isErr()) {
      const { owner, secrets = {} } = template;
      const failure = await withoutSecrets(ready.error, secrets, () => this.#deps.secrets.values(owner, secrets));
      return isAccessRefused(failure) ? this.#retryLater(etag, failure, report) : this.#abandon(etag, failure);
    }
    report("The revision is ready");
    const rejection = await mayServe?.();
    if (rejection !== undefined) return this.#abandon(etag, rejection);
    const serves = ready.value.service.serving.length > 0;
    // A service with traffic must be public. Grant access before the second write, which cannot be undone.
    const byPolicy = serves && this.#deps.behavior.publicBy === "all_users";
    const notPublic = byPolicy ? await this.#allowPublicAccess(this.#retryOptions()) : undefined;
    if (notPublic !== undefined || this.#signal.aborted) return this.#abandon(etag, notPublic ?? INTERRUPTED);
    const moved = await this.#writeStep(etag, "moved", this.#retryOptions(), this.#note("DONE"));
    if (moved.isErr()) return isLost(moved.error) ? failed(moved.error) : this.#resolveUnknownWrite(moved.error);
    return this.#awaitTraffic(moved.value, byPolicy || this.#deps.behavior.publicBy === "disabled_check");
  }

  /** Rolls out once more if Cloud Run denied a mount or a secret and the grant for it may not have taken effect yet. */
  async #retryLater(etag: string, failure: DeployFailure, report: (message: string) => void): Promise<RolloutEvent> {
    const { clock, identities, secrets } = this.#deps;
    const { template } = this.#request;
    const mounts = template.mounts.flatMap(({ bucket }) => identities.grantedAt(bucket) ?? []);
    const grants = [...mounts, ...secrets.grantedAt(template.owner, template.secrets ?? {})].sort();
    const actsAt = plusMillis(grants.at(-1) ?? clock.now(), GRANT_MS);
    if (this.#isSecondTry || grants.length === 0 || plusMillis(actsAt, GRANT_MS) < clock.now())
      return this.#abandon(etag, failure);
    const ended = await this.#writeStep(etag, "ended", { timeoutMs: FINAL_RETRY_MS });
    if (ended.isErr()) return failed(isLost(ended.error) ? ended.error : failure);
    report("Waiting until Cloud Run has access to the volumes and secrets");
    await clock.sleep(Math.max(0, millisOf(actsAt) - millisOf(clock.now())), this.#signal);
    if (this.#signal.aborted) return failed(INTERRUPTED);
    const request = { ...this.#request, expected: { etag: ended.value, owner: template.owner } };
    return new Rollout(this.#deps, request, this.#signal, true).run(report);
  }

  #newEnd(): Instant {
    return plusMillis(this.#deps.clock.now(), this.#request.listenDeadlineMs + SLACK_MS);
  }

  #retryOptions(): RetryOptions {
    const { clock } = this.#deps;
    const timeoutMs = Math.min(RETRY_MS, Math.max(0, millisOf(this.#end) - millisOf(clock.now())));
    return { signal: this.#signal, timeoutMs };
  }

  #state(write: string, step: RolloutState["step"]): RolloutState {
    const at = timestampOf(this.#deps.clock.now());
    return { write, step, revision: this.#revision, at, until: timestampOf(this.#end) };
  }

  #note(status: DeployNote["status"], reason: DeployNote["reason"] = null): DeployNote {
    const at = timestampOf(this.#deps.clock.now());
    const finishedAt = status === "DEPLOYING" ? null : at;
    return { deployId: this.#request.template.deployId, status, reason, finishedAt, at };
  }

  /**
   * Returns the service's runtime identity, with access to the buckets that the service mounts. Fails if a pinned
   * version of a secret does not exist.
   */
  #identity(): Step<string> {
    const { identities, secrets: stored } = this.#deps;
    const { owner, mounts, secrets = {} } = this.#request.template;
    const options = { signal: this.#signal };
    return safeTry(async function* () {
      const email = yield* identities.ensure(owner, options).mapErr(failureOfUnavailable);
      const volumes = new Map(mounts.map(({ bucket, volume }) => [bucket, volume]));
      for (const [bucket, volume] of volumes) {
        const exists = yield* identities.allow(bucket, email, options).mapErr(failureOfUnavailable);
        const message = `The volume '${volume}' does not exist. Restore it, or deploy again to create an empty volume.`;
        if (!exists) return err<never, DeployFailure>({ reason: "volume_unavailable", message });
      }
      const missing = yield* stored.missing(owner, secrets, options).mapErr(failureOfUnavailable);
      if (missing !== undefined) return err<never, DeployFailure>(secretMissing(missing));
      return ok(email);
    });
  }

  /** Creates the revision without moving traffic. */
  #begin(identity: string, report: (message: string) => void): Step<string> {
    const { template, expected, origin, listenDeadlineMs } = this.#request;
    const { behavior, clock, logger } = this.#deps;
    const { name, owner } = template;
    const identityUntil = plusMillis(clock.now(), IDENTITY_MS);
    const mayRetry = async (error: unknown): Promise<boolean> => {
      if (learnFrom(behavior, error, logger)) {
        if (behavior.probeSeconds * 1000 < listenDeadlineMs)
          report(`Time to listen reduced to ${PROBE_SECONDS.period} s, Cloud Run's maximum`);
        return true;
      }
      if (!isUnknownIdentity(error) || clock.now() >= identityUntil || this.#signal.aborted) return false;
      await clock.sleep(IDENTITY_PAUSE_MS, this.#signal);
      return true;
    };
    const change = (seen: CurrentState): Change => {
      this.#end = this.#newEnd();
      const { run, own } = seen;
      const former = own?.service.serving ?? [];
      const releases = own?.record.releases ?? noReleases;
      const record = { state: this.#state(this.#write, "rolling"), attempted: template, former, releases };
      const note = this.#note("DEPLOYING");
      const { probeSeconds } = behavior;
      const annotations = renderRevisionRecord(this.#revision, template, origin);
      const settings = { identity, revision: this.#revision, annotations, listenDeadlineMs, probeSeconds };
      const service: RunService = {
        labels: { ...run?.labels, ...labelsOf(template) },
        annotations: { ...run?.annotations, ...renderRecord(record), ...renderNote(note) },
        template: renderTemplate(template, settings, run?.template ?? {}, own?.record.attempted),
        traffic: unchangedTraffic(seen),
        ...(run === null ? { ingress: "INGRESS_TRAFFIC_ALL" } : {}),
      };
      return { service, mask: ["labels", "annotations", "template", "traffic"] };
    };
    const write = { name, owner, expected, write: this.#write, change, mayRetry };
    return writeConditionally(this.#deps, write, this.#retryOptions());
  }

  /**
   * Writes a later step of this rollout. Fails if another rollout has written in the meantime.
   *
   * @param note the deploy's final status; not stored if another deploy's status is newer
   */
  #writeStep(etag: string, step: "moved" | "ended", retry: RetryOptions, note?: DeployNote): Step<string> {
    const { name, owner } = this.#request.template;
    const { behavior, ids, logger, releasesKept } = this.#deps;
    const write = ids.id();
    const change = ({ run, own }: CurrentState): Change => {
      const { record, service } = own as OwnService;
      const { attempted, former, lastDeploy } = record;
      const state = { ...this.#state(write, step), ...(service.url === "" ? {} : { url: service.url }) };
      const isNewest = lastDeploy?.deployId === attempted.deployId;
      const end = note !== undefined && isNewest ? renderNote(note) : {};
      const releases =
        step === "moved"
          ? addRelease(record.releases, this.#revision, state.at, releasesKept)
          : removeRelease(record.releases, this.#revision);
      const rendered = renderRecord({ state, attempted, former, releases });
      const noted = { annotations: { ...run?.annotations, ...rendered, ...end } };
      if (step === "ended") return { service: noted, mask: ["annotations"] };
      const scaled = renderMinimum(
        attempted,
        former.map(({ template }) => template),
        run?.scaling,
      );
      const moved = { ...noted, ...scaled, traffic: allTraffic(this.#revision, run) };
      const mask = ["annotations", "traffic", ...Object.keys(scaled)];
      return behavior.publicBy === "all_users"
        ? { service: moved, mask }
        : { service: { ...moved, invokerIamDisabled: true }, mask: [...mask, "invoker_iam_disabled"] };
    };
    const mayRetry = async (error: unknown) => learnFrom(behavior, error, logger);
    return writeConditionally(this.#deps, { name, owner, expected: { etag, owner }, write, change, mayRetry }, retry);
  }

  /** Records that the rollout has failed. If this write fails too, the rollout expires at its deadline. */
  async #abandon(etag: string, failure: DeployFailure): Promise<RolloutEvent> {
    if (isLost(failure)) return failed(failure);
    const end = this.#signal.aborted ? INTERRUPTED : failure;
    const ended = await this.#writeStep(etag, "ended", { timeoutMs: FINAL_RETRY_MS }, this.#note("ERROR", end.reason));
    if (ended.isErr() && !isLost(ended.error))
      this.#deps.logger.warn("a failed rollout stays visible until its deadline", {
        name: this.#request.template.name,
      });
    return failed(this.#signal.aborted ? INTERRUPTED : failure);
  }

  /** A failed write may have been applied, so the service's current state decides how the rollout continues. */
  async #resolveUnknownWrite(failure: DeployFailure): Promise<RolloutEvent> {
    const seen = await readState(this.#deps, this.#request.template.name, { timeoutMs: FINAL_RETRY_MS });
    const own = seen.isOk() ? seen.value.own : undefined;
    if (own === undefined || own.record.state.revision !== this.#revision)
      return failed(this.#signal.aborted ? INTERRUPTED : failure);
    const { etag } = own.service;
    if (own.record.state.step !== "moved") return this.#abandon(etag, failure);
    return this.#awaitTraffic(etag, this.#deps.behavior.publicBy === "disabled_check");
  }

  /** Reads the service. Fails if another rollout has written in the meantime. */
  #readOwn(etag: string, retry: RetryOptions): Step<{ run: RunService; own: OwnService }> {
    const { name, owner } = this.#request.template;
    return readState(this.#deps, name, retry)
      .mapErr(failureOfUnavailable)
      .andThen((seen) => {
        const lost = writeConflict(owner, { etag, owner }, presentOf(seen));
        return lost === undefined ? ok({ run: seen.run as RunService, own: seen.own as OwnService }) : err(lost);
      });
  }

  /** Returns the service once the revision is ready. */
  async #awaitReady(etag: string): Promise<Result<OwnService, DeployFailure>> {
    const { clock } = this.#deps;
    for (const pause of backoff(FIRST_POLL_MS, MAX_POLL_MS)) {
      const seen = await this.#readOwn(etag, this.#retryOptions());
      if (this.#signal.aborted) return err(INTERRUPTED);
      if (seen.isErr()) return err(seen.error);
      const { run, own } = seen.value;
      const verdict = await verdictOn(this.#deps, this.#request.template, this.#revision, run, this.#retryOptions());
      if (verdict === "ready") return ok(own);
      if (verdict !== undefined) return err(verdict);
      if (clock.now() >= this.#end) break;
      await clock.sleep(pause, this.#signal);
    }
    return err(TOO_SLOW);
  }

  #allowPublicAccess(retry: RetryOptions): Promise<DeployFailure | undefined> {
    return allowPublicAccess(this.#deps.services, this.#request.template.name, retry);
  }

  /**
   * Waits until traffic has moved. Ignores aborts, because the move cannot be undone. Retries failed reads until the
   * deadline.
   *
   * @param isPublic whether the service is already public
   */
  async #awaitTraffic(etag: string, isPublic: boolean): Promise<RolloutEvent> {
    const { clock } = this.#deps;
    const notPublic = isPublic ? undefined : await this.#allowPublicAccess({ timeoutMs: RETRY_MS });
    if (notPublic !== undefined) return this.#abandon(etag, notPublic);
    let last: DeployFailure = TOO_SLOW;
    for (const pause of backoff(FIRST_POLL_MS, MAX_POLL_MS)) {
      const seen = await this.#readOwn(etag, { timeoutMs: RETRY_MS });
      if (seen.isErr() && isLost(seen.error)) return failed(seen.error);
      if (seen.isErr()) last = seen.error;
      else {
        const { service, traffic } = seen.value.own;
        if (hasAllTraffic(this.#revision, traffic) && service.url !== "") {
          const problem = await waitUntilPublic(service.url, clock);
          await retainReleases(this.#deps, seen.value.own);
          if (problem === undefined) return { kind: "ready", revision: this.#revision, url: service.url };
          return failed({
            ...TOO_SLOW,
            message: `The revision has all traffic, but ${problem}. Try the URL again in a few minutes.`,
          });
        }
      }
      if (clock.now() >= this.#end) break;
      await clock.sleep(pause);
    }
    return failed(last);
  }
}
