/** Schedules by example: accepted and rejected expressions, and the two forms of contract 4.5. */
import { describe, expect, test } from "vitest";
import { type CronFields, isTimeZone, parseCron, readSchedule } from "../../../../core/domain/schedules/schedule.ts";
import { refusedCrons } from "../../../arbitraries/index.ts";

const fieldsOf = (text: string): CronFields => {
  const read = parseCron(text);
  if (typeof read === "string") throw new Error(read);
  return read;
};

const issuesOf = (schedule: unknown, timezone?: unknown) =>
  readSchedule(schedule, timezone).issues.map(({ path, type }) => [path.join("."), type]);

describe("expressions", () => {
  test("a field has values, ranges, steps, lists and names", () => {
    const fields = fieldsOf("*/20 8-10,22 1-9/4 JAN,jun-aug MON-fri");
    expect([...fields.minutes]).toEqual([0, 20, 40]);
    expect([...fields.hours]).toEqual([8, 9, 10, 22]);
    expect([...fields.days]).toEqual([1, 5, 9]);
    expect([...fields.months]).toEqual([1, 6, 7, 8]);
    expect([...fields.weekdays]).toEqual([1, 2, 3, 4, 5]);
  });

  test("Sunday is 0, 7 and SUN", () => {
    for (const sunday of ["0", "7", "SUN"]) expect([...fieldsOf(`0 0 * * ${sunday}`).weekdays]).toEqual([0]);
    expect([...fieldsOf("0 0 * * 5-7").weekdays].sort()).toEqual([0, 5, 6]);
  });

  test("a day field that begins with a star leaves the day to the other field", () => {
    expect(fieldsOf("0 0 1 * MON")).toMatchObject({ anyDay: false, anyWeekday: false });
    expect(fieldsOf("0 0 * * MON")).toMatchObject({ anyDay: true, anyWeekday: false });
    expect(fieldsOf("0 0 1 * *")).toMatchObject({ anyDay: false, anyWeekday: true });
  });

  test.each(["0 0 29 2 *", "0 0 31 1,2 *", "0 0 30 2 MON", "0 0 31 4 1-5", "0 0 29-31 FEB *", "59 23 31 12 7"])(
    "accepts '%s', whose date occurs",
    (cron) => expect(parseCron(cron)).toBeTypeOf("object"),
  );

  test.each(Object.entries(refusedCrons))("rejects '%s': %s", (cron) => expect(parseCron(cron)).toBeTypeOf("string"));

  test("the message names the field and a fix", () => {
    expect(parseCron("* * * *")).toBe(
      "must have five fields (minute hour day month weekday), such as '0 9 * * 1-5'; got 4",
    );
    for (const nothing of ["", "  "]) expect(parseCron(nothing)).toContain("got 0");
    expect(parseCron("0 0 30 2 *")).toBe("the date never occurs: none of these months has this day");
  });

  test.each([
    ["60 * * * *", "minute: '60' is not in the range 0-59"],
    ["0 25 * * *", "hour: '25' is not in the range 0-23"],
    ["0 0 0 * *", "day of month: '0' is not in the range 1-31"],
    ["0 0 1 FOO *", "month: 'FOO' is not in the range 1-12"],
    ["0 0 * * 8", "day of week: '8' is not in the range 0-7"],
    ["1-2-3 * * * *", "minute: '1-2-3' is not a value, a range or a step"],
    ["30-20 * * * *", "minute: the range '30-20' is reversed; write the lower value first"],
    ["5/15 * * * *", "minute: the step '5/15' needs a range before it, such as '5-59/15'"],
    ["*/60 * * * *", "minute: the step '60' is not in the range 1-59"],
    ["*/5x * * * *", "minute: the step '5x' is not in the range 1-59"],
  ])("the message for '%s'", (cron, words) => expect(parseCron(cron)).toBe(words));

  test("ignores spaces around an expression", () => {
    expect(parseCron("  0 9 * * 1-5\n")).toEqual(parseCron("0 9 * * 1-5"));
  });
});

describe("time zones", () => {
  test.each(["UTC", "Europe/Paris", "America/Argentina/Buenos_Aires", "Etc/GMT+5"])("accepts %s", (zone) =>
    expect(isTimeZone(zone)).toBe(true),
  );
  test.each(["", "Mars/Olympus", "+02:00", "UTC+2", "Europe/Paris ", "Europe/Paris\n", "__proto__"])(
    "rejects %j",
    (zone) => expect(isTimeZone(zone)).toBe(false),
  );
});

