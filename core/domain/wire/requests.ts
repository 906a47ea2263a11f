/** The request fields of all endpoints except the deploy, which `deploy/fields.ts` defines. Keys are wire names. */
import { z } from "zod";
import { err, ok } from "../../result.ts";
import {
  costLimits,
  deployListLimits,
  fieldLimits,
  logLimits,
  releaseLimits,
  secretLimits,
  sqlLimits,
} from "../accounts/limits.ts";
import { type DeclaredVariables, readEnvironment } from "../deploy/environment.ts";
import { messageField, type VariableValues, variableShape } from "../deploy/fields.ts";
import { type DomainName, domainShape, parseDomainName } from "../domains/domain-name.ts";
import { type LogPosition, parseCursor } from "../logs/cursor.ts";
import { parseSecretValue } from "../secrets/secret.ts";
import { type CostKey, costKeys } from "../usage/cost.ts";
import { FOLDER_DELIMITER, type ObjectPath, objectPathProblem, objectPathShape } from "../volumes/object-path.ts";
import { booleanField, integerField, jsonField, parsedField, readField } from "./fields.ts";
import { type Instant, parseInstant } from "./instant.ts";
import { type Issue, issue } from "./issue.ts";
import {
  type DeploymentName,
  normalizeDeploymentName,
  type SecretName,
  secretNameProblem,
  secretNameShape,
  type VolumeName,
  volumeNameProblem,
  volumeNameShape,
} from "./names.ts";

/** Accepts any text, because a lookup of an invalid name finds nothing. Replaces `_` with `-`. */
const anyName = (description: string) =>
  readField<DeploymentName>((text) => ({ value: normalizeDeploymentName(text) as DeploymentName }), description, [
    "my-app",
  ]);

const ANY_ID = "k3zq0b9fw2m7c1t8x5ya";

const text = (description: string, max: number, example: string) =>
  z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a string") })
    .min(1, "must not be empty")
    .max(max, `must be at most ${max} characters`)
    .meta({ description, examples: [example] });

export const checkNameFields = { name: anyName("The name to check.") } as const;

export const getDeploymentFields = { name: anyName("The deployment.") } as const;

export const deleteFields = { name: anyName("The deployment to delete.") } as const;

const optionalRelease = (description: string) =>
  parsedField<number | null, number | null>(
    (raw) => {
      const value = typeof raw === "string" && /^\d{1,15}$/.test(raw) ? Number(raw) : raw;
      if (value === null || value === "") return ok(null);
      return typeof value === "number" && Number.isSafeInteger(value) && value > 0
        ? ok(value)
        : err([issue([], "must be the number of a release, such as 3", "int_parsing")]);
    },
    { description, examples: [3], type: ["integer", "null"], minimum: 1 },
  ).optional();

export const releasesFields = {
  name: anyName("The deployment."),
  limit: integerField(releaseLimits.page, "The maximum number of releases."),
  page_token: optionalRelease("The `next_page_token` of the previous page."),
} as const;

export const releaseDiffFields = {
  name: anyName("The deployment."),
  from: optionalRelease("The release to compare; defaults to the one before `to`."),
  to: optionalRelease("The release to compare with; defaults to the newest one."),
} as const;

export const rollbackFields = {
  name: anyName("The deployment."),
  release: optionalRelease(
    "The release to restore; defaults to the release before the serving one. If the serving release is a rollback or " +
      "a restart, the release that it repeated counts instead.",
  ),
  message: messageField.optional(),
} as const;

export const rollbackPlanFields = { name: rollbackFields.name, release: rollbackFields.release } as const;

export const restartFields = { name: anyName("The deployment.") } as const;

export const fireFields = { name: anyName("The deployment whose schedule to run.") } as const;

/** Parses the names of variables. Accepts any text, because the request fails for a variable that is not set. */
const readVariableNames = (raw: unknown): { readonly value: readonly string[]; readonly issues: readonly Issue[] } =>
  Array.isArray(raw) && raw.every((name) => typeof name === "string")
    ? { value: [...new Set(raw)], issues: [] }
    : { value: [], issues: [issue([], 'must be a list of names such as ["LOG_LEVEL"]', "value_error")] };

