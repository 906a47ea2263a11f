/** Rollbacks: the release to restore, its declaration, and the reasons to reject the rollback. */
import type { Result } from "../../../result.ts";
import { referencesOf, writeReferences } from "../../secrets/references.ts";
import type { Issue } from "../../wire/issue.ts";
import type { VolumeName } from "../../wire/names.ts";
import { type DeclareContext, type DeployDeclaration, declareDeploy } from "../declaration.ts";
import type { DeclaredVariables } from "../environment.ts";
import type { DeployFailure } from "../reason.ts";
import { type ServiceTemplate, writtenFields } from "../service-template.ts";
import type { Release, StoredRelease } from "./release.ts";

/**
 * The members of a release that determine its content. A release without a template counts as new content, unless it is
 * a rollback.
 */
interface Content extends Pick<Release, "release" | "rolledBackTo"> {
  readonly template?: ServiceTemplate;
}

const isRepeated = ({ template: a }: Content, { template: b }: Content): boolean =>
  a !== undefined &&
  b !== undefined &&
  JSON.stringify({ ...a, deployId: "" }) === JSON.stringify({ ...b, deployId: "" });

/**
 * Returns the number of the release that introduced the content of `release`: an earlier one if `release` is a
 * rollback or a restart, otherwise `release` itself.
 * @param releases the releases of the deployment, in any order
 */
export const contentOf = (releases: readonly Content[], release: number): number => {
  const one = releases.find((candidate) => candidate.release === release);
  if (one === undefined) return release;
  // A rollback restores an earlier release, so the chain ends.
  if (one.rolledBackTo !== null) return contentOf(releases, one.rolledBackTo);
  const earlier = releases.filter((candidate) => candidate.release < release).map((candidate) => candidate.release);
  const before = releases.find((candidate) => candidate.release === Math.max(...earlier));
  return before !== undefined && isRepeated(before, one) ? contentOf(releases, before.release) : release;
};

/**
 * Returns the default target of a rollback: the newest release before the one that introduced the serving content.
 * Returns undefined if no such release exists.
 * @param releases the releases of the deployment, in any order; the newest one serves
 */
export const defaultRollbackTarget = <R extends Content>(releases: readonly R[]): R | undefined => {
  const sorted = [...releases].sort((a, b) => b.release - a.release);
  const [serving] = sorted;
  if (serving === undefined) return undefined;
  const content = contentOf(sorted, serving.release);
  return sorted.find(({ release }) => release < content);
};

/** Returns the variables of a release as a deploy declares them. */
export const declaredVariables = ({ template }: Pick<Release, "template">): DeclaredVariables => ({
  env: template.env,
  secrets: referencesOf(template.secrets),
});

/**
 * Returns the declaration of a release, validated against the current rules. Fails with the rules that the declaration
 * now breaks, for example because a quota was lowered after the deploy.
 * @param variables the environment of the declaration; defaults to that of the release
 */
export const declareRelease = (
  release: Pick<Release, "template">,
  context: DeclareContext,
  variables = declaredVariables(release),
): Result<DeployDeclaration, readonly Issue[]> => {
  const { template } = release;
  const env = Object.fromEntries([
    ...Object.entries(variables.env),
    ...Object.entries(writeReferences(variables.secrets)),
  ]);
  const written = { ...writtenFields(template), function_name: template.name, env };
  return declareDeploy(written, { ...context, sourceOptional: true });
};

/** The volumes of the account, and the names of those in the trash. */
export interface AccountVolumes {
  readonly volumes: readonly { readonly name: VolumeName; readonly id: string }[];
  readonly trashed: readonly string[];
}

const missingVolume = (release: number, name: VolumeName, trashed: readonly string[]): string =>
  trashed.includes(name)
    ? `Release ${release} mounts the volume '${name}', which is in the trash. Restore it with 'portside volume restore ${name}', then try again.`
    : `Release ${release} mounts the volume '${name}', which does not exist and is no longer in the trash. Create an empty volume with 'portside volume create ${name}', then try again.`;

/**
 * Returns the number of the release that is nearest to `release` and has an image. Of two equally near releases,
 * returns the newer one. Ignores the newest release of all, because it already serves.
 */
const nearestWithImage = (
  releases: readonly Pick<StoredRelease, "release" | "hasImage">[],
  release: number,
): number | undefined => {
  const serving = Math.max(...releases.map((one) => one.release));
  const distance = (one: number) => Math.abs(one - release);
  const [nearest] = releases
    .filter((one) => one.hasImage && one.release !== serving)
    .map((one) => one.release)
    .sort((a, b) => distance(a) - distance(b) || b - a);
  return nearest;
};

const prunedImage = (release: number, nearest: number | undefined): string => {
  const instead = nearest === undefined ? "Deploy" : `Roll back to release ${nearest}, or deploy`;
  return `The image of release ${release} was pruned. ${instead} the source of release ${release} again.`;
};

/**
 * Returns why a rollback to the release is currently impossible, or undefined if it is possible.
 * @param releases the releases of the deployment, in any order
 */
export const rollbackProblem = (
  { release, hasImage, template }: StoredRelease,
  { volumes, trashed }: AccountVolumes,
  releases: readonly Pick<StoredRelease, "release" | "hasImage">[],
): DeployFailure | undefined => {
  if (!hasImage)
    return { reason: "image_not_found", message: prunedImage(release, nearestWithImage(releases, release)) };
  const missing = template.mounts.find(({ volume }) => !volumes.some(({ name }) => name === volume));
  return missing === undefined
    ? undefined
    : { reason: "volume_unavailable", message: missingVolume(release, missing.volume, trashed) };
};

/** Returns sentences about the data that a rollback leaves unchanged. */
export const describeRollback = (
  { release, template }: Release,
  volumes: AccountVolumes["volumes"],
): readonly string[] => {
  const replaced = template.mounts.filter(({ volume, bucket }) =>
    volumes.some(({ name, id }) => name === volume && id !== bucket),
  );
  const names = [...new Set(replaced.map(({ volume }) => volume))].sort();
  return [
    ...names.map((name) => `The volume '${name}' was replaced after release ${release} and contains different data`),
    "A rollback does not change the data of volumes",
  ];
};
