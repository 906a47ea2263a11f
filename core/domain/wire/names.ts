/**
 * The names of deployments, volumes and secrets, which clients choose.
 *
 * A deployment name is global because it becomes a host name. The names of volumes and secrets are unique within their
 * account.
 */

declare const deploymentBrand: unique symbol;

/** A valid deployment name. */
export type DeploymentName = string & { readonly [deploymentBrand]: true };

declare const volumeBrand: unique symbol;

/** A valid volume name. */
export type VolumeName = string & { readonly [volumeBrand]: true };

declare const secretBrand: unique symbol;

/** A valid secret name. */
export type SecretName = string & { readonly [secretBrand]: true };

/** Names that deployments must not have, by default. The setting `reservedNames` replaces the list. */
export const reservedNames: readonly string[] = [
  "admin",
  "api",
  "auth",
  "console",
  "health",
  "localhost",
  "login",
  "mail",
  "portside",
  "storage",
  "www",
];

export const DEPLOYMENT_NAME_MAX = 49;
export const VOLUME_NAME_MAX = 40;
export const SECRET_NAME_MAX = 63;

/** The rules of a deployment name as JSON Schema, except for the reserved names. */
export const deploymentNameShape = {
  pattern: "^[a-z](?:[a-z0-9_-]*[a-z0-9])?$",
  maxLength: DEPLOYMENT_NAME_MAX,
} as const;

/** The rules of a volume name as JSON Schema. */
export const volumeNameShape = { pattern: "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", maxLength: VOLUME_NAME_MAX } as const;

/** The rules of a secret name as JSON Schema. */
export const secretNameShape = { pattern: "^[A-Za-z][A-Za-z0-9_-]*$", maxLength: SECRET_NAME_MAX } as const;

/** Replaces `_` with `-`. */
export const normalizeDeploymentName = (text: string): string => text.replaceAll("_", "-");

const nameProblem = (name: string, what: string, max: number, start: { allowed: RegExp; rule: string }) => {
  if (name.length === 0) return `${what} must not be empty`;
  if (name.length > max) return `${what} must be at most ${max} characters; got ${name.length}`;
  if (!/^[a-z0-9-]*$/.test(name)) return `${what} must contain only lowercase letters a-z, digits and '-'`;
  if (!start.allowed.test(name)) return `${what} must start with ${start.rule}`;
  return name.endsWith("-") ? `${what} must not end with '-'` : undefined;
};

/** Returns the rule that a normalized name breaks, as a message, or undefined if the name is valid. */
export const deploymentNameProblem = (name: string, reserved: readonly string[] = reservedNames): string | undefined =>
  nameProblem(name, "a name", DEPLOYMENT_NAME_MAX, { allowed: /^[a-z]/, rule: "a letter" }) ??
  (reserved.includes(name) ? `'${name}' is reserved; choose another name` : undefined);

/** Parses a deployment name and replaces `_` with `-`. Returns undefined if the name breaks a rule. */
export const parseDeploymentName = (text: string, reserved?: readonly string[]): DeploymentName | undefined => {
  const name = normalizeDeploymentName(text);
  return deploymentNameProblem(name, reserved) === undefined ? (name as DeploymentName) : undefined;
};

/** Derives a valid deployment name from the name of a folder or a file. Returns undefined if that is not possible. */
export const deploymentNameFrom = (text: string): DeploymentName | undefined =>
  parseDeploymentName(
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^[^a-z]+|-+$/g, ""),
  );

/** Returns the rule that a volume name breaks, as a message, or undefined if the name is valid. */
export const volumeNameProblem = (name: string): string | undefined =>
  nameProblem(name, "a volume name", VOLUME_NAME_MAX, { allowed: /^[a-z0-9]/, rule: "a letter or a digit" });

/** Parses a volume name. Returns undefined if it breaks a rule; `volumeNameProblem` returns the rule. */
export const parseVolumeName = (text: string): VolumeName | undefined =>
  volumeNameProblem(text) === undefined ? (text as VolumeName) : undefined;

/** Returns the rule that a secret name breaks, as a message, or undefined if the name is valid. */
export const secretNameProblem = (name: string): string | undefined => {
  if (name.length === 0) return "a secret name must not be empty";
  if (name.length > SECRET_NAME_MAX)
    return `a secret name must be at most ${SECRET_NAME_MAX} characters; got ${name.length}`;
  if (!/^[A-Za-z0-9_-]*$/.test(name)) return "a secret name must contain only letters a-z, A-Z, digits, '_' and '-'";
  return /^[A-Za-z]/.test(name) ? undefined : "a secret name must start with a letter";
};
