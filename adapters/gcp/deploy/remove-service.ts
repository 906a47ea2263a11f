/** Removes a service with a conditional write, and waits until Cloud Run has deleted it. */
import type { ReleasedService } from "../../../core/domain/deploy/releases/release.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type Conflict, conflict, type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import type { RetentionDeps } from "./releases/retain-releases.ts";
import { cloudRunBusy, readState, type WriteDeps } from "./writes.ts";

const TRIES = 20;
const DELETION_TIMEOUT_MS = 60_000;
const POLL_MS = 500;

const waitUntilDeleted = (
  { services, clock }: WriteDeps,
  name: DeploymentName,
  uid: string,
  options: CallOptions,
): ResultAsync<void, Unavailable> =>
  safeTry(async function* () {
    for (let waited = 0; waited <= DELETION_TIMEOUT_MS; waited += POLL_MS) {
      const run = yield* services.get(name, options);
      if (run?.uid !== uid) return ok(undefined);
      await clock.sleep(POLL_MS, options.signal);
    }
    return err(cloudRunBusy());
  });

const IMAGES_TIMEOUT_MS = 5000;

/**
 * Removes the tags that protect the images of a deleted service from clean-ups. Cloud Run itself deletes the service's
 * revisions. If this call fails, the tags remain and use storage, but do no other harm.
 */
const releaseImages = async (deps: RetentionDeps, service: ReleasedService, { signal }: CallOptions): Promise<void> => {
  const { images, logger } = deps;
  const retry = { timeoutMs: IMAGES_TIMEOUT_MS, signal };
  const removed = await safeTry(async function* () {
    const tagged = yield* await images.tagged(service, retry);
    const { own } = yield* readState(deps, service.name, retry);
    // The tags may belong to the account's next service of the same name. That service's first rollout removes the tags
    // that it does not need.
    return own?.service.owner === service.owner ? ok(undefined) : images.keep(service, [], tagged, retry);
  });
  if (removed.isErr())
    logger.warn("the images of a deleted deployment keep their tags, so clean-up policies keep the images", {
      name: service.name,
      error: removed.error,
    });
};

export const removeService = (
  deps: WriteDeps & RetentionDeps,
  name: DeploymentName,
  expected: Parameters<ServicePlatform["remove"]>[1],
  options: CallOptions = {},
): ResultAsync<void, NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    /** The uid of the service that an earlier attempt tried to remove. */
    let requested: string | undefined;
    let last: unknown;
    for (let tries = 0; tries < TRIES; tries++) {
      const { run, own } = yield* readState(deps, name, options);
      // An earlier attempt has removed the service, but its response was lost.
      if (requested !== undefined && run?.uid !== requested) {
        await releaseImages(deps, { name, owner: expected.owner }, options);
        return ok(undefined);
      }
      if (run === null) return err(notFound(`The service '${name}' does not exist.`));
      if (own?.service.owner !== expected.owner || own.service.etag !== expected.etag)
        return err(conflict(`Another call changed '${name}'. Try again.`));
      requested = run.uid ?? "";
      const removed = await deps.services.remove(name, own.runEtag, options);
      if (removed.isOk()) {
        yield* await waitUntilDeleted(deps, name, requested, options);
        await releaseImages(deps, { name, owner: expected.owner }, options);
        return ok(undefined);
      }
      if (!isCallState(removed.error)) return err(removed.error);
      last = removed.error.error;
    }
    return err(cloudRunBusy(last));
  });
