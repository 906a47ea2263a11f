/** Reads the releases of a deployment, with the state of their images and with the digests of their variables. */
import type { StoredRelease } from "../../../../core/domain/deploy/releases/release.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { envDigestsOf } from "../../../shared/deploy/env-digests.ts";
import type { RetryOptions } from "../../call-policy.ts";
import type { HeldImages } from "../images/held-images.ts";
import type { DigestKey } from "./digest-key.ts";
import type { HeldRecord, ReleaseEntry, RevisionTemplate } from "./record.ts";
import { entryOf, type ReleaseObjects, releasedIn, retained, unrecordedRelease } from "./releases.ts";

export interface StoredReleasesDeps {
  readonly releases: Pick<ReleaseObjects, "read">;
  readonly images: Pick<HeldImages, "existing">;
  readonly digestKey: DigestKey;
  readonly logger: Logger;
  /** The setting `releasesKept`. */
  readonly releasesKept: number;
}

/**
 * Returns the releases, newest first.
 * @param serving the revisions with traffic
 * @param newest the number of releases to return
 */
export const storedReleases = (
  { releases, images, digestKey, logger, releasesKept }: StoredReleasesDeps,
  record: HeldRecord,
  serving: readonly RevisionTemplate[],
  retry: RetryOptions,
  newest = Number.POSITIVE_INFINITY,
): ResultAsync<readonly StoredRelease[], Unavailable> =>
  safeTry(async function* () {
    const listed = releasedIn(record, serving);
    const unlisted = unrecordedRelease(record, serving);
    const unrecorded = unlisted === undefined ? [] : [unlisted];
    const entries = [...listed, ...unrecorded.map(entryOf)];
    const wanted = new Set(entries.slice(-newest).map(({ revision }) => revision));
    const isWanted = ({ revision }: ReleaseEntry) => wanted.has(revision);
    const kept = retained(entries, releasesKept)
      .releases.filter(isWanted)
      .flatMap(({ image }) => image ?? []);
    const revisions = listed.filter(isWanted).map(({ revision }) => revision);
    const read = yield* await releases.read(record.uid, revisions, retry);
    const existing = yield* await images.existing([...new Set(kept)], retry).orElse((error) => {
      // A rollback to a release without an image then fails with `image_not_found`.
      logger.warn("could not check which images of releases exist", { name: record.attempted.name, error });
      return ok<ReadonlySet<string>, Unavailable>(new Set(kept));
    });
    const key = yield* await digestKey(retry);
    return ok(
      [...read, ...unrecorded].reverse().map((release) => ({
        ...release,
        hasImage: existing.has(release.template.image),
        envDigests: envDigestsOf(release.template, key),
      })),
    );
  });
