/** Reads the last lines of a revision's log, for the message of a failed rollout. */
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import type { LogScope, LogStore } from "../../../core/ports/log-store.ts";

/** A line of a revision's log. */
export interface RevisionLine {
  /** True for a line of the platform, false for a line of the service. */
  readonly system: boolean;
  readonly text: string;
}

export interface RevisionScope extends LogScope {
  readonly revision: string;
}

/** Returns the last lines, oldest first. Returns no lines if the log is unavailable. */
export type LastLines = (scope: RevisionScope, signal?: AbortSignal) => Promise<readonly RevisionLine[]>;

const LINES = 100;
/** Longer than a minute, so that an exhausted per-minute quota resets in time. */
const READ_TIMEOUT_MS = 75_000;

const ofRevision = (revision: string): LogFilter => ({
  kind: "compare",
  path: ["resource", "labels", "revision_name"],
  op: "=",
  literal: { text: revision },
});

export const lastLinesOf =
  (logs: Pick<LogStore, "newest">): LastLines =>
  async ({ owner, service, revision }, signal) => {
    const query = { filter: ofRevision(revision), limit: LINES, timeoutMs: READ_TIMEOUT_MS };
    const found = await logs.newest({ owner, service }, query, signal === undefined ? {} : { signal });
    // An unavailable log must not hide the failure itself.
    if (found.isErr()) return [];
    return found.value.entries.flatMap(({ logName, text, json }): RevisionLine[] =>
      logName === "requests" ? [] : [{ system: logName === "platform", text: text ?? JSON.stringify(json ?? {}) }],
    );
  };
