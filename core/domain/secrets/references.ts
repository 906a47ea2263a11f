/** References from variables to secrets: how a request writes them, and the versions that a deploy pins. */
import { err, ok, type Result } from "../../result.ts";
import { closest } from "../wire/closest.ts";
import { type Issue, issue, unknownField } from "../wire/issue.ts";
import { type SecretName, secretNameProblem } from "../wire/names.ts";
import { newestVersion, type StoredSecret } from "./secret.ts";

/** A reference as a deploy declares it. */
export interface SecretReference {
  readonly name: SecretName;
  /** Null for the newest version at the time of the deploy. */
  readonly version: number | null;
}

/** A reference of a service. Its instances see this version of the secret. */
export interface PinnedSecret {
  readonly name: SecretName;
  readonly version: number;
  /** True if the client named no version, so that a later deploy pins the newest one. */
  readonly follows: boolean;
}

/** References by the name of their variable. */
export type SecretReferences = Readonly<Record<string, SecretReference>>;

/** Pinned references by the name of their variable. */
export type PinnedSecrets = Readonly<Record<string, PinnedSecret>>;

const FIELDS = ["secret", "version"];

const versionIssues = (version: unknown): Issue[] => {
  if (version === undefined) return [];
  return typeof version === "number" && Number.isSafeInteger(version) && version > 0
    ? []
    : [issue(["version"], "must be the number of a version, such as 2; omit it for the newest version", "int_parsing")];
};

const nameIssues = (name: unknown): Issue[] => {
  if (name === undefined) return [issue(["secret"], "is required: the name of a secret", "missing")];
  if (typeof name !== "string") return [issue(["secret"], "must be the name of a secret", "string_type")];
  const problem = secretNameProblem(name);
  return problem === undefined ? [] : [issue(["secret"], problem, "string_pattern_mismatch")];
};

/** Reads `{"secret": NAME, "version"?: N}`. The paths of issues are relative to the variable. */
export const readReference = (raw: object): Result<SecretReference, readonly Issue[]> => {
  const { secret, version } = raw as { readonly secret?: unknown; readonly version?: unknown };
  const unknown = Object.keys(raw).filter((key) => !FIELDS.includes(key));
  const issues = [
    ...unknown.map((key) => unknownField([], key, FIELDS)),
    ...nameIssues(secret),
    ...versionIssues(version),
  ];
  if (issues.length > 0) return err(issues);
  return ok({ name: secret as SecretName, version: (version as number | undefined) ?? null });
};

/** Writes references as a request declares them. */
export const writeReferences = (references: SecretReferences) =>
  Object.fromEntries(
    Object.entries(references).map(([variable, { name, version }]) => [
      variable,
      version === null ? { secret: name } : { secret: name, version },
    ]),
  );

/** Returns the references of a service, for a deploy that keeps its environment. */
export const referencesOf = (pins: PinnedSecrets = {}): SecretReferences =>
  Object.fromEntries(
    Object.entries(pins).map(([variable, { name, version, follows }]) => [
      variable,
      { name, version: follows ? null : version },
    ]),
  );

/** Writes a pinned reference as text, in place of the digest of a value. */
export const formatPin = ({ name, version }: PinnedSecret): string => `secret:${name}:${version}`;

const unknownSecret = (name: string, stored: readonly StoredSecret[]): string => {
  const near = closest(
    name,
    stored.map((one) => one.name),
  );
  const hint = near === undefined ? "" : ` Did you mean '${near}'?`;
  return `your account has no secret '${name}'; create it with 'portside secret set ${name}'.${hint}`;
};

const versionsOf = ({ versions }: StoredSecret): string => versions.map(({ version }) => version).join(", ");

