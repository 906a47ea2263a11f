/** How lines that services print become entries. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { severityNames } from "../../../core/domain/log-entry.ts";
import { readLine } from "../../../core/domain/log-line.ts";
import { nastyString } from "../../arbitraries/index.ts";
import { runs } from "../../support/runs.ts";

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

  test("on standard error, one without a severity of its own is an error; one with keeps it", () => {
    expect(readLine('{"msg":"x"}', "stderr").severity).toBe("ERROR");
    expect(readLine('{"level":"info"}', "stderr").severity).toBe("INFO");
    expect(readLine('{"severity":"DEFAULT"}', "stderr").severity).toBe("DEFAULT");
  });
});

test("any line becomes an entry with a real severity that can be stored", () => {
  const said = fc.oneof(nastyString(), fc.jsonValue());
  const object = fc.record({ severity: said, level: said }, { requiredKeys: [] }).map((value) => JSON.stringify(value));
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
