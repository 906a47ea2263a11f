/**
 * Deletes the revisions whose releases are no longer kept, and protects the images of the kept releases. A failure does
 * not fail the rollout, because its revision already serves; the deployment's next rollout tries again.
 *
 * "In the following cases, you cannot delete a revision: [...] It can receive traffic", "It is the only revision of the
 * service", "It is the latest revision of the service": https://cloud.google.com/run/docs/managing/revisions
 */
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { ok, safeTry } from "../../../../core/result.ts";
import { isCallState } from "../../../cloud/calls/provider-call.ts";
import type { OwnService } from "../parse.ts";
import type { RunService } from "../render.ts";
import { idOf } from "../resource-names.ts";
import type { RetryOptions } from "../services.ts";
import { readState, type WriteDeps } from "../writes.ts";
import type { KeptImages } from "./kept-images.ts";
import { type AnnotatedRevision, isRolledOut, releasesIn } from "./release-record.ts";

export interface RetentionDeps extends WriteDeps {
  readonly images: KeptImages;
}

/** The timeout is short, because the client waits for the end of the rollout. */
const RETRY: RetryOptions = { timeoutMs: 5000 };
/** Maximum deletions in one rollout. Each is a write, and Cloud Run limits the writes per minute. */
const MAX_DELETIONS = 3;

/** Ids of the revisions that Cloud Run needs. A revision with a tag has a URL, even without traffic. */
const neededBy = ({ traffic, latestCreatedRevision, latestReadyRevision }: RunService, own: OwnService) =>
  new Set([
    ...(traffic ?? []).map(({ revision }) => idOf(revision)),
    ...own.traffic.map(({ id }) => id),
    ...[latestCreatedRevision, latestReadyRevision].map(idOf),
    ...own.record.releases.served.map(({ revision }) => revision),
  ]);

/** Returns the revisions to delete, oldest first. Revisions that are newer than the release may belong to a rollout. */
export const obsoleteRevisions = (
  run: RunService,
  own: OwnService,
  revisions: readonly AnnotatedRevision[],
): readonly AnnotatedRevision[] => {
  const needed = neededBy(run, own);
  const newest = revisions.findIndex(({ id }) => id === own.record.releases.served[0]?.revision);
  return newest < 0
    ? []
    : revisions
        .slice(newest + 1)
        .filter((one) => isRolledOut(one) && !needed.has(one.id))
        .reverse();
};

/**
 * Must be called when the newest release has all traffic.
 *
 * @param service the service after the rollout's last write; if a later rollout has written, that rollout cleans up
 */
export const retainReleases = async (deps: RetentionDeps, { service }: OwnService): Promise<void> => {
  const { services, images, logger } = deps;
  const name: DeploymentName = service.name;
  const retained = await safeTry(async function* () {
    const tagged = yield* await images.tagged(service, RETRY);
    const { run, own } = yield* readState(deps, name, RETRY);
    if (run === null || own?.service.etag !== service.etag) return ok(undefined);
    const revisions = yield* await services.revisions(name, RETRY);
    const kept = releasesIn(own.record.releases, run.uid ?? "", revisions, templatesOf(own));
    yield* await images.keep(
      service,
      kept.map(({ template }) => template.image),
      tagged,
      RETRY,
    );
    for (const { id } of obsoleteRevisions(run, own, revisions).slice(0, MAX_DELETIONS)) {
      const removed = await services.removeRevision(name, id, RETRY);
      // Another process has deleted the revision.
      if (removed.isErr() && !(isCallState(removed.error) && removed.error.code === "not_found")) yield* removed;
    }
    return ok(undefined);
  });
  if (retained.isErr())
    logger.warn("could not clean up after a rollout; the next rollout of the deployment tries again", {
      name,
      error: retained.error,
    });
};

/** The templates that the service itself stores, by revision. */
export const templatesOf = ({ record: { state, attempted, former } }: OwnService) =>
  new Map([[state.revision, attempted], ...former.map(({ id, template }) => [id, template] as const)]);
