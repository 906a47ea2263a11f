/** How Portside turns the lines that services print into entries. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { severityNames } from "../../../../core/domain/logs/entry.ts";
import { readLine } from "../../../../core/domain/logs/line.ts";
import { nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

describe("text", () => {
  test.each(["hello", "", "{", "{not json}", "[1]", '"text"', '{"a":1} and more'])("%j stays text", (line) => {
    expect(readLine(line, "stdout")).toEqual({ severity: "DEFAULT", text: line });
    expect(readLine(line, "stderr")).toEqual({ severity: "ERROR", text: line });
  });
});

describe("JSON objects are structured", () => {
  test.each([
    ['{"severity":"WARNING"}', "WARNING"],
    ['{"severity":"warning","level":"error"}', "WARNING"],
    ['{"level":"info"}', "INFO"],
    ['{"level":"warn"}', "WARNING"],
    ['{"level":"fatal"}', "CRITICAL"],
    ['{"level":"usage"}', "INFO"],
    ['{"level":10}', "DEBUG"],
    ['{"level":20}', "DEBUG"],
    ['{"level":30}', "INFO"],
    ['{"level":40}', "WARNING"],
    ['{"level":50}', "ERROR"],
    ['{"level":60}', "CRITICAL"],
    ['{"level":"weird"}', "DEFAULT"],
    ['{"level":null}', "DEFAULT"],
    ['{"level":{"a":1}}', "DEFAULT"],
    ['{"level":"constructor"}', "DEFAULT"],
    ['{"severity":"__proto__"}', "DEFAULT"],
    ["{}", "DEFAULT"],
  ])("%s is %s", (line, severity) => {
    expect(readLine(line, "stdout")).toEqual({ severity, json: JSON.parse(line) });
  });

  test.each([
    ["DEFAULT", ["default"]],
    ["DEBUG", ["trace", "debug", "verbose"]],
    ["INFO", ["info", "information", "usage"]],
    ["NOTICE", ["notice"]],
    ["WARNING", ["warn", "warning"]],
    ["ERROR", ["error", "err"]],
    ["CRITICAL", ["critical", "crit", "fatal"]],
    ["ALERT", ["alert"]],
    ["EMERGENCY", ["emerg", "emergency"]],
  ])("%s is the severity of the logger levels %j, in any case", (severity, words) => {
    // On standard error, an unknown word would make the entry an error.
    for (const word of words.flatMap((one) => [one, one.toUpperCase()]))
      expect(readLine(JSON.stringify({ level: word }), severity === "ERROR" ? "stdout" : "stderr").severity).toBe(
        severity,
      );
  });

  test("a line on standard error is an error unless it has a severity", () => {
    expect(readLine('{"msg":"x"}', "stderr").severity).toBe("ERROR");
    expect(readLine('{"level":"info"}', "stderr").severity).toBe("INFO");
    expect(readLine('{"severity":"DEFAULT"}', "stderr").severity).toBe("DEFAULT");
  });
});

describe("values that JSON cannot preserve", () => {
  const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}1${"]".repeat(levels - 1)}}`;

  test("an object that nests deeper than a hundred levels is text", () => {
    expect(readLine(nested(100), "stdout").json).toEqual(JSON.parse(nested(100)));
    for (const levels of [101, 8000, 100_000])
      expect(readLine(nested(levels), "stdout")).toEqual({ severity: "DEFAULT", text: nested(levels) });
    const objects = `${'{"a":'.repeat(101)}1${"}".repeat(101)}`;
    expect(readLine(objects, "stderr")).toEqual({ severity: "ERROR", text: objects });
  });

  test("an integer outside the number range becomes text; every other number stays a number", () => {
    const line =
      '{"id":12345678901234567891,"ids":[-9007199254740993,9007199254740991],"x":0.1234567890123456,"y":1e21}';
    expect(readLine(line, "stdout").json).toEqual({
      id: "12345678901234567891",
      ids: ["-9007199254740993", 9007199254740991],
      x: 0.1234567890123456,
      y: 1e21,
    });
  });

  test("white space is dropped around an object, and kept around text", () => {
    expect(readLine('  \t{"level":"warn"}  ', "stdout")).toEqual({ severity: "WARNING", json: { level: "warn" } });
    expect(readLine("  indented ", "stdout").text).toBe("  indented ");
    expect(readLine("   ", "stdout").text).toBe("   ");
  });
});

test("any line becomes a valid entry with a severity", () => {
  const value = fc.oneof(nastyString(), fc.jsonValue());
  const object = fc
    .record({ severity: value, level: value }, { requiredKeys: [] })
    .map((value) => JSON.stringify(value));
  fc.assert(
    fc.property(fc.oneof(nastyString(), object), fc.constantFrom("stdout", "stderr"), (line, stream) => {
      const read = readLine(line, stream);
      expect(severityNames).toContain(read.severity);
      expect(structuredClone(read)).toEqual(read);
      expect((read.text === undefined) !== (read.json === undefined)).toBe(true);
    }),
    runs(500),
  );
});
