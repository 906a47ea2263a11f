/** The project file `portside.json`. It contains the fields of a deploy and follows the same rules as a request. */
import { z } from "zod";
import { parseScheduleField } from "../schedules/schedule.ts";
import { parsedField, parseFields } from "../wire/fields.ts";
import { type Issue, issue } from "../wire/issue.ts";
import { deployFields, serviceFields } from "./fields.ts";

const schedule = parsedField(parseScheduleField, {
  description: "When the platform calls the service.",
  type: "object",
  properties: {
    cron: { type: "string", description: "Five-field cron expression.", examples: ["0 9 * * 1-5"] },
    timezone: { type: "string", description: "IANA time zone; defaults to UTC.", examples: ["Europe/Paris"] },
  },
  required: ["cron"],
  additionalProperties: false,
}).optional();

export const projectFields = {
  $schema: z.string().optional().meta({ description: "The URL of this schema, for editors." }),
  name: deployFields.function_name,
  ...serviceFields,
  schedule,
  source: z
    .string()
    .min(1, "must not be empty")
    .default(".")
    .meta({ description: "The folder to pack, relative to this file." }),
} as const;

/** The fields of a deploy, by their wire names. Fields that the file omits are absent. */
export interface Project {
  readonly name: string;
  readonly source: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Validates the parsed file. Returns the project, or all rules that the file breaks. */
export const readProject = (raw: unknown): { readonly project?: Project; readonly issues: readonly Issue[] } => {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return { issues: [issue([], 'must be an object such as {"name": "my-app", "volumes": {}}', "dict_type")] };
  const given = raw as Readonly<Record<string, unknown>>;
  const parsed = parseFields(projectFields, given);
  if (parsed.isErr()) return { issues: parsed.error };
  const { $schema: _schema, name: _name, source: _source, ...fields } = given;
  return { project: { name: String(given["name"]), source: parsed.value.source, fields }, issues: [] };
};