const pin = ({ name, version }: SecretReference, stored: readonly StoredSecret[]): Result<PinnedSecret, string> => {
  const secret = stored.find((one) => one.name === name);
  if (secret === undefined) return err(unknownSecret(name, stored));
  if (version === null) return ok({ name, version: newestVersion(secret), follows: true });
  return secret.versions.some((one) => one.version === version)
    ? ok({ name, version, follows: false })
    : err(`the secret '${name}' has no version ${version}; use one of ${versionsOf(secret)}, or omit the version`);
};

/**
 * Pins each reference to a version. Fails with an issue for each variable whose secret or version does not exist.
 * @param stored all secrets of the account
 */
export const pinReferences = (
  references: SecretReferences,
  stored: readonly StoredSecret[],
): Result<PinnedSecrets, readonly Issue[]> => {
  const pins: [string, PinnedSecret][] = [];
  const issues: Issue[] = [];
  for (const [variable, reference] of Object.entries(references)) {
    const pinned = pin(reference, stored);
    if (pinned.isOk()) pins.push([variable, pinned.value]);
    else issues.push(issue(["env", variable], pinned.error, "value_error"));
  }
  return issues.length > 0 ? err(issues) : ok(Object.fromEntries(pins));
};

/**
 * Returns the pins that a redeploy keeps: those whose reference is unchanged.
 * @param renewed a secret whose references must be pinned again
 */
export const keptPins = (
  pins: PinnedSecrets = {},
  references: SecretReferences,
  renewed: SecretName | undefined,
): PinnedSecrets =>
  Object.fromEntries(
    Object.entries(pins).filter(([variable, { name, version, follows }]) => {
      const reference = Object.hasOwn(references, variable) ? references[variable] : undefined;
      return name !== renewed && reference?.name === name && reference.version === (follows ? null : version);
    }),
  );

/** The pins of an earlier release, and a sentence for each deleted version that the newest one replaces. */
export interface RestoredPins {
  readonly pins: PinnedSecrets;
  readonly notes: readonly string[];
}

/**
 * Returns the pins of an earlier release. The newest version of the secret replaces a deleted version. Fails with a
 * message if a secret has no version left.
 */
export const restorePins = (
  release: number,
  pins: PinnedSecrets = {},
  stored: readonly StoredSecret[],
): Result<RestoredPins, string> => {
  const restored: [string, PinnedSecret][] = [];
  const notes = new Set<string>();
  for (const [variable, pinned] of Object.entries(pins)) {
    const { name, version } = pinned;
    const secret = stored.find((one) => one.name === name);
    if (secret === undefined)
      return err(
        `Release ${release} uses the secret '${name}', which was deleted. Create it with 'portside secret set ${name}', then try again.`,
      );
    const exists = secret.versions.some((one) => one.version === version);
    const used = exists ? version : newestVersion(secret);
    restored.push([variable, { ...pinned, version: used }]);
    if (!exists) notes.add(`Version ${version} of the secret '${name}' was deleted; version ${used} is used`);
  }
  return ok({ pins: Object.fromEntries(restored), notes: [...notes] });
};

/** Returns a message if a pinned version does not exist. */
export const missingPin = (pins: PinnedSecrets = {}, stored: readonly StoredSecret[]): string | undefined => {
  const gone = Object.values(pins).find(
    ({ name, version }) =>
      !stored.some((secret) => secret.name === name && secret.versions.some((one) => one.version === version)),
  );
  return gone === undefined
    ? undefined
    : `Version ${gone.version} of the secret '${gone.name}' was deleted in the meantime. Set it again with 'portside secret set ${gone.name}', then deploy again.`;
};

/**
 * Returns the version that each secret has in a release. If variables pin several versions of one secret, returns the
 * newest of them.
 */
export const pinnedVersions = (pins: PinnedSecrets = {}): Readonly<Record<string, number>> => {
  const versions = new Map<string, number>();
  for (const { name, version } of Object.values(pins)) versions.set(name, Math.max(version, versions.get(name) ?? 0));
  return Object.fromEntries(versions);
};
