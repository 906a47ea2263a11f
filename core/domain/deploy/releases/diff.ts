/** The differences between two releases. */
import { z } from "zod";
import { changedFields, changedVariables } from "../plan.ts";
import { type StoredRelease, shownVariables } from "./release.ts";

/** The schema of the response of `GET /v1/deployment/release-diff`. */
export const releaseDiffSchema = z
  .object({
    from: z.int().meta({ description: "The release that the comparison starts from." }),
    to: z.int().meta({ description: "The release that `from` is compared with." }),
    changes: z.array(
      z.object({
        field: z.string().meta({ description: "The field, or `env.NAME` for a variable." }),
        change: z.enum(["added", "removed", "changed"]),
        from: z
          .unknown()
          .meta({ description: "The earlier value. For a variable, a digest or a reference to a secret." }),
        to: z.unknown().meta({ description: "The later value. For a variable, a digest or a reference to a secret." }),
      }),
    ),
    source_changed: z.boolean().meta({ description: "True if the releases were built from different sources." }),
  })
  .readonly();

/** The differences between two releases of a deployment. */
export type ReleaseDiff = z.output<typeof releaseDiffSchema>;

type FieldDiff = ReleaseDiff["changes"][number];

const own = <T>(record: Readonly<Record<string, T>>, name: string): T | null =>
  Object.hasOwn(record, name) ? (record[name] as T) : null;

const envChanges = (from: StoredRelease, to: StoredRelease): FieldDiff[] => {
  const [before, after] = [shownVariables(from), shownVariables(to)];
  return changedVariables(from.template, to.template).map((name): FieldDiff => {
    const [earlier, later] = [own(before, name), own(after, name)];
    const change = earlier === null ? "added" : later === null ? "removed" : "changed";
    return { field: `env.${name}`, change, from: earlier, to: later };
  });
};

const sourceChanged = (from: StoredRelease, to: StoredRelease): boolean =>
  from.sourceDigest === null || to.sourceDigest === null
    ? from.template.image !== to.template.image
    : from.sourceDigest !== to.sourceDigest;

/** Compares two releases of a deployment. The result does not contain the values of variables. */
export const diffReleases = (from: StoredRelease, to: StoredRelease): ReleaseDiff => ({
  from: from.release,
  to: to.release,
  changes: [
    ...changedFields(from.template, to.template).map((one): FieldDiff => ({ ...one, change: "changed" })),
    ...envChanges(from, to),
  ],
  source_changed: sourceChanged(from, to),
});
