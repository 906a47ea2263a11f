/** Paths of objects in a volume: relative, separated by slashes, valid in a bucket and in a file tree. */

import { objectPathLimits } from "../accounts/limits.ts";

declare const objectPathBrand: unique symbol;

/** A valid path of an object. */
export type ObjectPath = string & { readonly [objectPathBrand]: true };

const { bytes: PATH_BYTES, partBytes: PART_BYTES } = objectPathLimits;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

const utf8 = new TextEncoder();
const bytesOf = (text: string): number => utf8.encode(text).length;

/** Returns the rule that an object's path breaks, as a message, or undefined if the path is valid. */
export const objectPathProblem = (path: string): string | undefined => {
  if (path === "") return "an object path must not be empty";
  if (!path.isWellFormed()) return "an object path must be well-formed Unicode";
  if (path.startsWith("/")) return "an object path must be relative: remove the leading '/'";
  if (path.includes("\\")) return "an object path must not contain a backslash; separate its parts with '/'";
  if (CONTROL.test(path)) return "an object path must not contain control characters";
  if (bytesOf(path) > PATH_BYTES) return `an object path must be at most ${PATH_BYTES} bytes; got ${bytesOf(path)}`;
  const parts = path.split("/");
  if (parts.includes("")) return "an object path must not have empty parts: remove '//' and a trailing '/'";
  if (parts.some((part) => part === "." || part === "..")) return "an object path must not have '.' or '..' as a part";
  const long = parts.find((part) => bytesOf(part) > PART_BYTES);
  return long === undefined ? undefined : `each part of an object path must be at most ${PART_BYTES} bytes`;
};

const PART = "(?!\\.{1,2}(?:/|$))[^/\\\\\\u0000-\\u001f\\u007f-\\u009f]+";

/** The rules of an object's path as JSON Schema, which counts characters instead of bytes. */
export const objectPathShape = { pattern: `^${PART}(?:/${PART})*$`, maxLength: PATH_BYTES } as const;

/** Parses an object path. Returns undefined if it breaks a rule; `objectPathProblem` returns the rule. */
export const parseObjectPath = (text: string): ObjectPath | undefined =>
  objectPathProblem(text) === undefined ? (text as ObjectPath) : undefined;

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/**
 * Compares paths for object lists: by UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16 code
 * units and therefore sorts characters beyond U+FFFF before U+E000 to U+FFFF.
 */
export const comparePaths = (a: string, b: string): number => {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left === right) continue;
    if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1;
    return left - right;
  }
  return a.length - b.length;
};

/** The separator of the parts of a path. Object lists use it to group paths into folders. */
export const FOLDER_DELIMITER = "/" as const;

/** Returns the first folder below the prefix that contains the path, with a trailing `/`, or undefined. */
export const folderBelow = (prefix: string, path: string): string | undefined => {
  const end = path.indexOf(FOLDER_DELIMITER, prefix.length);
  return end < 0 ? undefined : path.slice(0, end + 1);
};

/** Returns whether a folder, with a trailing `/`, can contain objects: whether its name is valid in object paths. */
export const isObjectFolder = (folder: string): boolean => objectPathProblem(folder.slice(0, -1)) === undefined;