export const setEnvironmentFields = {
  name: anyName("The deployment."),
  set: jsonField<DeclaredVariables, VariableValues | null | undefined>(
    (raw) => {
      const { env, secrets, issues } = readEnvironment(raw ?? {});
      return { value: { env, secrets }, issues };
    },
    {
      description: "The variables to set, each with its value. The other variables keep their values.",
      examples: [{ LOG_LEVEL: "debug" }],
      type: ["object", "null"],
      additionalProperties: variableShape,
    },
  ),
  unset: jsonField<readonly string[], readonly string[] | null | undefined>((raw) => readVariableNames(raw ?? []), {
    description: "The names of the variables to remove.",
    examples: [[]],
    type: ["array", "null"],
    items: { type: "string" },
  }),
} as const;

const ONE_DEPLOYMENT = "List only the deploys of this deployment; defaults to all deployments.";

export const listDeploysFields = {
  name: anyName(ONE_DEPLOYMENT).nullable().optional().meta({ description: ONE_DEPLOYMENT }),
  limit: integerField(deployListLimits, "The maximum number of deploys."),
} as const;

export const cancelFields = { deploy_id: text("The deploy to cancel.", 64, ANY_ID) } as const;

export const resumeFields = {
  deploy_id: text("The deploy to follow.", 64, ANY_ID),
  after: integerField({ min: 0, default: 0 }, "The `seq` of the last record received; 0 for all records."),
} as const;

/** @param parse returns undefined if the text is not valid */
const dateTime = <T>(parse: (text: string) => T | undefined, description: string, example: string) =>
  readField<T>(
    (text) => {
      const value = parse(text);
      return value === undefined
        ? {
            problem: "must be an RFC 3339 date-time with an offset, such as '2026-01-31T09:00:00Z'",
            type: "datetime_parsing",
          }
        : { value };
    },
    description,
    [example],
  );

const logPosition = (description: string, example: string) =>
  dateTime<LogPosition>(parseCursor, description, example).nullable().optional();

const logSearchFields = {
  deployment_name: anyName("The deployment."),
  since: logPosition("Search entries after this date-time or cursor.", "2026-01-31T09:00:00Z"),
  until: logPosition("Search entries up to and including this date-time or cursor.", "2026-01-31T10:00:00Z"),
  query: z
    .string({ error: "must be a string" })
    .max(logLimits.filterChars, `must be at most ${logLimits.filterChars} characters`)
    .nullable()
    .optional()
    .meta({ description: "A filter in the Cloud Logging query language.", examples: ["severity>=ERROR"] }),
} as const;

export const logsFields = {
  ...logSearchFields,
  limit: integerField(fieldLimits.logs, "The maximum number of entries."),
  order: z
    .enum(["asc", "desc"], { error: "must be 'asc' or 'desc'" })
    .default("asc")
    .meta({ description: "`asc` returns the oldest entry first, `desc` the newest." }),
  wait: integerField(
    { min: 0, max: logLimits.waitSeconds, default: 0 },
    "The seconds to wait for an entry if none matches. Requires ascending order without `until`.",
  ),
  full: booleanField(false, "Whether each entry of the response has the member `entry`."),
} as const;

export const logHistogramFields = {
  ...logSearchFields,
  buckets: integerField({ min: 1, max: logLimits.buckets, default: 60 }, "The maximum number of buckets."),
} as const;

export const logValuesFields = {
  ...logSearchFields,
  field: z
    .string({ error: "must be a string" })
    .max(1000, "must be at most 1000 characters")
    .nullable()
    .optional()
    .meta({
      description: "The only field to list, as in a filter. Absent: all fields.",
      examples: ["jsonPayload.user"],
    }),
  prefix: z
    .string({ error: "must be a string" })
    .max(200, "must be at most 200 characters")
    .default("")
    .meta({ description: "List only values that begin with this text, in any letter case." }),
  limit: integerField({ min: 1, max: 100, default: 20 }, "The maximum number of values of a field."),
} as const;

const instant = (description: string) => dateTime<Instant>(parseInstant, description, "2026-01-31T09:00:00Z");

const COST_SINCE = `The start of the period; defaults to ${costLimits.defaultDays} days before \`until\`.`;
const COST_UNTIL = "The exclusive end of the period; defaults to now.";

