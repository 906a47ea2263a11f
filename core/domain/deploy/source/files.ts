/** The part of a source that the build rules read: file names, and the contents of a few files. */

import { KiB, MiB } from "../../accounts/limits.ts";
import type { DeployFailure, DeployReason } from "../reason.ts";

export interface SourceFiles {
  /** Files at the top level, and the files in lower folders that the rules read. */
  readonly paths: ReadonlySet<string>;
  /** Folders at the top level and below `src`. */
  readonly folders: ReadonlySet<string>;
  /** The texts that the rules read, by path. Omits a file above its limit, unless `isReadInPart` accepts the file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Thrown if the source cannot be planned. `planSource` converts the error to a failure. */
export class SourcePlanError extends Error {
  readonly failure: DeployFailure;

  constructor(message: string, reason: DeployReason = "no_builder") {
    super(message);
    this.failure = { reason, message };
  }
}

const LOCKS = ["uv.lock", "poetry.lock"];
const TEXTS = ["Procfile", "package.json", "pyproject.toml", "manage.py"];
/** Lock files whose beginning identifies their format. The rules read only the beginning. */
const NODE_LOCKS = ["pnpm-lock.yaml", "yarn.lock"];

/** Maximum total bytes of the texts of one source, separately for Python files and for all other files. */
export const sourceTextBytes = { python: 2 * MiB, other: 8 * MiB } as const;

export type TextKind = keyof typeof sourceTextBytes;

export const textKindOf = (path: string): TextKind => (path.endsWith(".py") ? "python" : "other");

/** Returns whether the rules read the beginning of a file that is longer than its limit. */
export const isReadInPart = (path: string): boolean => textKindOf(path) === "python" || NODE_LOCKS.includes(path);

/** Maximum number of `paths` below the top level. Also the maximum number of `folders`. */
export const sourceNames = 5000;

/** Returns the maximum bytes to read of a file, or 0 to skip it. A longer file is skipped or read in part. */
export const textBytesOf = (path: string): number => {
  if (textKindOf(path) === "python") return 64 * KiB;
  if (NODE_LOCKS.includes(path)) return 1 * KiB;
  if (LOCKS.includes(path)) return 4 * MiB;
  if (path === "package.json") return 256 * KiB;
  return TEXTS.includes(path) || (path.endsWith(".txt") && path.includes("requirements")) ? 1 * MiB : 0;
};

/** Returns whether `paths` includes the file. */
export const isNamed = (path: string): boolean => {
  const depth = path.split("/").length;
  const isDeep = path.startsWith("src/") || path.endsWith("/wsgi.py") || path.endsWith("/asgi.py");
  return depth === 1 || (depth <= (isDeep ? 3 : 2) && textBytesOf(path) > 0);
};