describe("the two forms", () => {
  const paris = { cron: "0 9 * * 1-5", timezone: "Europe/Paris" };

  test.each<[string, unknown, unknown]>([
    ["text, zone in its own field", "0 9 * * 1-5", "Europe/Paris"],
    ["text with spaces around and between", "  0  9\t* * 1-5\n", "Europe/Paris"],
    ["an object", paris, undefined],
    ["an object with spaces around and between", { ...paris, cron: " 0  9 * * 1-5 " }, undefined],
    ["an object and an empty zone field", paris, ""],
    ["an object and an equal zone field", paris, "Europe/Paris"],
    ["an object without a zone, zone in its own field", { cron: "0 9 * * 1-5" }, "Europe/Paris"],
    ["an object whose zone is empty", { cron: "0 9 * * 1-5", timezone: "" }, "Europe/Paris"],
    ["JSON text", JSON.stringify(paris), ""],
  ])("%s", (_form, schedule, timezone) =>
    expect(readSchedule(schedule, timezone)).toEqual({ value: paris, issues: [] }),
  );

  test("the zone defaults to UTC", () => {
    expect(readSchedule("0 9 * * *", undefined).value).toEqual({ cron: "0 9 * * *", timezone: "UTC" });
    expect(readSchedule({ cron: "0 9 * * *", timezone: null }, null).value?.timezone).toBe("UTC");
  });

  test.each([[undefined], [null], [""], ["  "], ["null"], [{}], ["{}"], [" {} "]])(
    "%j removes the schedule",
    (schedule) => expect(readSchedule(schedule, undefined)).toEqual({ value: null, issues: [] }),
  );

  test("without a schedule the zone is checked, then dropped", () => {
    expect(readSchedule("", "Europe/Paris")).toEqual({ value: null, issues: [] });
    expect(issuesOf("", "Mars/Olympus")).toEqual([["timezone", "value_error"]]);
  });
});

describe("rejected values and the field of the issue", () => {
  test.each<[unknown, unknown, [string, string][]]>([
    ["@daily", "", [["schedule", "value_error"]]],
    [{ cron: "@daily" }, "", [["schedule.cron", "value_error"]]],
    ['{"cron": "@daily"}', "", [["schedule.cron", "value_error"]]],
    [' {"cron": "@daily"}', "", [["schedule.cron", "value_error"]]],
    [{ timezone: "UTC" }, "", [["schedule.cron", "missing"]]],
    [{ cron: 5 }, "", [["schedule.cron", "string_type"]]],
    [{ cron: "0 9 * * *", timezone: 5 }, "", [["schedule.timezone", "string_type"]]],
    [{ cron: "0 9 * * *", timezone: "Mars" }, "", [["schedule.timezone", "value_error"]]],
    [{ cron: "0 9 * * *", tz: "UTC" }, "", [["schedule.tz", "extra_forbidden"]]],
    ['{"cron": "0 9 * * *"', "", [["schedule", "json_invalid"]]],
    ['{"cron": "0 9 * * *", "cron": "0 8 * * *"}', "", [["schedule", "json_invalid"]]],
    [5, "", [["schedule", "string_type"]]],
    [["0 9 * * *"], "", [["schedule", "string_type"]]],
    ["0 9 * * *", 5, [["timezone", "string_type"]]],
    ["0 9 * * *", "Mars", [["timezone", "value_error"]]],
    [{ cron: "0 9 * * *", timezone: "Europe/Paris" }, "Europe/Berlin", [["timezone", "value_error"]]],
    [
      "@daily",
      "Mars",
      [
        ["schedule", "value_error"],
        ["timezone", "value_error"],
      ],
    ],
  ])("schedule %j, timezone %j", (schedule, timezone, expected) =>
    expect(issuesOf(schedule, timezone)).toEqual(expected),
  );
});

test("the message states what the field must be", () => {
  const messagesOf = (schedule: unknown, timezone?: unknown) =>
    readSchedule(schedule, timezone).issues.map(({ message }) => message);
  expect(messagesOf(5)).toEqual(["must be a cron expression or {cron, timezone}"]);
  expect(messagesOf({ timezone: "UTC" })).toEqual(["is required"]);
  expect(messagesOf({ cron: 5, timezone: 5 })).toEqual(["must be a string", "must be a string"]);
  expect(messagesOf({ cron: "0 9 * * *", tz: "UTC" })).toEqual([
    "unknown field 'tz'; a schedule has cron and timezone",
  ]);
  expect(messagesOf("0 9 * * *", 5)).toEqual(["must be an IANA time zone such as 'Europe/Paris'"]);
  expect(messagesOf("0 9 * * *", "Mars")).toEqual(["'Mars' is not an IANA time zone; try 'UTC' or 'Europe/Paris'"]);
  expect(messagesOf({ cron: "0 9 * * *", timezone: "Europe/Paris" }, "Europe/Berlin")).toEqual([
    "is 'Europe/Berlin', but the schedule has 'Europe/Paris'; keep one",
  ]);
});

test("a conflict of time zones is reported even if the cron expression or a zone is invalid", () => {
  expect(issuesOf({ cron: "@daily", timezone: "Europe/Paris" }, "Mars")).toEqual([
    ["schedule.cron", "value_error"],
    ["timezone", "value_error"],
    ["timezone", "value_error"],
  ]);
});
