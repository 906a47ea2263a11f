/** Schedules that contract 4.5 refuses, alone or together with their time zone. */
import fc from "fast-check";
import { type Fault, fault, jsonFault } from "./fault.ts";

/** Expressions that some cron takes and this one does not, with the reason for each. */
export const refusedCrons: Readonly<Record<string, string>> = {
  "* * * *": "four fields",
  "* * * * * *": "six fields: seconds or years",
  "@daily": "a nickname",
  "@every 5m": "a nickname",
  "60 * * * *": "a minute past the hour",
  "* 24 * * *": "an hour past the day",
  "* * 0 * *": "days begin with 1",
  "* * 32 * *": "no month is so long",
  "* * * 0 *": "months begin with 1",
  "* * * 13 *": "no such month",
  "* * * * 8": "no such weekday",
  "* * * FOO *": "no such month",
  "* * * * JAN": "a month where a weekday belongs",
  "MON * * * *": "a name where numbers belong",
  "* * * * MONDAY": "a name written out",
  "-1 * * * *": "a negative number",
  "1.5 * * * *": "a fraction",
  "001 * * * *": "three digits",
  "5-1 * * * *": "a range that runs backwards",
  "* * * * FRI-MON": "a range that runs backwards",
  "1-2-3 * * * *": "a range of three",
  "5/15 * * * *": "a step without a range",
  "*/0 * * * *": "a step of nothing",
  "*/60 * * * *": "a step past the field",
  "*/5x * * * *": "a step that is no number",
  "*/x5 * * * *": "a step that is no number",
  "*/5/5 * * * *": "two steps",
  "*/ * * * *": "a step that is missing",
  "1- * * * *": "a range without its end",
  "1,,2 * * * *": "an empty part of a list",
  "1, * * * *": "an empty part of a list",
  "? * * * *": "Quartz",
  "* * L * *": "Quartz: the last day",
  "* * 15W * *": "Quartz: the nearest weekday",
  "* * * * 5#3": "Quartz: the third Friday",
  "* * * * 5L": "Quartz: the last Friday",
  "H * * * *": "Jenkins",
  "* * ** * *": "two stars",
  "*-5 * * * *": "a range from a star",
  "0 0 30 2 *": "a date that never comes",
  "0 0 31 2,4,6,9,11 *": "a date that never comes",
  "0 0 30-31 FEB *": "a date that never comes",
  "0 0 30 2 */2": "a date that never comes, whatever the weekday",
};

const refused = fc.constantFrom(...Object.keys(refusedCrons));
const noZone = fc.constantFrom("Mars/Olympus", "Europe", "+02:00", "UTC+2", "Europe/Paris ", "0", "..", "__proto__");

export const brokenSchedules: readonly Fault[] = [
  fault("schedule", "value_error", refused),
  fault(
    "schedule",
    "value_error",
    refused.map((cron) => ({ cron })),
  ),
  fault("schedule", "missing", fc.constant({ timezone: "UTC" })),
  fault(
    "schedule",
    "string_type",
    fc.constantFrom<unknown>(5, null, [], {}).map((cron) => ({ cron })),
  ),
  fault(
    "schedule",
    "string_type",
    fc.constantFrom<unknown>(5, [], {}).map((zone) => ({ cron: "0 9 * * *", timezone: zone })),
  ),
  fault(
    "schedule",
    "extra_forbidden",
    fc.constantFrom("tz", "every", "__proto__").map((key) =>
      Object.fromEntries([
        ["cron", "0 9 * * *"],
        [key, "x"],
      ]),
    ),
  ),
  fault("schedule", "json_invalid", fc.constantFrom("{", '{"cron": }', '{"cron":"0 9 * * *","cron":"0 10 * * *"}')),
  jsonFault("schedule", "string_type", fc.constantFrom<unknown>(5, true, [], ["0 9 * * *"])),
  {
    ...fault("schedule", "value_error", fc.constant(undefined)),
    fields: noZone.map((timezone) => ({ schedule: { cron: "0 9 * * *", timezone }, timezone: "" })),
  },
  fault("timezone", "value_error", noZone),
  jsonFault("timezone", "string_type", fc.constantFrom<unknown>(5, true, [], {})),
  {
    ...fault("timezone", "value_error", fc.constant(undefined)),
    fields: fc.constant({ schedule: { cron: "0 9 * * *", timezone: "Europe/Paris" }, timezone: "Europe/Berlin" }),
  },
];
