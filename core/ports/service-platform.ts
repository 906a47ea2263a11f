/**
 * Where services run. It is also the database of the control plane: what runs, who owns it and what it
 * mounts is read from its templates, and nowhere else.
 */
import type { AccountId } from "../domain/account.ts";
import type { DeployOutcome } from "../domain/deploy-events.ts";
import type { Expected } from "../domain/deploy-plan.ts";
import type { DeployFailure } from "../domain/deploy-reason.ts";
import type { DeploymentName } from "../domain/names.ts";
import type { Service, ServiceTemplate } from "../domain/service-template.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** What stands under a name. */
export type NameState =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly owner: AccountId; readonly service: Service }
  /**
   * Freed by this account less than seven days ago; only where `names.remembers_freed` is offered. Or taken, on a
   * platform that others use as well, by something that no account of ours made: its owner is then nobody's name.
   */
  | { readonly kind: "reserved"; readonly owner: AccountId };

export interface RolloutRequest {
  /** Fits the platform's catalogue. The image was built by the platform's own builder. */
  readonly template: ServiceTemplate;
  /** What the deploy saw when it began. */
  readonly expected: Expected;
  /** How long the new revision may take until it listens, in milliseconds. */
  readonly listenDeadline: number;
  /**
   * Asked once the template shows as `rollingOut` to every reader, before traffic moves; a failure that it answers ends
   * the rollout with it. Absent: it may serve.
   */
  readonly mayServe?: () => Promise<DeployFailure | undefined>;
}

export type RolloutEvent =
  | { readonly kind: "progress"; readonly message: string }
  /** `runner`: how it runs, where there are several ways. */
  | { readonly kind: "ready"; readonly revision: string; readonly url: string; readonly runner?: string }
  | { readonly kind: "failed"; readonly failure: DeployFailure };

export interface ServicePlatform {
  /**
   * What stands under the name now. A read that begins after a write ended sees it.
   */
  find(name: DeploymentName, options?: CallOptions): ResultAsync<NameState, Unavailable>;

  /** All services of the account, by name. The same promise about writes as `find`. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly Service[], Unavailable>;

  /**
   * Creates or replaces a service. Yields progress, then exactly one of `ready` and `failed`, last; never throws.
   *
   * The write is conditional: where what stands under the name is not `expected`, it fails with `superseded`,
   * `name_taken` or `deleted` and changes nothing (see `writeConflict`). While it runs, the service shows the
   * template as `rollingOut` and the revision before it serves untouched. `ready`: the new revision has all
   * traffic, `find` shows it as serving, and a connection to `url` succeeded. `failed`: what served before serves
   * still; a service that never served stays with nothing serving, so that its logs can be read. When `signal`
   * aborts before traffic moved it fails with `interrupted` within 10 s; afterwards it ends with `ready`.
   */
  rollout(request: RolloutRequest, options?: CallOptions): AsyncIterable<RolloutEvent>;

  /**
   * Stops and forgets a service; its volumes and logs stay. `conflict`: it is not the one that was expected.
   * `not_found`: there is none. When the result is ok, none of its instances takes requests any more, and the
   * name is reserved to its owner where the platform can remember it.
   */
  remove(
    name: DeploymentName,
    expected: Exclude<Expected, "absent">,
    options?: CallOptions,
  ): ResultAsync<void, NotFound | Conflict | Unavailable>;

  /**
   * Remembers how a deploy of the name stands, for `Service.lastDeploy`: the outcome that was noted last counts.
   * Leaves the service's etag as it is, so that a note never makes another deploy lose.
   * Does nothing where the owner has no such service, unless the platform can remember it until there is one.
   * A platform that finds a note without an end when it starts ends it with `interrupted` and logs that.
   */
  noteDeploy(
    service: { readonly name: DeploymentName; readonly owner: AccountId },
    outcome: DeployOutcome,
    options?: CallOptions,
  ): ResultAsync<void, Unavailable>;
}
