/** The names of objects in a volume: slash-separated, relative, fit for a bucket and for a file tree alike. */

import { objectPathLimits } from "../accounts/limits.ts";

declare const objectPathBrand: unique symbol;
export type ObjectPath = string & { readonly [objectPathBrand]: true };

const { bytes: PATH_BYTES, partBytes: PART_BYTES } = objectPathLimits;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

const utf8 = new TextEncoder();
const bytesOf = (text: string): number => utf8.encode(text).length;

/** The rule that an object's path breaks, in words; undefined where it breaks none. */
export const objectPathProblem = (path: string): string | undefined => {
  if (path === "") return "an object's path has at least 1 byte";
  if (!path.isWellFormed()) return "an object's path is well-formed Unicode";
  if (path.startsWith("/")) return "an object's path is relative: no '/' at its start";
  if (path.includes("\\")) return "an object's path has no backslash; its parts are separated by '/'";
  if (CONTROL.test(path)) return "an object's path has no control characters";
  if (bytesOf(path) > PATH_BYTES) return `an object's path has at most ${PATH_BYTES} bytes; this has ${bytesOf(path)}`;
  const parts = path.split("/");
  if (parts.includes("")) return "an object's path has no empty part: no '//' and no '/' at its end";
  if (parts.some((part) => part === "." || part === "..")) return "an object's path has no '.' and no '..' part";
  const long = parts.find((part) => bytesOf(part) > PART_BYTES);
  return long === undefined ? undefined : `each part of an object's path has at most ${PART_BYTES} bytes`;
};

const PART = "(?!\\.{1,2}(?:/|$))[^/\\\\\\u0000-\\u001f\\u007f-\\u009f]+";

/** The rules of an object's path as JSON Schema says them, which counts characters and no bytes. */
export const objectPathShape = { pattern: `^${PART}(?:/${PART})*$`, maxLength: PATH_BYTES } as const;

export const parseObjectPath = (text: string): ObjectPath | undefined =>
  objectPathProblem(text) === undefined ? (text as ObjectPath) : undefined;

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/**
 * The order of object lists: that of the paths' UTF-8 bytes, which is that of their code points. JavaScript's own
 * order of texts differs where a character beyond the first 65,536 meets one from U+E000 on.
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
