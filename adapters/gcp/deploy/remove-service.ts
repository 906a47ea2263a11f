/** Removes a service with a conditional write, and waits until Run has deleted it. */
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
import { isCallState } from "../../shared/calls/provider-call.ts";
import { readState, type WriteDeps } from "./writes.ts";

const TRIES = 20;
const DELETION_TIMEOUT_MS = 60_000;
const POLL_MS = 500;

type Expected = Parameters<ServicePlatform["remove"]>[1];
type Removed<T> = Promise<Result<T, NotFound | Conflict | Unavailable>>;

const busy = (error?: unknown): Unavailable => unavailable("Cloud Run is busy with this service. Try again.", 5, error);

interface Target {
  readonly uid: string;
  readonly runEtag: string;
}

/** Returns the service to remove. Undefined if Run has deleted `requested`, the uid that an earlier attempt removed. */
const target = async (
  deps: WriteDeps,
  name: DeploymentName,
  expected: Expected,
  requested: string | undefined,
  { signal }: CallOptions,
): Removed<Target | undefined> => {
  const seen = await readState(deps, name, { signal });
  if (seen.isErr()) return err(seen.error);
  const { run, own } = seen.value;
  if (requested !== undefined && run?.uid !== requested) return ok(undefined);
  if (run === null) return err(notFound(`The service '${name}' does not exist.`));
  if (own?.service.owner !== expected.owner || own.service.etag !== expected.etag)
    return err(conflict(`Another call changed '${name}'. Try again.`));
  return ok({ uid: run.uid ?? "", runEtag: own.runEtag });
};

const waitUntilDeleted = async (
  { services, clock }: WriteDeps,
  name: DeploymentName,
  uid: string,
  { signal }: CallOptions,
): Promise<Result<void, Unavailable>> => {
  for (let waited = 0; waited <= DELETION_TIMEOUT_MS; waited += POLL_MS) {
    const seen = await services.get(name, { signal });
    if (seen.isErr()) return err(seen.error);
    if (seen.value?.uid !== uid) return ok(undefined);
    await clock.sleep(POLL_MS, signal);
  }
  return err(busy());
};

export const removeService = async (
  deps: WriteDeps,
  name: DeploymentName,
  expected: Expected,
  options: CallOptions = {},
): Removed<void> => {
  let requested: string | undefined;
  let last: unknown;
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await target(deps, name, expected, requested, options);
    if (found.isErr()) return err(found.error);
    // An earlier attempt, whose response was lost, has removed it.
    if (found.value === undefined) return ok(undefined);
    requested = found.value.uid;
    const removed = await deps.services.remove(name, found.value.runEtag, options);
    if (removed.isOk()) return waitUntilDeleted(deps, name, requested, options);
    if (!isCallState(removed.error)) return err(removed.error);
    last = removed.error.error;
  }
  return err(busy(last));
};
