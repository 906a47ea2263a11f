/** A single deployment with its instances, its last deploy and its schedule: `GET /v1/deployment/get`. */
import { z } from "zod";
import type { LogEntry } from "../logs/entry.ts";
import { nextFires } from "../schedules/fire-times.ts";
import { type Instant, timestampOf } from "../wire/instant.ts";
import { type Deployment, deploymentSchema, lastDeploySchema, lastFireSchema } from "./deployment.ts";
import type { DeployUpdate } from "./events.ts";
import { type InstanceStatus, instanceRowOf, instanceSchema } from "./instance-status.ts";
import { type DeployReason, meaningOfEnd } from "./reason.ts";

/** The number of scheduled fires that the response contains. */
const FIRES = 5;

/** The schema of the response of `GET /v1/deployment/get`. */
export const deploymentDetailsSchema = deploymentSchema
  .unwrap()
  .extend({
    release: z.int().nullable().meta({
      description: "The number of the release that serves; null if none does or the provider keeps no releases.",
    }),
    instances: z.array(instanceSchema).nullable().meta({
      description: "The instances, oldest first; null if the provider cannot list them now.",
    }),
    last_deploy: lastDeploySchema
      .extend({
        message: z.string().nullable().meta({
          description:
            "The message of the last record; null if it is unknown. If the service broke after the deploy, or the log lacks that record, the message describes `reason` instead.",
        }),
        log_tail: z.array(z.string()).meta({ description: "The last lines of output of a deploy that failed." }),
      })
      .nullable(),
    cron: z
      .object({
        next_fires: z
          .array(z.string().meta({ format: "date-time" }))
          .meta({ description: "The times of the next runs." }),
        last: lastFireSchema.nullable().meta({
          description: "The latest run; null before the first, or if the platform does not record runs.",
        }),
      })
      .nullable()
      .meta({ description: "Null if the deployment has no schedule." }),
    certificate_problem: z.string().optional().meta({
      description:
        "Why the host of `url` has no certificate, or why its renewal failed, with the time of the next attempt. Absent if there is no problem.",
    }),
  })
  .readonly();

/** A single deployment as clients see it. */
export type DeploymentDetails = z.output<typeof deploymentDetailsSchema>;

/** The message and the log lines of a deploy's last record. */
export interface DeployReport {
  readonly message: string | null;
  readonly logTail: readonly string[];
}

/** The report of a deploy whose last record is unknown. */
export const noReport: DeployReport = { message: null, logTail: [] };

/** Estimates the memory that a report needs, in characters. Adds 100 characters per string, for the object itself. */
export const sizeOfReport = ({ message, logTail }: DeployReport): number =>
  [message ?? "", ...logTail].reduce((sum, { length }) => sum + length + 100, 0);

/** Returns the report of a record. */
export const reportOfRecord = ({ message, log_tail }: DeployUpdate): DeployReport => ({
  message,
  logTail: log_tail ?? [],
});

/** Returns the report of a deploy's log entry, which `deployEntry` created. */
export const reportOfEntry = ({ json }: LogEntry): DeployReport => {
  const { message, log_tail: tail } = json ?? {};
  return {
    message: typeof message === "string" ? message : null,
    logTail: Array.isArray(tail) ? tail.filter((line) => typeof line === "string") : [],
  };
};

/**
 * Returns the report of a deploy from its reason alone. The caller uses it if the last record is missing because the
 * server stopped, or if the record reports a success but the service broke later.
 */
export const reportOfReason = (reason: DeployReason | null): DeployReport => ({
  message: meaningOfEnd(reason),
  logTail: [],
});

/** The details of a single deployment that its row in the list does not contain. */
export interface DeploymentFacts {
  readonly release: number | null;
  /** Null if the provider cannot list the instances now. */
  readonly instances: readonly InstanceStatus[] | null;
  readonly lastReport: DeployReport;
  readonly certificateProblem?: string | undefined;
}

/** Returns the client view of a single deployment. */
export const deploymentDetailsOf = (
  row: Deployment,
  { release, instances, lastReport, certificateProblem }: DeploymentFacts,
  now: Instant,
): DeploymentDetails => ({
  ...row,
  release,
  instances: instances?.map(instanceRowOf).sort((a, b) => (a.started_at < b.started_at ? -1 : 1)) ?? null,
  last_deploy: row.last_deploy && {
    ...row.last_deploy,
    message: lastReport.message,
    log_tail: [...lastReport.logTail],
  },
  cron: row.schedule && {
    next_fires: nextFires(row.schedule, now, FIRES).map(timestampOf),
    last: row.cron?.last ?? null,
  },
  ...(certificateProblem === undefined ? {} : { certificate_problem: certificateProblem }),
});
