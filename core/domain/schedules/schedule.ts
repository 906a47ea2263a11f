/**
 * Parses schedules: five-field Unix cron expressions in an IANA time zone.
 *
 * The fields are those of POSIX, with the steps and names of Vixie cron. Other extensions (`@daily`, `L`, `W`, `#`,
 * `?`) are rejected, because cloud schedulers interpret them differently.
 *
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html
 */

import { err, ok, type Result } from "../../result.ts";
import { daysInMonth } from "../wire/instant.ts";
import { type Issue, issue } from "../wire/issue.ts";
import { parseStrictJson } from "../wire/strict-json.ts";

/** A cron expression in a time zone. */
export interface Schedule {
  /** Five fields as the client wrote them, separated by single spaces. */
  readonly cron: string;
  /** An IANA zone. Defaults to `UTC`. */
  readonly timezone: string;
}

interface FieldRule {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly words: readonly string[];
}

const monthWords = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const weekdayWords = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const fieldRules: readonly FieldRule[] = [
  { name: "minute", min: 0, max: 59, words: [] },
  { name: "hour", min: 0, max: 23, words: [] },
  { name: "day of month", min: 1, max: 31, words: [] },
  { name: "month", min: 1, max: 12, words: monthWords },
  { name: "day of week", min: 0, max: 7, words: weekdayWords },
];

const numberOf = (text: string, rule: FieldRule): number | undefined => {
  const word = rule.words.indexOf(text.toUpperCase());
  if (word >= 0) return word + rule.min;
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= rule.min && value <= rule.max ? value : undefined;
};

/** Returns the values of one comma-separated part, or an error message. */
const partValues = (part: string, rule: FieldRule): number[] | string => {
  const range = `${rule.min}-${rule.max}`;
  const [body, stepText, ...rest] = part.split("/") as [string, string?, ...string[]];
  const [lowText, highText, ...more] = body.split("-") as [string, string?, ...string[]];
  if (rest.length > 0 || more.length > 0) return `'${part}' is not a value, a range or a step`;
  const everything = body === "*";
  const low = everything ? rule.min : numberOf(lowText, rule);
  const high = everything ? rule.max : highText === undefined ? low : numberOf(highText, rule);
  if (low === undefined || high === undefined) return `'${part}' is not in the range ${range}`;
  if (low > high) return `the range '${body}' is reversed; write the lower value first`;
  if (stepText === undefined) return Array.from({ length: high - low + 1 }, (_, index) => low + index);
  if (!everything && highText === undefined)
    return `the step '${part}' needs a range before it, such as '${low}-${rule.max}/${stepText}'`;
  const step = /^\d{1,2}$/.test(stepText) ? Number(stepText) : 0;
  if (step < 1 || step > rule.max) return `the step '${stepText}' is not in the range 1-${rule.max}`;
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
};

/** The minutes, hours, days, months and weekdays (0 to 6, from Sunday) at which an expression fires. */
export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** True if the field `day of month` begins with `*`. If neither day field does, a match of one of them is enough. */
  readonly anyDay: boolean;
  /** True if the field `day of week` begins with `*`. */
  readonly anyWeekday: boolean;
}

type Values = Set<number>;

/** Parses a cron expression. Returns an error message (a string) if it is invalid. */
export const parseCron = (text: string): CronFields | string => {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5)
    return `must have five fields (minute hour day month weekday), such as '0 9 * * 1-5'; got ${text.trim() === "" ? 0 : fields.length}`;
  const sets: Values[] = [];
  for (const [index, field] of fields.entries()) {
    const rule = fieldRules[index] as FieldRule;
    const values: Values = new Set();
    for (const part of field.split(",")) {
      const found = partValues(part, rule);
      if (typeof found === "string") return `${rule.name}: ${found}`;
      for (const value of found) values.add(value);
    }
    sets.push(values);
  }
  const [minutes, hours, days, months, weekdays] = sets as [Values, Values, Values, Values, Values];
  if (weekdays.delete(7)) weekdays.add(0);
  const isAny = (index: number) => (fields[index] as string).startsWith("*");
  const fires: CronFields = { minutes, hours, days, months, weekdays, anyDay: isAny(2), anyWeekday: isAny(4) };
  return !fires.anyWeekday || dateOccurs(fires) ? fires : "the date never occurs: none of these months has this day";
};

/** A leap year, so that 29 February is a valid date. */
const LEAP = 2028;

/** Returns false if no selected month has any of the days, such as 30 February. */
export const dateOccurs = ({ days, months }: CronFields): boolean =>
  [...months].some((month) => Math.min(...days) <= daysInMonth(LEAP, month));

/** Returns true for an IANA zone that this runtime supports. Offsets such as `+02:00` are not zones. */
export const isTimeZone = (zone: string): boolean => {
  // The runtime also accepts offsets and may accept other text. The clouds receive the name, so check its characters.
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
};

const zoneIssue = (path: readonly string[], zone: string): Issue =>
  issue(path, `'${zone}' is not an IANA time zone; try 'UTC' or 'Europe/Paris'`, "value_error");

