/**
 * Port for running services. The platform is also the control plane's database: the templates of its services are the only
 * record of what runs, who owns it and what it mounts.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { DeployOutcome } from "../domain/deploy/events.ts";
import type { Expected } from "../domain/deploy/plan.ts";
import type { DeployFailure } from "../domain/deploy/reason.ts";
import type { Service, ServiceTemplate } from "../domain/deploy/service-template.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** The state of a deployment name. */
export type NameState =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly owner: AccountId; readonly service: Service }
  /**
   * The owner freed the name less than seven days ago (only with the capability `names.remembers_freed`). Or something
   * outside this control plane uses the name on a shared platform; no account has the name of that owner.
   */
  | { readonly kind: "reserved"; readonly owner: AccountId };

export interface RolloutRequest {
  /** The caller must pass resources of the platform's catalogue and an image of the platform's builder. */
  readonly template: ServiceTemplate;
  /** The state of the name when the deploy began. */
  readonly expected: Expected;
  /** Milliseconds that the new revision may take until it listens. */
  readonly listenDeadline: number;
  /**
   * The platform must call it after every reader sees the template as `rollingOut`, and before traffic moves. If it
   * returns a failure, the rollout must end with that failure. Absent: traffic may move.
   */
  readonly mayServe?: () => Promise<DeployFailure | undefined>;
}

export type RolloutEvent =
  | { readonly kind: "progress"; readonly message: string }
  /** `runner` names how the service runs, on platforms with several ways. */
  | { readonly kind: "ready"; readonly revision: string; readonly url: string; readonly runner?: string }
  | { readonly kind: "failed"; readonly failure: DeployFailure };

export interface ServicePlatform {
  /** Returns the state of the name. A read that begins after a write has ended must see that write. */
  find(name: DeploymentName, options?: CallOptions): ResultAsync<NameState, Unavailable>;

  /** Returns all services of the account, sorted by name. Sees writes as `find` does. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly Service[], Unavailable>;

  /**
   * Creates or replaces a service. Yields progress, and exactly one `ready` or `failed` as its last event. Never throws.
   *
   * The write is conditional. If the state of the name is not `expected`, the rollout must fail with `superseded`,
   * `name_taken` or `deleted` and change nothing (see `writeConflict`). During the rollout the service shows the template
   * as `rollingOut`, and the previous revision keeps serving.
   *
   * On `ready`, the new revision has all traffic, `find` shows it as serving, and a connection to `url` has succeeded. On
   * `failed`, the previous revision still serves. A service that never served remains, without a serving revision, so that
   * its logs can be read. If `signal` aborts before traffic moves, the rollout must fail with `interrupted` within 10 s. If
   * it aborts later, the rollout must end with `ready`.
   */
  rollout(request: RolloutRequest, options?: CallOptions): AsyncIterable<RolloutEvent>;

  /**
   * Stops and deletes a service. Its volumes and logs remain. Afterwards no instance may receive requests, and the name is
   * reserved for its owner if the platform supports that. Fails with `conflict` if the service is not the expected one, and
   * with `not_found` if there is none.
   */
  remove(
    name: DeploymentName,
    expected: Exclude<Expected, "absent">,
    options?: CallOptions,
  ): ResultAsync<void, NotFound | Conflict | Unavailable>;

  /**
   * Persists the status of a deploy for `Service.lastDeploy`. The last call wins. The service's etag must not change, so
   * that the call never conflicts with another deploy. If the owner has no such service, the platform may keep the status
   * until it has one, or ignore the call. A platform that finds an unfinished status at its start must end it with
   * `interrupted` and log that.
   */
  noteDeploy(
    service: { readonly name: DeploymentName; readonly owner: AccountId },
    outcome: DeployOutcome,
    options?: CallOptions,
  ): ResultAsync<void, Unavailable>;
}