export const costFields = {
  since: instant(COST_SINCE).nullable().optional().meta({ description: COST_SINCE }),
  until: instant(COST_UNTIL).nullable().optional().meta({ description: COST_UNTIL }),
  by: readField<CostKey>(
    (text) => {
      const key = costKeys.find((one) => one === text);
      return key === undefined
        ? {
            problem: `must be ${costKeys.slice(0, -1).join(", ")} or ${costKeys.at(-1)}; got '${text}'`,
            type: "value_error",
          }
        : { value: key };
    },
    "The key that groups the costs.",
    ["day"],
    { pattern: `^(${costKeys.join("|")})$` },
  ).default("deployment"),
} as const;

const METRIC_NAMES = "The deployments, separated by commas; defaults to all deployments.";
const METRIC_SINCE = "The start of the series; defaults to an hour ago.";

export const metricsFields = {
  names: readField<readonly DeploymentName[] | null>(
    (text) => {
      const names = text.split(",").map((name) => normalizeDeploymentName(name.trim()) as DeploymentName);
      return { value: text === "" ? null : [...new Set(names)] };
    },
    METRIC_NAMES,
    ["my-app,other-app"],
  )
    .nullable()
    .optional()
    .meta({ description: METRIC_NAMES }),
  since: instant(METRIC_SINCE).nullable().optional().meta({ description: METRIC_SINCE }),
  step: parsedField<number | null, number | null>(
    (raw) => {
      const value = typeof raw === "string" && /^\d{1,6}$/.test(raw) ? Number(raw) : raw;
      if (value === null || value === "") return ok(null);
      return typeof value === "number" && value >= 60 && value <= 86_400 && value % 60 === 0
        ? ok(value)
        : err([issue([], "must be a multiple of 60 seconds, up to 86400", "value_error")]);
    },
    {
      description: "The length of a step in seconds: a multiple of 60. Defaults to a length with at most 120 steps.",
      examples: [300],
      type: ["integer", "null"],
      minimum: 60,
      maximum: 86_400,
      multipleOf: 60,
    },
  ).optional(),
} as const;

export const sqlFields = {
  query: text("One SELECT over `logs` and `billing`, in GoogleSQL.", sqlLimits.chars, "SELECT COUNT(*) AS n FROM logs"),
} as const;

export const createKeyFields = { label: text("The purpose of the key, shown in lists.", 100, "laptop") } as const;

const secretText = (description: string, example: string) =>
  text(description, 200, example)
    .nullable()
    .optional()
    .meta({ description, examples: [example], writeOnly: true });

export const signInFields = {
  link: secretText(
    "The token of a link from `POST /v1/console/link`, which is the part of the URL after `#link=`.",
    "3n0Vq8Zb5wKx2LrT7cYf1HsJ9mDpG4aE6uQiRoWtXyB",
  ),
  key: secretText("An API key.", "psk_4kTq0ZxNfV7bLr2yWm9sHd3cGj6pXa8eUi1oRnBt"),
} as const;

export const revokeSessionFields = { id: text("The session's id.", 64, ANY_ID) } as const;

export const revokeKeyFields = { id: text("The key's id.", 64, ANY_ID) } as const;

/** Accepts any text, like `anyName`. */
const anyVolume = (description: string) =>
  readField<VolumeName>((name) => ({ value: name as VolumeName }), description, ["my-volume"]);

const newVolume = readField<VolumeName>(
  (name) => {
    const problem = volumeNameProblem(name);
    return problem === undefined ? { value: name as VolumeName } : { problem, type: "string_pattern_mismatch" };
  },
  "1 to 40 characters: a-z, 0-9 and '-'. Must start with a letter or digit and must not end with '-'.",
  ["my-volume"],
  volumeNameShape,
);

const objectPath = readField<ObjectPath>(
  (path) => {
    const problem = objectPathProblem(path);
    return problem === undefined ? { value: path as ObjectPath } : { problem, type: "value_error" };
  },
  "The path of the object, relative, with '/' as separator.",
  ["reports/2026.csv"],
  objectPathShape,
);

const anyText = (description: string) => z.string({ error: "must be a string" }).meta({ description });

export const createVolumeFields = { name: newVolume } as const;

