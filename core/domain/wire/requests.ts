/** The fields of all requests except the deploy, by their wire names. `deploy/fields.ts` has those of the deploy. */
import { z } from "zod";
import { fieldLimits, logLimits, sqlLimits } from "../accounts/limits.ts";
import { type LogPosition, parseCursor } from "../logs/cursor.ts";
import { type ObjectPath, objectPathProblem, objectPathShape } from "../volumes/object-path.ts";
import { integerField, readField } from "./fields.ts";
import {
  type DeploymentName,
  normalizeDeploymentName,
  type VolumeName,
  volumeNameProblem,
  volumeNameShape,
} from "./names.ts";

/** Accepts any text: a lookup of an invalid name just finds nothing. Replaces `_` with `-`. */
const anyName = (description: string) =>
  readField<DeploymentName>((text) => ({ value: normalizeDeploymentName(text) as DeploymentName }), description, [
    "my-app",
  ]);

const ANY_ID = "k3zq0b9fw2m7c1t8x5ya";

const text = (description: string, max: number, example: string) =>
  z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a text") })
    .min(1, "must not be empty")
    .max(max, `at most ${max} characters`)
    .meta({ description, examples: [example] });

export const checkNameFields = { name: anyName("The name to check.") } as const;

export const deleteFields = { name: anyName("The deployment to delete.") } as const;

export const cancelFields = { deploy_id: text("The deploy to end.", 64, ANY_ID) } as const;

export const resumeFields = {
  deploy_id: text("The deploy to follow.", 64, ANY_ID),
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
    .meta({ description: "A filter in the Cloud Logging query language.", examples: ["severity>=ERROR"] }),
} as const;

export const sqlFields = {
  query: text("One SELECT over `logs` and `billing`, in GoogleSQL.", sqlLimits.chars, "SELECT COUNT(*) AS n FROM logs"),
} as const;

export const createKeyFields = { label: text("What the key is for, to recognise it by.", 100, "laptop") } as const;

export const revokeKeyFields = { id: text("The key's id.", 64, ANY_ID) } as const;

/** Accepts any text, as `anyName` does: a lookup of an invalid name just finds nothing. */
const anyVolume = (description: string) =>
  readField<VolumeName>((name) => ({ value: name as VolumeName }), description, ["my-volume"]);

const newVolume = readField<VolumeName>(
  (name) => {
    const problem = volumeNameProblem(name);
    return problem === undefined ? { value: name as VolumeName } : { problem, type: "string_pattern_mismatch" };
  },
  "1 to 40 characters of a-z, 0-9 and '-'; starts with a letter or digit, does not end in '-'.",
  ["my-volume"],
  volumeNameShape,
);

const objectPath = readField<ObjectPath>(
  (path) => {
    const problem = objectPathProblem(path);
    return problem === undefined ? { value: path as ObjectPath } : { problem, type: "value_error" };
  },
  "The object's path: relative, its parts separated by '/'.",
  ["reports/2026.csv"],
  objectPathShape,
);

const anyText = (description: string) => z.string({ error: "must be a text" }).meta({ description });

export const createVolumeFields = { name: newVolume } as const;

export const deleteVolumeFields = { name: anyVolume("The volume to delete.") } as const;

export const restoreVolumeFields = {
  name: anyVolume("The volume to bring back."),
  id: anyText("Which of that name, as the trash lists it; absent: the newest.").nullable().optional(),
} as const;

export const objectsFields = {
  volume: anyVolume("The volume whose objects are listed."),
  prefix: anyText("Only paths that begin with this.").default(""),
  page_token: anyText("The `next_page_token` of the page before.").default(""),
  limit: integerField(fieldLimits.objects, "Objects at most."),
} as const;

export const objectFields = { volume: anyVolume("The volume that has the object."), path: objectPath } as const;

export const uploadFields = {
  volume: anyVolume("The volume that gets the object."),
  object: objectPath.optional(),
  path: objectPath.optional().meta({ description: "The same as `object`." }),
  size: integerField({ min: 0, default: 0 }, "How large the object will be, in bytes; 0 where that is not known."),
} as const;
