/**
 * Stores releases on Cloud Run, in two annotations. The annotation of a revision contains the template and the origin
 * of its release. The annotation of the service lists the revisions that received traffic, so the write that moves the
 * traffic records the release. `releasesIn` combines the two. Pure functions.
 *
 * The annotations of a template become those of its revision, and follow "Kubernetes annotations' namespacing, limits,
 * and rules": revision_template.proto.
 */
import { z } from "zod";
import { type Release, type ReleaseOrigin, unknownOrigin } from "../../../../core/domain/deploy/releases/release.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { parseRelease, type ReleaseDocument } from "../../../shared/deploy/release-document.ts";
import { renderService } from "../../../shared/deploy/service-document.ts";

/** The annotation of a revision. */
export const RELEASE = "portside/release";
/** The annotation of a service. */
export const RELEASES = "portside/releases";

const servedSchema = z.object({ release: z.int(), revision: z.string(), at: z.string() });

export const releaseIndexSchema = z.object({
  /** The number of the newest release, even if a failure has removed that release. */
  newest: z.int(),
  /** The revisions whose releases are kept, newest first, each with the time when it received traffic. */
  served: z.array(servedSchema),
});

export type ReleaseIndex = z.output<typeof releaseIndexSchema>;

/** The index of a service without releases. */
export const noReleases: ReleaseIndex = { newest: 0, served: [] };

/** A revision's id and annotations. */
export interface AnnotatedRevision {
  readonly id: string;
  readonly annotations: Readonly<Record<string, string>>;
}

type RevisionDocument = Omit<ReleaseDocument, "release" | "uid" | "createdAt">;

export const renderRevisionRecord = (
  revision: string,
  template: ServiceTemplate,
  { createdBy, message, sourceDigest, rolledBackTo }: ReleaseOrigin,
): Readonly<Record<string, string>> => {
  const document: RevisionDocument = {
    revision,
    createdBy,
    message,
    sourceDigest,
    rolledBackTo,
    service: renderService(template),
  };
  return { [RELEASE]: JSON.stringify(document) };
};

const documentOf = ({ annotations }: AnnotatedRevision): unknown => {
  try {
    return JSON.parse(annotations[RELEASE] ?? "null");
  } catch {
    return null;
  }
};

/**
 * True if a rollout created the revision. A manual change in the console copies the annotation to a revision with a
 * different name.
 */
export const isRolledOut = (revision: AnnotatedRevision): boolean => {
  const document = documentOf(revision);
  return typeof document === "object" && (document as RevisionDocument | null)?.revision === revision.id;
};

/** Adds the release of a revision, and removes the releases that are no longer kept. */
export const addRelease = (
  { newest, served }: ReleaseIndex,
  revision: string,
  at: string,
  kept: number,
): ReleaseIndex => {
  const release = newest + 1;
  return { newest: release, served: [{ release, revision, at }, ...served].slice(0, kept) };
};

/** Removes the release of a revision that could not be made public. No later release gets its number. */
export const removeRelease = ({ newest, served }: ReleaseIndex, revision: string): ReleaseIndex => ({
  newest,
  served: served.filter((one) => one.revision !== revision),
});

/**
 * Returns the releases, newest first. Omits a release whose revision was deleted.
 * @param uid the uid of the service
 * @param templates the templates of revisions without an annotation, which an earlier version of Portside created
 */
export const releasesIn = (
  { served }: ReleaseIndex,
  uid: string,
  revisions: readonly AnnotatedRevision[],
  templates: ReadonlyMap<string, ServiceTemplate>,
): Release[] => {
  const byId = new Map(revisions.map((one) => [one.id, one]));
  return served.flatMap(({ release, revision, at }) => {
    const found = byId.get(revision);
    if (found === undefined) return [];
    const template = templates.get(revision);
    const document = isRolledOut(found)
      ? documentOf(found)
      : template && { ...unknownOrigin, revision, service: renderService(template) };
    const parsed = parseRelease({ ...(document ?? {}), release, uid, createdAt: at });
    return parsed === undefined ? [] : [parsed];
  });
};
