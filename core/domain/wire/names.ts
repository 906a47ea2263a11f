/**
 * Names that clients choose: deployments and volumes.
 *
 * A deployment name is global because it becomes a host name; a volume name belongs to its account.
 */

declare const deploymentBrand: unique symbol;
export type DeploymentName = string & { readonly [deploymentBrand]: true };

declare const volumeBrand: unique symbol;
export type VolumeName = string & { readonly [volumeBrand]: true };

/** Host names that the platform keeps for itself; a setting, these are the defaults. */
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

/** The rules of a deployment's name as JSON Schema says them, except for the reserved names. */
export const deploymentNameShape = {
  pattern: "^[a-z](?:[a-z0-9_-]*[a-z0-9])?$",
  maxLength: DEPLOYMENT_NAME_MAX,
} as const;

/** The rules of a volume's name as JSON Schema says them. */
export const volumeNameShape = { pattern: "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$", maxLength: VOLUME_NAME_MAX } as const;

/** Deployment names treat `_` as `-`. */
export const normalizeDeploymentName = (text: string): string => text.replaceAll("_", "-");

/** The rule that the (normalized) name breaks, in words; undefined where it breaks none. */
export const deploymentNameProblem = (
  name: string,
  reserved: readonly string[] = reservedNames,
): string | undefined => {
  if (name.length === 0) return "a name has at least 1 character";
  if (name.length > DEPLOYMENT_NAME_MAX)
    return `a name has at most ${DEPLOYMENT_NAME_MAX} characters; this has ${name.length}`;
  if (!/^[a-z0-9-]*$/.test(name)) return "a name has only lower-case letters a-z, digits and '-'";
  if (!/^[a-z]/.test(name)) return "a name starts with a letter";
  if (name.endsWith("-")) return "a name does not end in '-'";
  if (reserved.includes(name)) return `'${name}' is reserved; choose another name`;
  return undefined;
};

/** Reads a deployment name that a caller wrote, `_` and all; undefined where it breaks a rule. */
export const parseDeploymentName = (text: string, reserved?: readonly string[]): DeploymentName | undefined => {
  const name = normalizeDeploymentName(text);
  return deploymentNameProblem(name, reserved) === undefined ? (name as DeploymentName) : undefined;
};

/** The rule that a volume name breaks, in words; undefined where it breaks none. */
export const volumeNameProblem = (name: string): string | undefined => {
  if (name.length === 0) return "a volume name has at least 1 character";
  if (name.length > VOLUME_NAME_MAX)
    return `a volume name has at most ${VOLUME_NAME_MAX} characters; this has ${name.length}`;
  if (!/^[a-z0-9-]*$/.test(name)) return "a volume name has only lower-case letters a-z, digits and '-'";
  if (!/^[a-z0-9]/.test(name)) return "a volume name starts with a letter or a digit";
  if (name.endsWith("-")) return "a volume name does not end in '-'";
  return undefined;
};

export const parseVolumeName = (text: string): VolumeName | undefined =>
  volumeNameProblem(text) === undefined ? (text as VolumeName) : undefined;
