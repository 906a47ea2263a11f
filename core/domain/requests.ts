/** The fields of every small request, by their wire names; the deploy's are in `deploy-fields.ts`. */
import { z } from "zod";
import { integerField, readField } from "./fields.ts";
import { fieldLimits, logLimits } from "./limits.ts";
import { type LogPosition, parseCursor } from "./log-cursor.ts";
import { type DeploymentName, normalizeDeploymentName } from "./names.ts";

/** Any text is looked up as it stands, `_` read as `-`: a name that breaks a rule belongs to nobody. */
const anyName = (description: string) =>
  readField<DeploymentName>((text) => ({ value: normalizeDeploymentName(text) as DeploymentName }), description, [
    "my-app",
  ]);

const text = (description: string, max: number) =>
  z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a text") })
    .min(1, "must not be empty")
    .max(max, `at most ${max} characters`)
    .meta({ description });

export const checkNameFields = { name: anyName("The name to check.") } as const;

export const deleteFields = { name: anyName("The deployment to delete.") } as const;

export const cancelFields = { deploy_id: text("The deploy to end.", 64) } as const;

export const resumeFields = {
  deploy_id: text("The deploy to follow.", 64),
  after: integerField({ min: 0, default: 0 }, "The `seq` of the last record seen; 0 for all."),
} as const;

const since = readField<LogPosition>(
  (text) => {
    const value = parseCursor(text);
    return value === undefined
      ? {
          problem: "must be an RFC 3339 date-time with an offset, such as '2026-01-31T09:00:00Z'",
          type: "datetime_parsing",
        }
      : { value };
  },
  "Entries after this date-time or cursor.",
  ["2026-01-31T09:00:00Z"],
);

export const logsFields = {
  deployment_name: anyName("The deployment whose log is read."),
  since: since.nullable().optional(),
  limit: integerField(fieldLimits.logs, "Entries at most."),
  query: z
    .string({ error: "must be a text" })
    .max(logLimits.filterChars, `at most ${logLimits.filterChars} characters`)
    .nullable()
    .optional()
    .meta({ description: "A filter in the Cloud Logging query language." }),
} as const;

export const createKeyFields = { label: text("What the key is for, to recognise it by.", 100) } as const;

export const revokeKeyFields = { id: text("The key's id.", 64) } as const;
