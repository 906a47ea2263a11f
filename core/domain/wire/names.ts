/**
 * Names that clients choose: deployments and volumes.
 *
 * A deployment name is global because it becomes a host name. A volume name is unique within its account.
 */

declare const deploymentBrand: unique symbol;

/** A valid deployment name. */
export type DeploymentName = string & { readonly [deploymentBrand]: true };

declare const volumeBrand: unique symbol;

/** A valid volume name. */
export type VolumeName = string & { readonly [volumeBrand]: true };

/** The default host names that deployments must not take. A setting overrides them. */
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

/** The rules of a deployment name as JSON Schema, except for the reserved names. */
export const deploymentNameShape = {
  pattern: "^[a-z](?:[a-z0-9_-]*[a-z0-9])?$",
  maxLength: DEPLOYMENT_NAME_MAX,
} as const;

/** The rules of a volume name as JSON Schema. */
export const volumeNameShape = { pattern: "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", maxLength: VOLUME_NAME_MAX } as const;

/** Replaces `_` with `-`. */
export const normalizeDeploymentName = (text: string): string => text.replaceAll("_", "-");

/** Returns the rule that a normalized name breaks, as a message, or undefined if the name is valid. */
export const deploymentNameProblem = (
  name: string,
  reserved: readonly string[] = reservedNames,
): string | undefined => {
  if (name.length === 0) return "a name must not be empty";
  if (name.length > DEPLOYMENT_NAME_MAX)
    return `a name must be at most ${DEPLOYMENT_NAME_MAX} characters; this has ${name.length}`;
  if (!/^[a-z0-9-]*$/.test(name)) return "a name must contain only lowercase letters a-z, digits and '-'";
  if (!/^[a-z]/.test(name)) return "a name must start with a letter";
  if (name.endsWith("-")) return "a name must not end with '-'";
  if (reserved.includes(name)) return `'${name}' is reserved; choose another name`;
  return undefined;
};

/** Parses a deployment name and replaces `_` with `-`. Returns undefined if the name breaks a rule. */
export const parseDeploymentName = (text: string, reserved?: readonly string[]): DeploymentName | undefined => {
  const name = normalizeDeploymentName(text);
  return deploymentNameProblem(name, reserved) === undefined ? (name as DeploymentName) : undefined;
};

/** Returns the rule that a volume name breaks, as a message, or undefined if the name is valid. */
export const volumeNameProblem = (name: string): string | undefined => {
  if (name.length === 0) return "a volume name must not be empty";
  if (name.length > VOLUME_NAME_MAX)
    return `a volume name must be at most ${VOLUME_NAME_MAX} characters; this has ${name.length}`;
  if (!/^[a-z0-9-]*$/.test(name)) return "a volume name must contain only lowercase letters a-z, digits and '-'";
  if (!/^[a-z0-9]/.test(name)) return "a volume name must start with a letter or a digit";
  if (name.endsWith("-")) return "a volume name must not end with '-'";
  return undefined;
};

/** Parses a volume name. Returns undefined if it breaks a rule; `volumeNameProblem` returns the rule. */
export const parseVolumeName = (text: string): VolumeName | undefined =>
  volumeNameProblem(text) === undefined ? (text as VolumeName) : undefined;
