/** Validates mount declarations: the volumes that a service mounts, and their paths in the service's file system. */

import { fieldLimits } from "../accounts/limits.ts";
import { type Issue, issue, unknownField } from "../wire/issue.ts";
import { type VolumeName, volumeNameProblem } from "../wire/names.ts";

/** A volume, or a folder of it, at a path of a service. */
export interface Mount {
  /** Absolute, normalized. */
  readonly path: string;
  readonly volume: VolumeName;
  readonly readOnly: boolean;
  /** The folder of the volume to mount, or undefined for the whole volume. */
  readonly subPath?: string;
}

/** A mount with the bucket of its volume. */
export interface BoundMount extends Mount {
  readonly bucket: string;
}

const forbiddenTrees = ["/proc", "/sys", "/dev", "/etc", "/boot", "/run"];
const forbiddenExactly = ["/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/var", "/home", "/root", "/tmp"];

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

const isWithin = (path: string, tree: string): boolean => path === tree || path.startsWith(`${tree}/`);

/** Returns the folders above a normalized path, outermost first, without the root. */
const foldersAbove = (path: string): string[] => {
  const parts = path.split("/").slice(1, -1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("/")}`);
};

/** Returns the rule that a mount path breaks, as a message, or undefined if the path is valid. */
export const mountPathProblem = (path: string): string | undefined => {
  if (!path.startsWith("/")) return "a mount path must be absolute: start it with '/'";
  if (CONTROL.test(path) || path.includes(":")) return "a mount path must not contain ':' or control characters";
  if (path.length > 1024) return "a mount path must be at most 1024 characters";
  const parts = path.slice(1).split("/");
  if (path !== "/" && parts.some((part) => part === "" || part === "." || part === ".."))
    return "a mount path must be normalized: without '//', '.', '..' or a trailing '/'";
  const tree = forbiddenTrees.find((one) => isWithin(path, one));
  if (tree !== undefined) return `a volume must not be mounted at or under ${tree}; use a path such as '/data'`;
  if (forbiddenExactly.includes(path))
    return `a volume must not be mounted at ${path} itself; use a path such as '/data'`;
  return undefined;
};

const nestingProblem = (path: string, declared: ReadonlySet<string>): string | undefined => {
  const outer = foldersAbove(path).find((folder) => declared.has(folder));
  return outer === undefined ? undefined : `is inside the mount ${outer}; mounts must not be nested`;
};

const subPathProblem = (path: string): string | undefined => {
  if (path.startsWith("/")) return "sub_path must be relative: remove the leading '/'";
  if (CONTROL.test(path)) return "sub_path must not contain control characters";
  // Object paths cannot contain a backslash, so a folder with a backslash could contain no object.
  if (path.includes("\\")) return "sub_path must not contain a backslash; separate its parts with '/'";
  if (path.split("/").some((part) => part === "" || part === "." || part === ".."))
    return "sub_path must be normalized: without empty, '.' or '..' parts";
  return undefined;
};

const targetFields = ["name", "read_only", "sub_path"];

const nameIssues = (where: string[], name: unknown): Issue[] => {
  if (name === undefined) return [issue(where, "is required: the name of the volume", "missing")];
  if (typeof name !== "string") return [issue(where, "must be a volume name", "string_type")];
  const problem = volumeNameProblem(name);
  return problem === undefined ? [] : [issue(where, problem, "string_pattern_mismatch")];
};

const subPathIssues = (where: string[], subPath: unknown): Issue[] => {
  if (subPath === undefined) return [];
  if (typeof subPath !== "string") return [issue(where, "must be a string", "string_type")];
  const problem = subPathProblem(subPath);
  return problem === undefined ? [] : [issue(where, problem, "value_error")];
};

/**
 * Reads the value at a mount path: a volume name, or an object that contains one. The mount is valid only if `issues`
 * is empty.
 */
const readTarget = (path: string, raw: unknown): { mounts: readonly Mount[]; issues: readonly Issue[] } => {
  const target = typeof raw === "string" ? { name: raw } : raw;
  if (typeof target !== "object" || target === null || Array.isArray(target))
    return {
      mounts: [],
      issues: [issue([path], "must be a volume name or {name, read_only, sub_path}", "dict_type")],
    };
  const { name, read_only: readOnly = false, sub_path: subPath } = target as Record<string, unknown>;
  const issues = [
    ...Object.keys(target)
      .filter((key) => !targetFields.includes(key))
      .map((key) => unknownField([path], key, targetFields)),
    ...nameIssues(typeof raw === "string" ? [path] : [path, "name"], name),
    ...(typeof readOnly === "boolean" ? [] : [issue([path, "read_only"], "must be true or false", "bool_parsing")]),
    ...subPathIssues([path, "sub_path"], subPath),
  ];
  const mount = { path, volume: name as VolumeName, readOnly: readOnly as boolean };
  return { mounts: [subPath === undefined ? mount : { ...mount, subPath: subPath as string }], issues };
};

/** Reads a mount declaration. Returns the mounts sorted by path, or no mounts if the declaration has issues. */
export const readMounts = (raw: unknown): { readonly mounts: readonly Mount[]; readonly issues: readonly Issue[] } => {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return {
      mounts: [],
      issues: [issue([], 'must be an object such as {"/data": "my-volume"}, or {} for no storage', "dict_type")],
    };
  const issues: Issue[] = [];
  const mounts: Mount[] = [];
  const paths = Object.keys(raw);
  const declared = new Set(paths);
  if (paths.length > fieldLimits.mounts.max)
    issues.push(
      issue([], `must have at most ${fieldLimits.mounts.max} mounts; got ${paths.length}`, "less_than_equal"),
    );
  for (const path of paths) {
    const problem = mountPathProblem(path) ?? nestingProblem(path, declared);
    if (problem !== undefined) issues.push(issue([path], problem, "value_error"));
    const target = readTarget(path, (raw as Record<string, unknown>)[path]);
    issues.push(...target.issues);
    mounts.push(...target.mounts);
  }
  return { mounts: issues.length > 0 ? [] : mounts.sort((a, b) => (a.path < b.path ? -1 : 1)), issues };
};

/** Mounts in their wire format: mount path to volume. */
export type MountDeclaration = Readonly<Record<string, { name: string; read_only: boolean; sub_path?: string }>>;

/** Converts mounts to the object form of the declaration, as in the deployment list. */
export const renderMounts = (mounts: readonly Mount[]): MountDeclaration =>
  Object.fromEntries(
    mounts.map(({ path, volume, readOnly, subPath }) => [
      path,
      { name: volume, read_only: readOnly, ...(subPath === undefined ? {} : { sub_path: subPath }) },
    ]),
  );
