/** Schedules that the platform must reject because of the expression, the time zone, or the combination of both. */
import fc from "fast-check";
import { type Fault, fault, jsonFault } from "./fault.ts";

/** Cron expressions that must be rejected although some cron implementations accept them, with the reason for each. */
export const refusedCrons: Readonly<Record<string, string>> = {
  "* * * *": "four fields",
  "* * * * * *": "six fields: seconds or years",
  "@daily": "a nickname",
  "@every 5m": "a nickname",
  "60 * * * *": "a minute above 59",
  "* 24 * * *": "an hour above 23",
  "* * 0 * *": "days begin with 1",
  "* * 32 * *": "a day above 31",
  "* * * 0 *": "months begin with 1",
  "* * * 13 *": "a month above 12",
  "* * * * 8": "a weekday above 7",
  "* * * FOO *": "an unknown month name",
  "* * * * JAN": "a month where a weekday belongs",
  "MON * * * *": "a name where numbers belong",
  "* * * * MONDAY": "a full weekday name",
  "-1 * * * *": "a negative number",
  "1.5 * * * *": "a fraction",
  "001 * * * *": "three digits",
  "5-1 * * * *": "a descending range",
  "* * * * FRI-MON": "a descending range",
  "1-2-3 * * * *": "a range with three bounds",
  "5/15 * * * *": "a step without a range",
  "*/0 * * * *": "a step of zero",
  "*/60 * * * *": "a step above the maximum of the field",
  "*/5x * * * *": "a step that is not a number",
  "*/x5 * * * *": "a step that is not a number",
  "*/5/5 * * * *": "two steps",
  "*/ * * * *": "a missing step",
  "1- * * * *": "a range without an end",
  "1,,2 * * * *": "an empty part of a list",
  "1, * * * *": "an empty part of a list",
  "? * * * *": "Quartz",
  "* * L * *": "Quartz: the last day",
  "* * 15W * *": "Quartz: the nearest weekday",
  "* * * * 5#3": "Quartz: the third Friday",
  "* * * * 5L": "Quartz: the last Friday",
  "H * * * *": "Jenkins",
  "* * ** * *": "two stars",
  "*-5 * * * *": "a range that starts with a star",
  "0 0 30 2 *": "a date that never occurs",
  "0 0 31 2,4,6,9,11 *": "a date that never occurs",
  "0 0 30-31 FEB *": "a date that never occurs",
  "0 0 30 2 */2": "a date that never occurs, on any weekday",
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
