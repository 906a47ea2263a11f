/** What the rules of building see of a source: the names of its files, and the texts of a few. */

import { KiB, MiB } from "../../accounts/limits.ts";
import type { DeployFailure, DeployReason } from "../reason.ts";

export interface SourceFiles {
  /** Files at the top, and Python files in the first folders. */
  readonly paths: ReadonlySet<string>;
  /** Folders at the top and below `src`. */
  readonly folders: ReadonlySet<string>;
  /** The texts that count, by path; without those over their limit. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Why no command starts the source; thrown inside these rules only. */
export class NothingStarts extends Error {
  readonly failure: DeployFailure;

  constructor(message: string, reason: DeployReason = "no_builder") {
    super(message);
    this.failure = { reason, message };
  }
}

const LOCKS = ["uv.lock", "poetry.lock"];
const TEXTS = ["Procfile", "package.json", "pyproject.toml", "pnpm-lock.yaml", "yarn.lock", "manage.py"];

/** Bytes of all texts of one source: of its Python files, and of the others. */
export const sourceTextBytes = { python: 2 * MiB, other: 8 * MiB } as const;

export type TextKind = keyof typeof sourceTextBytes;

export const textKindOf = (path: string): TextKind => (path.endsWith(".py") ? "python" : "other");

/** How many names of one source count, of files below the top and of folders each. */
export const sourceNames = 5000;

/** Bytes of a file's text that count: all or nothing, except of Python, where the beginning counts. 0: none. */
export const textBytesOf = (path: string): number => {
  if (textKindOf(path) === "python") return 64 * KiB;
  if (LOCKS.includes(path)) return 4 * MiB;
  if (path === "package.json") return 256 * KiB;
  return TEXTS.includes(path) || (path.endsWith(".txt") && path.includes("requirements")) ? 1 * MiB : 0;
};

/** Whether a file's name counts. */
export const isNamed = (path: string): boolean => {
  const depth = path.split("/").length;
  const isDeep = path.startsWith("src/") || path.endsWith("/wsgi.py") || path.endsWith("/asgi.py");
  return depth === 1 || (depth <= (isDeep ? 3 : 2) && textBytesOf(path) > 0);
};
