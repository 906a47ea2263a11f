/**
 * Port for running services. The platform is also the control plane's database: the templates of its services are the
 * only record of the running services, their owners and their mounts.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { DeployOutcome } from "../domain/deploy/events.ts";
import type { InstanceStatus } from "../domain/deploy/instance-status.ts";
import type { Expected } from "../domain/deploy/plan.ts";
import type { DeployFailure } from "../domain/deploy/reason.ts";
import type { ReleasedService, ReleaseOrigin, StoredRelease } from "../domain/deploy/releases/release.ts";
import type { Service, ServiceTemplate } from "../domain/deploy/service-template.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** The state of a deployment name. */
export type NameState =
  /** Any account may use the name. */
  | { readonly kind: "free" }
  /** A service has the name. */
  | { readonly kind: "held"; readonly owner: AccountId; readonly service: Service }
  /**
   * No service of this control plane has the name, but only `owner` may use it. Either `owner` deleted the service less
   * than seven days ago (capability `names.remembers_freed`), or another system uses the name on a shared platform. In
   * the second case, `owner` must be a placeholder that matches no account.
   */
  | { readonly kind: "reserved"; readonly owner: AccountId };

/** The input of a rollout. */
export interface RolloutRequest {
  /**
   * The template of the new revision. Its resources must match a size in the platform's catalogue, and the platform's
   * builder must have built its image.
   */
  readonly template: ServiceTemplate;
  /** The state of the name when the deploy began. */
  readonly expected: Expected;
  /** The values that the release of this rollout records in addition to the template. */
  readonly origin: ReleaseOrigin;
  /** Milliseconds within which the new revision must listen. */
  readonly listenDeadlineMs: number;
  /**
   * A final check by the caller. The platform must call `mayServe` after all readers see the template as `rollingOut`
   * and before traffic moves. If `mayServe` returns a failure, the rollout must end with that failure. Absent: no
   * check.
   */
  readonly mayServe?: () => Promise<DeployFailure | undefined>;
}

/** An event of a running rollout. */
export type RolloutEvent =
  /** A sentence for the client. */
  | { readonly kind: "progress"; readonly message: string }
  /** The new revision serves. Platforms with several runners name the selected one in `runner`. */
  | { readonly kind: "ready"; readonly revision: string; readonly url: string; readonly runner?: string }
  /** The rollout failed. The previous revision, if any, still serves. */
  | { readonly kind: "failed"; readonly failure: DeployFailure };

/** Options of `list`. */
export interface ListOptions extends CallOptions {
  /**
   * The maximum age of the list in milliseconds. The platform may return an earlier list of at most this age, unless a
   * method of this port has written since. Defaults to 0. Callers that base a decision on the list, such as a plan or
   * the deletion of a volume, must use 0.
   */
  readonly maxAgeMs?: number;
}

/** Options of `ServicePlatform.releases`. */
export interface ReleaseOptions extends CallOptions {
  /** The number of releases to return. Absent: all. */
  readonly newest?: number;
}

/** Runs services and stores their templates. */
export interface ServicePlatform {
  /** Returns the state of a name. The result must reflect every write through this port that ended before the call. */
  find(name: DeploymentName, options?: CallOptions): ResultAsync<NameState, Unavailable>;

  /**
   * Returns all services of an account, sorted by name. The result must reflect every write of this process that ended
   * before the call. It may lack writes of other processes that are less than `maxAgeMs` old.
   */
  list(owner: AccountId, options?: ListOptions): ResultAsync<readonly Service[], Unavailable>;

  /**
   * Creates a service, or replaces its template with a new revision.
   *
   * Yields `progress` events, then exactly one `ready` or `failed` as the last event. Must not throw.
   *
   * The write is conditional. If the state of the name is not `expected`, the rollout must change nothing and fail with
   * `superseded`, `name_taken` or `deleted` (`writeConflict` decides which). During the rollout, `find` and `list` must
   * return the template as `rollingOut`, and the previous revision must serve.
   *
   * Before `ready`, the new revision must have all traffic, `find` must return it as serving, and a connection to `url`
   * must have succeeded. After `failed`, the previous revision must still serve. If no revision ever served, the
   * service must still exist without one, so that clients can read its logs.
   *
   * If the platform declares `releases`, it must record the release and move the traffic atomically: no reader may see
   * one without the other, even after a crash. A rollout that fails must record nothing.
   *
   * The instances must see the variables of `template.secrets` with the values of the pinned versions. If a version
   * does not exist, the rollout must fail with `secret_unavailable`. A value may appear only in the log lines of the
   * service itself, not in the result of a call.
   *
   * If `signal` aborts before traffic moves, the rollout must fail with `interrupted` within 10 seconds. If `signal`
   * aborts later, the rollout must complete and yield `ready`.
   */
  rollout(request: RolloutRequest, options?: CallOptions): AsyncIterable<RolloutEvent>;

  /**
   * Returns the releases of an account's service, newest first, or an empty list if the account has no service of this
   * name. Must return at most `options.newest` releases. Must be present if the platform declares `releases`.
   *
   * The newest release must be that of the serving revision. Release numbers must increase and may have gaps. Must
   * return at least the releases whose images the platform keeps. The digest of a variable must depend on its value and
   * on a secret, and must be the same in each release that has the value.
   */
  releases?(service: ReleasedService, options?: ReleaseOptions): ResultAsync<readonly StoredRelease[], Unavailable>;

  /**
   * Returns the instances of an account's service, in any order, or an empty list if the account has no service of this
   * name. Must be present if the platform declares `instance_list`.
   *
   * Must include the instances of every revision until they have stopped, and those of a running rollout. A platform
   * that simulates its services has no instances and must return an empty list.
   */
  instances?(service: ReleasedService, options?: CallOptions): ResultAsync<readonly InstanceStatus[], Unavailable>;

  /**
   * Stops and deletes a service and its releases. Must not delete its volumes or logs. If the platform remembers the
   * name, the releases of a later service of that name must continue the numbers and keep the uid. Otherwise, they must
   * have a different uid.
   *
   * When the call returns, no instance may receive requests, and the name must be reserved for its owner if the
   * platform declares `names.remembers_freed`. Fails with `conflict` if the service differs from `expected`, and with
   * `not_found` if the service does not exist.
   */
  remove(
    name: DeploymentName,
    expected: Exclude<Expected, "absent">,
    options?: CallOptions,
  ): ResultAsync<void, NotFound | Conflict | Unavailable>;

  /**
   * Persists the status of a deploy, which later reads return as `Service.lastDeploy`. The last call wins, but the end
   * of a deploy that lost to another write must not replace the status of another deploy (`isLastDeploy`).
   *
   * The call must not change the service's ETag, because a new ETag would make another deploy fail. If the owner has no
   * service of this name, an adapter may store the status until the service exists, or ignore the call. An adapter may
   * keep the status of an unfinished deploy in memory. It may store the outcome together with the rollout and use the
   * rollout's time as `finishedAt`. If the platform finds an unfinished status when it starts, it must replace the
   * status and write a log entry. The outcome is `DONE` if a revision of the deploy serves, and otherwise `ERROR` with
   * the reason `interrupted`.
   */
  noteDeploy(
    service: { readonly name: DeploymentName; readonly owner: AccountId },
    outcome: DeployOutcome,
    options?: CallOptions,
  ): ResultAsync<void, Unavailable>;
}
