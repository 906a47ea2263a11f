/**
 * Removes a deployment with conditional writes. First, it marks the record, which makes every rollout fail. Then it
 * deletes the deployment's rules and its revisions' resources. Last, it reserves the name for its account. The mark of
 * an interrupted removal stays, and the next removal resumes.
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
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../shared/calls/provider-call.ts";
import { hostOf } from "./records/names.ts";
import { etagOf, type HeldRecord } from "./records/record.ts";
import type { Found } from "./records/records.ts";
import { isMoving, knownOf } from "./records/service.ts";
import { heldIn, type WriteDeps } from "./records/writes.ts";
import { type RetireDeps, retire } from "./retire.ts";

const TRIES = 20;
const PAUSE_MS = 500;
/** How long a removal blocks deploys of the name, in milliseconds. */
const REMOVAL_TIMEOUT_MS = 3 * 60_000;
const DAY_MS = 86_400_000;

export type RemoveDeps = WriteDeps & RetireDeps;
type Expected = Parameters<ServicePlatform["remove"]>[1];
type Removed<T> = Promise<Result<T, NotFound | Conflict | Unavailable>>;

const busy = (error: unknown): Unavailable => unavailable("AWS is busy with this service. Try again.", 5, error);

const outage = (error: CallState | Unavailable): Unavailable => (isCallState(error) ? busy(error.error) : error);

/** Returns the record to remove, if the caller may remove it. */
const target = async (
  { records }: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  { signal }: CallOptions,
): Removed<{ readonly found: Found; readonly held: HeldRecord }> => {
  const read = await records.read(name, { signal });
  if (read.isErr()) return err(read.error);
  const found = read.value;
  const held = heldIn(found);
  if (held === undefined && found.kind !== "foreign") return err(notFound(`The service '${name}' does not exist.`));
  if (held?.attempted.owner !== expected.owner || etagOf(held) !== expected.etag)
    return err(conflict(`Another call changed '${name}'. Try again.`));
  return ok({ found, held });
};

/** Marks the record. From then on, every rollout of the deployment fails. */
const markRecord = async (
  deps: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions,
): Removed<HeldRecord> => {
  const { records, clock } = deps;
  const removing = timestampOf(plusMillis(clock.now(), REMOVAL_TIMEOUT_MS));
  let last: unknown;
  for (let tries = 0; tries < TRIES; ) {
    const seen = await target(deps, name, expected, options);
    if (seen.isErr()) return err(seen.error);
    const { found, held } = seen.value;
    if (held.removing === removing) return ok(held);
    if (isMoving(held, clock.now())) {
      await clock.sleep(PAUSE_MS, options.signal);
      continue;
    }
    tries += 1;
    const marked = { ...held, removing };
    const written = await records.write(name, marked, found, options);
    if (written.isOk()) return ok(marked);
    if (!isCallState(written.error)) return err(written.error);
    last = written.error.error;
  }
  return err(busy(last));
};

/** Stops routing requests to the deployment. */
const deleteRules = async (
  { balancer }: RemoveDeps,
  host: string,
  options: CallOptions,
): Promise<Result<void, Unavailable>> => {
  const rules = await balancer.rules(options);
  if (rules.isErr()) return err(outage(rules.error));
  for (const { arn, hosts } of rules.value) {
    if (!hosts.includes(host)) continue;
    const dropped = await balancer.deleteRule(arn, options);
    if (dropped.isErr()) return err(outage(dropped.error));
  }
  return ok(undefined);
};

const reserveName = async (
  deps: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions,
): Removed<void> => {
  const { records, clock } = deps;
  const until = timestampOf(plusMillis(clock.now(), freedNameDays * DAY_MS));
  let last: unknown;
  for (let tries = 0; tries < TRIES; tries++) {
    const read = await records.read(name, options);
    if (read.isErr()) return err(read.error);
    const held = heldIn(read.value);
    // An earlier write succeeded but its response was lost, or another call has removed the deployment.
    if (held === undefined) return ok(undefined);
    if (etagOf(held) !== expected.etag) return err(conflict(`Another call changed '${name}'. Try again.`));
    const freed = { kind: "freed", name, owner: expected.owner, until } as const;
    const written = await records.write(name, freed, read.value, options);
    if (written.isOk()) return ok(undefined);
    if (!isCallState(written.error)) return err(written.error);
    last = written.error.error;
  }
  return err(busy(last));
};

export const removeService = async (
  deps: RemoveDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions = {},
): Removed<void> => {
  const marked = await markRecord(deps, name, expected, options);
  if (marked.isErr()) return err(marked.error);
  const host = hostOf(deps.location.shared, name);
  const closed = await deleteRules(deps, host, options);
  if (closed.isErr()) return err(closed.error);
  const { owner } = expected;
  for (const revision of new Set([...knownOf(marked.value).map(({ id }) => id), ...marked.value.retired])) {
    const retired = await retire(deps, { owner, revision, host, drain: 0, always: true }, options);
    if (retired.isErr()) return err(outage(retired.error));
  }
  return reserveName(deps, name, expected, options);
};
