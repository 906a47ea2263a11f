/**
 * Removes a deployment. First marks the record with a conditional write: running rollouts then fail, and new rollouts
 * fail until the removal's deadline. Then deletes the deployment's rules, its revisions' resources and its releases,
 * and reserves the name for its account. If a removal is interrupted, its mark stays, and the next removal repeats all
 * steps.
 */

import { freedNameDays } from "../../../core/domain/accounts/limits.ts";
import { plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import {
  type Conflict,
  conflict,
  type NotFound,
  notFound,
  type Unavailable,
  unavailable,
} from "../../../core/errors.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { CallState } from "../../cloud/calls/provider-call.ts";
import type { Called } from "../call-policy.ts";
import { hostOf } from "./records/names.ts";
import { etagOf, type FreedRecord, type HeldRecord } from "./records/record.ts";
import type { Found } from "./records/records.ts";
import type { ReleaseObjects } from "./records/releases.ts";
import { isMoving, knownOf } from "./records/service.ts";
import { type Decision, heldIn, rewriteRecord, type WriteDeps } from "./records/writes.ts";
import { type RetireDeps, retire } from "./retire.ts";

const PAUSE_MS = 500;
/** How long a removal blocks deploys of the name, in milliseconds. */
const REMOVAL_TIMEOUT_MS = 3 * 60_000;
const DAY_MS = 86_400_000;

export type RemoveDeps = WriteDeps & RetireDeps & { readonly releases: ReleaseObjects };
type Expected = Parameters<ServicePlatform["remove"]>[1];
type Removed<T> = ResultAsync<T, NotFound | Conflict | Unavailable>;

const toServiceError = (error: NotFound | Conflict | CallState | Unavailable): NotFound | Conflict | Unavailable =>
  error.kind === "state" ? unavailable("AWS is busy with this service. Try again.", 5, error.error) : error;

const changed = (name: DeploymentName): Conflict => conflict(`Another call changed '${name}'. Try again.`);

/** Marks the record. From then on, running rollouts fail, and new rollouts fail until the removal's deadline. */
const markRecord = (
  deps: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions,
): Removed<HeldRecord> => {
  const { clock } = deps;
  const removing = timestampOf(plusMillis(clock.now(), REMOVAL_TIMEOUT_MS));
  const decide = (found: Found): Result<Decision<HeldRecord, HeldRecord>, NotFound | Conflict> => {
    const held = heldIn(found);
    if (held === undefined && found.kind !== "foreign") return err(notFound(`The service '${name}' does not exist.`));
    if (held?.attempted.owner !== expected.owner || etagOf(held) !== expected.etag) return err(changed(name));
    if (held.removing === removing) return ok({ stop: held });
    return ok(isMoving(held, clock.now()) ? { waitMs: PAUSE_MS } : { put: { ...held, removing } });
  };
  return rewriteRecord(deps, name, decide, options, 0).mapErr(toServiceError);
};

/** Stops routing requests to the deployment. */
const deleteRules = ({ balancer }: RemoveDeps, host: string, options: CallOptions): Called<void> =>
  safeTry(async function* () {
    const rules = yield* await balancer.rules(options);
    for (const { arn, hosts } of rules) if (hosts.includes(host)) yield* await balancer.deleteRule(arn, options);
    return ok(undefined);
  });

const reserveName = (
  deps: RemoveDeps,
  name: DeploymentName,
  { owner, etag }: Expected,
  { uid, released }: HeldRecord,
  options: CallOptions,
): Removed<void> => {
  const until = timestampOf(plusMillis(deps.clock.now(), freedNameDays * DAY_MS));
  const decide = (found: Found): Result<Decision<FreedRecord, undefined>, Conflict> => {
    const held = heldIn(found);
    // An earlier write succeeded but its response was lost, or another call has removed the deployment.
    if (held === undefined) return ok({ stop: undefined });
    return etagOf(held) === etag
      ? ok({ put: { kind: "freed", name, owner, until, uid, released } })
      : err(changed(name));
  };
  return rewriteRecord(deps, name, decide, options, 0)
    .map(() => undefined)
    .mapErr(toServiceError);
};

export const removeService = (
  deps: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions = {},
): Removed<void> =>
  safeTry(async function* () {
    const marked = yield* await markRecord(deps, name, expected, options);
    const host = hostOf(deps.location.shared, name);
    yield* await deleteRules(deps, host, options).mapErr(toServiceError);
    const { owner } = expected;
    for (const revision of new Set([...knownOf(marked).map(({ id }) => id), ...marked.retired]))
      yield* await retire(deps, { owner, revision, host, drain: 0, force: true }, options).mapErr(toServiceError);
    yield* await deps.releases.removeAll(marked.uid, options);
    return reserveName(deps, name, expected, marked, options);
  });
