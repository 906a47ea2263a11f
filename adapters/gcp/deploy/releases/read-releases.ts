/** Reads the releases of a service from the annotations of the service and its revisions. */
import type { ReleasedService, StoredRelease } from "../../../../core/domain/deploy/releases/release.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { ReleaseOptions } from "../../../../core/ports/service-platform.ts";
import { ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { envDigestsOf } from "../../../shared/deploy/env-digests.ts";
import { readState, type WriteDeps } from "../writes.ts";
import type { KeptImages } from "./kept-images.ts";
import { releasesIn } from "./release-record.ts";
import { templatesOf } from "./retain-releases.ts";

export const readReleases = (
  deps: WriteDeps & { readonly images: KeptImages },
  service: ReleasedService,
  { newest, ...options }: ReleaseOptions = {},
): ResultAsync<readonly StoredRelease[], Unavailable> =>
  safeTry(async function* () {
    const { run, own } = yield* readState(deps, service.name, options);
    if (own?.service.owner !== service.owner) return ok([]);
    const { releases, attempted } = own.record;
    if (releases.served.length === 0) return ok([]);
    const revisions = yield* await deps.services.revisions(service.name, options);
    const found = releasesIn(releases, run?.uid ?? "", revisions, templatesOf(own)).slice(0, newest);
    const absent = yield* await deps.images
      .absent(
        service,
        found.map(({ template }) => template.image),
        options,
      )
      .orElse((error) => {
        // Treat the images as present. A rollback to a release without an image then fails with `image_not_found`.
        deps.logger.warn("could not check which images of releases exist", { name: service.name, error });
        return ok<ReadonlySet<string>, Unavailable>(new Set());
      });
    return ok(
      found.map((release) => ({
        ...release,
        hasImage: !absent.has(release.template.image),
        // The key of the digests is the cron token: every deploy keeps the token, and no response contains it.
        envDigests: envDigestsOf(release.template, attempted.cronToken),
      })),
    );
  });
