/** Which deployments use a secret, which are behind its newest version, and which versions must be kept. */
import { secretLimits } from "../accounts/limits.ts";
import type { Service, ServiceTemplate } from "../deploy/service-template.ts";
import type { DeploymentName, SecretName } from "../wire/names.ts";
import type { PinnedSecret } from "./references.ts";
import type { SecretRow, StoredSecret } from "./secret.ts";

/** A deployment and the version of a secret that it uses. */
export interface SecretUse {
  readonly name: DeploymentName;
  readonly version: number;
}

const pinsIn = ({ secrets = {} }: Pick<ServiceTemplate, "secrets">, name: SecretName): PinnedSecret[] =>
  Object.values(secrets).filter((pinned) => pinned.name === name);

/** Returns the versions of a secret that a template pins. */
export const versionsIn = (template: Pick<ServiceTemplate, "secrets">, name: SecretName): readonly number[] =>
  pinsIn(template, name).map(({ version }) => version);

/**
 * The templates whose instances may start: the templates of revisions with traffic, and of a running rollout.
 */
const usedTemplates = ({ serving, rollingOut }: Service): ServiceTemplate[] => [
  ...serving.map(({ template }) => template),
  ...(rollingOut === null ? [] : [rollingOut]),
];

/** Returns the uses of a secret, without duplicates, in the order of `services`. */
export const usesOf = (name: SecretName, services: readonly Service[]): readonly SecretUse[] =>
  services.flatMap((service) => {
    const versions = usedTemplates(service).flatMap((template) => versionsIn(template, name));
    return [...new Set(versions)].sort((a, b) => b - a).map((version) => ({ name: service.name, version }));
  });

/** Returns whether the serving revision follows the newest version of the secret, but uses an older version. */
export const isBehind = ({ serving }: Pick<Service, "serving">, name: SecretName, newest: number): boolean =>
  serving.some(({ template }) => pinsIn(template, name).some(({ follows, version }) => follows && version < newest));

/**
 * Returns the message that rejects the deletion of a secret, or undefined if no deployment uses it.
 * @param version the version to delete; undefined for all
 */
export const secretDeletionProblem = (
  name: SecretName,
  version: number | undefined,
  uses: readonly SecretUse[],
): string | undefined => {
  const names = [
    ...new Set(uses.filter((use) => version === undefined || use.version === version).map((use) => use.name)),
  ];
  if (names.length === 0) return undefined;
  const what = version === undefined ? `The secret '${name}'` : `Version ${version} of the secret '${name}'`;
  const those = names.length === 1 ? "that deployment" : "those deployments";
  return `${what} is used by ${names.map((one) => `'${one}'`).join(", ")}. Deploy without the secret first, or remove ${those}.`;
};

/**
 * Returns the versions of a secret that may be deleted: all but the newest `secretLimits.versionsKept` and those in
 * use.
 * @param pinned the versions in use: by deployments, or by releases whose image still exists
 */
export const prunableVersions = ({ versions }: StoredSecret, pinned: ReadonlySet<number>): readonly number[] =>
  versions
    .map(({ version }) => version)
    .sort((a, b) => b - a)
    .slice(secretLimits.versionsKept)
    .filter((version) => !pinned.has(version));

/** Converts a secret to its client view. */
export const secretRowOf = ({ name, versions }: StoredSecret, services: readonly Service[]): SecretRow => ({
  name,
  versions: versions.map(({ version, digest, createdAt }) => ({ version, digest, created_at: createdAt })),
  used_by: usesOf(name, services).map((use) => ({ ...use })),
});
