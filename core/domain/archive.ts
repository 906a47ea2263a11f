/**
 * Which entries a source archive may have: the rule of contract 4.1, applied while the archive streams in.
 * Files and folders only; links are refused altogether, because a safe link is only safe until the next entry.
 */
import { type ArchiveLimits, archiveLimits } from "./limits.ts";
import { formatMemory } from "./resources.ts";

export interface ArchiveEntry {
  /** As the archive has it. */
  readonly path: string;
  readonly type: "file" | "folder" | "other";
  /** Bytes of the entry's content. */
  readonly size: number;
}

/** How much of the limits an archive has used so far. */
export interface ArchiveUse {
  readonly entries: number;
  readonly bytes: number;
}

export const emptyArchive: ArchiveUse = { entries: 0, bytes: 0 };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const UNSAFE = /[\u0000-\u001f\u007f\\]/;

const quoted = (path: string): string => JSON.stringify(path.length > 120 ? `${path.slice(0, 117)}...` : path);

const pathProblem = (path: string, limits: ArchiveLimits): string | undefined => {
  if (new TextEncoder().encode(path).length > limits.pathBytes) return `has a path over ${limits.pathBytes} bytes`;
  if (UNSAFE.test(path)) return "has a control character or a backslash in its path";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    return "has an absolute path; pack relative to the source's folder";
  const parts = path.split("/");
  if (parts.includes("..")) return "leads out of the source's folder with '..'";
  return parts.filter((part) => part !== "" && part !== ".").length > limits.depth
    ? `is deeper than ${limits.depth} folders`
    : undefined;
};

/** The use after this entry, or what is wrong with it, naming it. */
export const admitEntry = (
  use: ArchiveUse,
  entry: ArchiveEntry,
  limits: ArchiveLimits = archiveLimits,
): { readonly use: ArchiveUse } | { readonly problem: string } => {
  const refuse = (why: string) => ({ problem: `entry ${quoted(entry.path)} ${why}` });
  if (entry.type === "other")
    return refuse("is a link, a device or another special entry; only files and folders are taken");
  const problem = pathProblem(entry.path, limits);
  if (problem !== undefined) return refuse(problem);
  if (entry.size > limits.entryBytes) return refuse(`is over ${formatMemory(limits.entryBytes)}`);
  const next = { entries: use.entries + 1, bytes: use.bytes + entry.size };
  if (next.entries > limits.entries) return refuse(`is one too many: at most ${limits.entries} entries`);
  if (next.bytes > limits.unpackedBytes)
    return refuse(`takes the archive over ${formatMemory(limits.unpackedBytes)} unpacked`);
  return { use: next };
};
