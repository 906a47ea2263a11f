/** The recent deploys of an account: `GET /v1/deploys`. */
import { z } from "zod";
import type { LogEntry } from "../logs/entry.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../wire/instant.ts";
import { type DeployEvent, type DeployOutcome, deployEventSchema } from "./events.ts";
import { isFinal, serverStopped } from "./outcome.ts";
import { deployReasonSchema, meaningOfEnd } from "./reason.ts";

const time = z.string().meta({ format: "date-time" });

/** The schema of a deploy in `GET /v1/deploys`. */
export const deployRowSchema = z
  .object({
    deploy_id: z.string().meta({ description: "The id with which a client can follow or cancel the deploy." }),
    name: z.string().meta({ description: "The deployment." }),
    status: deployEventSchema.unwrap().shape.status,
    reason: deployReasonSchema.nullable().meta({ description: "Why the deploy failed; null if it did not." }),
    message: z.string().meta({ description: "The message of the last known record." }),
    began_at: time.nullable().meta({ description: "Null if the log no longer contains the start." }),
    finished_at: time.nullable().meta({ description: "Null while the deploy runs." }),
  })
  .readonly();

/** The schema of the response of `GET /v1/deploys`. */
export const deployListSchema = z
  .object({
    deploys: z.array(deployRowSchema),
    partial: z.boolean().meta({
      description: "True if the search of the logs reached its time limit or failed. Deploys may be missing.",
    }),
  })
  .readonly();

/** A deploy as clients see it in the list. */
export type DeployRow = z.output<typeof deployRowSchema>;

/** The recent deploys of an account, newest first. */
export type DeployList = z.output<typeof deployListSchema>;

/** A deploy of this process. */
export interface KnownDeploy {
  readonly deployId: string;
  readonly name: string;
  readonly beganAt: Instant;
  readonly lastRecord: DeployEvent | undefined;
}

/** Returns the row of a deploy of this process, or undefined before its first record. */
export const rowOfKnown = ({ deployId, name, beganAt, lastRecord: last }: KnownDeploy): DeployRow | undefined =>
  last && {
    deploy_id: deployId,
    name,
    status: last.status,
    reason: last.reason ?? null,
    message: last.message,
    began_at: timestampOf(beganAt),
    finished_at: isFinal(last.status) ? last.time : null,
  };

/** Returns the row of one deploy from its log entries, or undefined if `deployEntry` did not create the entries. */
const rowOfEntries = (name: string, entries: readonly LogEntry[]): DeployRow | undefined => {
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const row = deployRowSchema.safeParse({
    deploy_id: last.json?.["deploy_id"],
    name,
    status: last.json?.["status"],
    reason: last.json?.["reason"] ?? null,
    message: last.json?.["message"],
    began_at: null,
    finished_at: null,
  });
  if (!row.success) return undefined;
  const startOf = ({ json, instant }: LogEntry) =>
    json?.["status"] === "DONE" || json?.["status"] === "ERROR" ? null : timestampOf(instant);
  return {
    ...row.data,
    began_at: startOf(first),
    finished_at: isFinal(row.data.status) ? timestampOf(last.instant) : null,
  };
};

/** Returns the rows of the deploys that a deployment's log entries report. */
export const rowsOfEntries = (name: string, entries: readonly LogEntry[]): readonly DeployRow[] => {
  const byDeploy = Map.groupBy(entries, ({ json }) => json?.["deploy_id"]);
  return [...byDeploy.values()].flatMap((own) => rowOfEntries(name, own) ?? []);
};

/**
 * Completes the row of a deploy that has no end in the log, for example because its server stopped or the entry is not
 * visible yet. For the deployment's last deploy, the platform stores the end. A deploy without a stored end counts as
 * interrupted if it began too long ago.
 *
 * @param last the last deploy of the deployment, as the platform stores it
 * @param abandonedMs the milliseconds after which a deploy without an end counts as interrupted
 */
export const withUnloggedEnd = (
  row: DeployRow,
  last: DeployOutcome | null,
  abandonedMs: number,
  now: Instant,
): DeployRow => {
  if (isFinal(row.status)) return row;
  if (last?.deployId === row.deploy_id && last.finishedAt !== null) {
    const { status, reason, finishedAt } = last;
    return { ...row, status, reason, message: meaningOfEnd(reason), finished_at: finishedAt };
  }
  const began = parseInstant(row.began_at ?? "");
  const end = began && plusMillis(began, abandonedMs);
  if (end === undefined || now < end) return row;
  return { ...row, status: "ERROR", reason: "interrupted", message: serverStopped, finished_at: timestampOf(end) };
};

const atOf = ({ began_at, finished_at }: DeployRow): string => began_at ?? finished_at ?? "";

/** Timestamps of any precision sort as text, because `+` precedes `.` and the digits. */
const newestFirst = (a: DeployRow, b: DeployRow): number => (atOf(a) > atOf(b) ? -1 : Number(atOf(a) < atOf(b)));

/**
 * Returns the newest deploys, newest first.
 * @param known the deploys of this process, whose rows take precedence
 * @param logged the deploys that logs report
 */
export const newestDeploys = (
  known: readonly DeployRow[],
  logged: readonly DeployRow[],
  limit: number,
): readonly DeployRow[] => {
  const rows = new Map([...logged, ...known].map((row) => [row.deploy_id, row]));
  return [...rows.values()].sort(newestFirst).slice(0, limit);
};
