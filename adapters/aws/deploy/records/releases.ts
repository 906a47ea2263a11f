/**
 * The releases of deployments. Each release is one object in the state bucket, `releases/UID/REVISION.json`, which no
 * later rollout changes. A rollout writes its release before it moves the traffic. The write that begins the move then
 * adds the release to the list in the deployment's record. Readers derive both the serving revision and the releases
 * from that record and, if a move of the traffic was interrupted, from the listener's rule. Therefore, after a crash,
 * the serving revision and the list of releases still agree. An object that no record lists is not a release.
 */
import { type Release, unknownOrigin } from "../../../../core/domain/deploy/releases/release.ts";
import { keptImages, oldestRecorded } from "../../../../core/domain/deploy/releases/retention.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { ResultAsync } from "../../../../core/result.ts";
import { inParallel } from "../../../cloud/calls/in-parallel.ts";
import { parseRelease, renderRelease } from "../../../shared/deploy/release-document.ts";
import { type RetryOptions, throwState } from "../../call-policy.ts";
import { parseJson } from "../../state/parse-json.ts";
import type { StateBucket } from "../../state/state-bucket.ts";
import type { HeldRecord, ReleaseEntry, RevisionTemplate } from "./record.ts";

/** Maximum concurrent calls. */
const CONCURRENCY = 20;

export interface ReleaseObjects {
  write(release: Release, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  /** Returns the releases of these revisions. Omits a release whose object does not exist. */
  read(uid: string, revisions: readonly string[], retry?: RetryOptions): ResultAsync<readonly Release[], Unavailable>;
  remove(uid: string, revision: string, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  /** Deletes all releases of a deployment. */
  removeAll(uid: string, retry?: RetryOptions): ResultAsync<void, Unavailable>;
}

/** The prefix of all releases. */
const RELEASES = "releases/";

const folderOf = (uid: string): string => `${RELEASES}${uid}/`;
const keyOf = (uid: string, revision: string): string => `${folderOf(uid)}${revision}.json`;

export const createReleaseObjects = (bucket: StateBucket): ReleaseObjects => ({
  write: (release, retry) =>
    bucket
      .put(keyOf(release.uid, release.revision), JSON.stringify(renderRelease(release)), "any", "", retry)
      .map(() => undefined)
      .mapErr(throwState),

  read: (uid, revisions, retry) =>
    inParallel(revisions, CONCURRENCY, (revision) => bucket.get(keyOf(uid, revision), retry)).map((objects) =>
      objects.flatMap((object) => parseRelease(parseJson(object?.text ?? "")) ?? []),
    ),

  remove: (uid, revision, retry) => bucket.remove(keyOf(uid, revision), retry),

  removeAll: (uid, retry) =>
    bucket
      .list(folderOf(uid), retry)
      .andThen((objects) => inParallel(objects, CONCURRENCY, ({ key }) => bucket.remove(key, retry)))
      .map(() => undefined),
});

/**
 * Returns the releases in the record, oldest first.
 * @param serving the revisions with traffic
 */
export const releasedIn = (
  { state, releases }: Pick<HeldRecord, "state" | "releases">,
  serving: readonly RevisionTemplate[],
): readonly ReleaseEntry[] =>
  releases.filter(({ revision }) => revision !== state.revision || serving.some(({ id }) => id === revision));

/**
 * Returns the release of the serving revision if an earlier version of Portside, which stored no releases, deployed the
 * revision. Otherwise returns undefined.
 */
export const unrecordedRelease = (
  { uid, createdAt, released, releases, state }: HeldRecord,
  [serving]: readonly RevisionTemplate[],
): Release | undefined =>
  serving === undefined || releases.some(({ revision }) => revision === serving.id)
    ? undefined
    : {
        release: released + 1,
        uid,
        revision: serving.id,
        createdAt: (serving.id === state.revision ? state.at : createdAt) as Timestamp,
        ...unknownOrigin,
        template: serving.template,
      };

export const entryOf = ({ release, revision, createdAt, template: { image } }: Release): ReleaseEntry => ({
  release,
  revision,
  image,
  at: createdAt,
});

/**
 * Applies the retention to the releases of a deployment, oldest first. Sets the image of a release to null if no
 * rollback needs the image, and drops the releases that are too old to be listed.
 * @param kept the setting `releasesKept`
 */
export const retained = (
  releases: readonly ReleaseEntry[],
  kept: number,
): { readonly releases: readonly ReleaseEntry[]; readonly dropped: readonly string[] } => {
  const oldest = oldestRecorded(releases.at(-1)?.release ?? 0);
  const withImages = releases.flatMap(({ release, image }) => (image === null ? [] : [{ release, image }]));
  const images = keptImages(withImages, kept);
  const isKept = ({ image }: ReleaseEntry) => image !== null && images.has(image);
  return {
    releases: releases
      .filter(({ release }) => release >= oldest)
      .map((entry) => (isKept(entry) ? entry : { ...entry, image: null })),
    dropped: releases.filter(({ release }) => release < oldest).map(({ revision }) => revision),
  };
};