export const deleteVolumeFields = { name: anyVolume("The volume to delete.") } as const;

export const restoreVolumeFields = {
  name: anyVolume("The volume to restore."),
  id: anyText("The id from the trash; defaults to the most recently deleted volume of that name.")
    .nullable()
    .optional(),
} as const;

const folderDelimiter = readField<"" | typeof FOLDER_DELIMITER>(
  (text) =>
    text === "" || text === FOLDER_DELIMITER
      ? { value: text }
      : { problem: `must be '${FOLDER_DELIMITER}'; omit it to list the objects of all folders`, type: "value_error" },
  "With `/`, the response has the folders directly below the prefix instead of the objects in them.",
  [FOLDER_DELIMITER],
  { pattern: "^/?$" },
);

export const objectsFields = {
  volume: anyVolume("The volume."),
  prefix: anyText("List only paths that start with this prefix.").default(""),
  delimiter: folderDelimiter.default(""),
  page_token: anyText("The `next_page_token` of the previous page.").default(""),
  limit: integerField(fieldLimits.objects, "The maximum number of objects and folders."),
} as const;

export const objectFields = { volume: anyVolume("The volume of the object."), path: objectPath } as const;

export const uploadFields = {
  volume: anyVolume("The volume to upload to."),
  object: objectPath.optional(),
  path: objectPath.optional().meta({ description: "An alias of `object`." }),
  size: integerField({ min: 0, default: 0 }, "The size of the object in bytes; 0 if unknown."),
  resumable: booleanField(
    false,
    "Whether to upload in parts, so that an interrupted upload can resume. Requires `size`.",
  ),
} as const;

export const resumeUploadFields = {
  upload_id: z
    .string({ error: ({ input }) => (input === undefined ? "is required" : "must be a string") })
    .meta({ description: "The `upload_id` of the upload.", examples: ["WyJteS12b2x1bWUiXQ"] }),
} as const;

const secretName = (description: string) =>
  readField<SecretName>(
    (name) => {
      const problem = secretNameProblem(name);
      return problem === undefined ? { value: name as SecretName } : { problem, type: "string_pattern_mismatch" };
    },
    description,
    ["STRIPE_KEY"],
    secretNameShape,
  );

export const setSecretFields = {
  name: secretName("1 to 63 characters: letters, digits, '_' and '-'. Must start with a letter."),
  value: parsedField<string, string>(parseSecretValue, {
    description: "The value: 1 byte to 64 KiB of UTF-8 without null bytes. No response contains it.",
    examples: ["sk_live_4eC39HqLyjWDarjtT1zdp7dc"],
    type: "string",
    minLength: 1,
    maxLength: secretLimits.valueBytes,
    writeOnly: true,
  }),
  redeploy: booleanField(
    true,
    "Whether to redeploy the deployments that use the secret without a fixed version, so that they get the newest one.",
  ),
} as const;

const optionalVersion = parsedField<number | null, number | null>(
  (raw) => {
    if (raw === null || raw === "") return ok(null);
    const value = typeof raw === "string" && /^\d{1,15}$/.test(raw) ? Number(raw) : raw;
    return typeof value === "number" && Number.isSafeInteger(value) && value > 0
      ? ok(value)
      : err([issue([], "must be the number of a version, such as 2", "int_parsing")]);
  },
  {
    description: "The version to delete. Omit it to delete the secret with all its versions.",
    examples: [2],
    type: ["integer", "null"],
    minimum: 1,
  },
).optional();

/** Accepts any text as the name, because a lookup of an invalid name finds nothing. */
export const deleteSecretFields = {
  name: readField<SecretName>((name) => ({ value: name as SecretName }), "The secret.", ["STRIPE_KEY"]),
  version: optionalVersion,
} as const;

const domainField = (description: string) =>
  readField<DomainName>(
    (text) =>
      parseDomainName(text).match(
        (value) => ({ value }),
        (problem) => ({ problem, type: "string_pattern_mismatch" as const }),
      ),
    description,
    ["app.example.com"],
    domainShape,
  );

export const addDomainFields = {
  domain: domainField("The domain, without a scheme, port or path. Wildcards are not supported."),
  name: anyName("The deployment that serves the domain."),
} as const;

export const domainFields = { domain: domainField("The domain.") } as const;
