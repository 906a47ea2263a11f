/** Classifies errors of the file system and of SQLite as disk faults, and formats them for clients. */
import { type Unavailable, unavailable } from "../../../core/errors.ts";

/**
 * `full`: the disk is full, or a quota or a limit of the file system is reached.
 *
 * `read_only`: the file system is read-only.
 *
 * `failing`: the disk cannot read or write.
 */
export type DiskFault = "full" | "read_only" | "failing";

const systemFaults: Readonly<Record<string, DiskFault>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  EROFS: "read_only",
  EIO: "failing",
};

/** Disk faults by SQLite's primary result codes: https://www.sqlite.org/rescode.html */
const sqliteFaults: Readonly<Record<number, DiskFault>> = { 8: "read_only", 10: "failing", 13: "full" };

/** Returns the primary result code of an SQLite error, or undefined for any other error. */
export const sqliteCodeOf = (error: unknown): number | undefined => {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: number };
  // Extended codes have the primary code in their lowest byte.
  return code === "ERR_SQLITE_ERROR" && errcode !== undefined ? errcode & 0xff : undefined;
};

/** Returns the disk fault that caused an error, or undefined if the disk is not the cause. */
export const diskFaultOf = (error: unknown): DiskFault | undefined => {
  const sqlite = sqliteCodeOf(error);
  if (sqlite !== undefined) return sqliteFaults[sqlite];
  return systemFaults[(error as NodeJS.ErrnoException | undefined)?.code ?? ""];
};

const words: Readonly<Record<DiskFault, { readonly fact: string; readonly remedy: string }>> = {
  full: { fact: "The server's disk is full", remedy: "has freed space" },
  read_only: { fact: "The server's disk is read-only", remedy: "has made it writable" },
  failing: { fact: "The server's disk cannot be read or written", remedy: "has repaired it" },
};

/**
 * @param loss the consequence, as a clause such as "the source could not be built"
 * @param step the action that the client must take later, such as "Deploy again"
 */
export const describeDiskFault = (fault: DiskFault, loss: string, step: string): string =>
  `${words[fault].fact}: ${loss}. ${step} when the server's operator ${words[fault].remedy}.`;

const RETRY_S = 5;
/** Retry delay in seconds for faults that an operator must fix. */
const REPAIRED_S = 60;

/**
 * Returns the error for a call that needs a file or a database. The message names the disk fault, if there is one.
 *
 * @param message the message for other causes
 */
export const storeUnavailable = (message: string, cause: unknown): Unavailable => {
  const fault = diskFaultOf(cause);
  return fault === undefined
    ? unavailable(message, RETRY_S, cause)
    : unavailable(describeDiskFault(fault, "the call was not completed", "Try again"), REPAIRED_S, cause);
};