/** The value of the field `schedule`. If its time zone is empty, the field `timezone` determines the time zone. */
export interface DeclaredSchedule {
  readonly cron: string;
  readonly timezone: string;
}

// The parsers below return issues with paths that are relative to their field.

const parseObject = (raw: object): Result<DeclaredSchedule | null, readonly Issue[]> => {
  const keys = Object.keys(raw);
  if (keys.length === 0) return ok(null);
  const issues = keys
    .filter((key) => key !== "cron" && key !== "timezone")
    .map((key) => issue([key], `unknown field '${key}'; a schedule has cron and timezone`, "extra_forbidden"));
  const { cron, timezone }: { readonly cron?: unknown; readonly timezone?: unknown } = raw;
  const zone = timezone ?? "";
  if (cron === undefined) issues.push(issue(["cron"], "is required", "missing"));
  else if (typeof cron !== "string") issues.push(issue(["cron"], "must be a string", "string_type"));
  if (typeof zone !== "string") issues.push(issue(["timezone"], "must be a string", "string_type"));
  return issues.length === 0 && typeof cron === "string" && typeof zone === "string"
    ? ok({ cron, timezone: zone })
    : err(issues);
};

/** Parses a schedule that is text or an object. Does not check the cron expression or the time zone. */
const parseForm = (raw: unknown): Result<DeclaredSchedule | null, readonly Issue[]> => {
  if (raw === undefined || raw === null) return ok(null);
  if (typeof raw === "object" && !Array.isArray(raw)) return parseObject(raw);
  if (typeof raw !== "string") return err([issue([], "must be a cron expression or {cron, timezone}", "string_type")]);
  const text = raw.trim();
  if (text === "" || text === "null") return ok(null);
  if (!text.startsWith("{")) return ok({ cron: text, timezone: "" });
  const json = parseStrictJson(text);
  return json.ok ? parseObject(json.value as object) : err([issue([], json.message, "json_invalid")]);
};

/** Parses the field `schedule` of a deploy: text or an object. Returns null if there is no schedule. */
export const parseScheduleField = (raw: unknown): Result<DeclaredSchedule | null, readonly Issue[]> =>
  parseForm(raw).andThen((form) => {
    if (form === null) return ok(null);
    const { cron, timezone } = form;
    const issues: Issue[] = [];
    const fires = parseCron(cron);
    const isText = typeof raw === "string" && !raw.trim().startsWith("{");
    if (typeof fires === "string") issues.push(issue(isText ? [] : ["cron"], fires, "value_error"));
    if (timezone !== "" && !isTimeZone(timezone)) issues.push(zoneIssue(["timezone"], timezone));
    return issues.length > 0 ? err(issues) : ok({ cron: cron.trim().split(/\s+/).join(" "), timezone });
  });

/** Parses the field `timezone` of a deploy. Returns an empty string if it is absent. */
export const parseTimeZoneField = (raw: unknown): Result<string, readonly Issue[]> => {
  const zone = raw ?? "";
  if (typeof zone !== "string")
    return err([issue([], "must be an IANA time zone such as 'Europe/Paris'", "string_type")]);
  return zone === "" || isTimeZone(zone) ? ok(zone) : err([zoneIssue([], zone)]);
};

/** Returns an issue if the two fields name different time zones. The fields may have other issues too. */
export const timeZoneConflict = (rawSchedule: unknown, rawZone: unknown): readonly Issue[] => {
  const form = parseForm(rawSchedule).unwrapOr(null);
  if (form === null || form.timezone === "" || typeof rawZone !== "string") return [];
  return rawZone === "" || rawZone === form.timezone
    ? []
    : [issue(["timezone"], `is '${rawZone}', but the schedule has '${form.timezone}'; keep one`, "value_error")];
};

/** Combines the values of the fields `schedule` and `timezone`. Defaults to UTC. */
export const scheduleOf = (schedule: DeclaredSchedule | null, zone: string): Schedule | null =>
  schedule === null ? null : { cron: schedule.cron, timezone: schedule.timezone || zone || "UTC" };

const withinField = (field: string, parsed: Result<unknown, readonly Issue[]>): readonly Issue[] =>
  parsed.isOk() ? [] : parsed.error.map((one) => ({ ...one, path: [field, ...one.path] }));

/**
 * Reads the `schedule` and `timezone` fields of a deploy. The schedule may be text or an object. The value is null if
 * there is no schedule; the time zone must be valid even then.
 */
export const readSchedule = (
  rawSchedule: unknown,
  rawZone: unknown,
):
  | { readonly value: Schedule | null; readonly issues: readonly [] }
  | { readonly value?: never; readonly issues: readonly Issue[] } => {
  const schedule = parseScheduleField(rawSchedule);
  const zone = parseTimeZoneField(rawZone);
  const conflict = timeZoneConflict(rawSchedule, rawZone);
  return schedule.isOk() && zone.isOk() && conflict.length === 0
    ? { value: scheduleOf(schedule.value, zone.value), issues: [] }
    : { issues: [...withinField("schedule", schedule), ...withinField("timezone", zone), ...conflict] };
};
