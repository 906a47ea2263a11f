/** The work per entry is bounded, because a service may log any line. */
import { expect, test } from "vitest";
import type { LogEntry } from "../../../../core/domain/logs/entry.ts";
import { FieldValues } from "../../../../core/domain/logs/field-values.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";

const valuesOf = (json: object) => {
  const values = new FieldValues({ prefix: "", limit: 10 });
  values.add({
    instant: 1n as Instant,
    code: "0",
    severity: "INFO",
    logName: "stdout",
    json,
  } as unknown as LogEntry);
  return values.list(false).fields.map(({ name }) => name);
};

test("omits fields with a path of more than 200 characters, and lists the others", () => {
  const long = "k".repeat(250);
  expect(
    valuesOf({ [long]: { a: 1 }, short: { b: 1 }, deep: { ["d".repeat(120)]: { ["e".repeat(120)]: 1 } } }),
  ).toEqual(expect.arrayContaining(["jsonPayload.short.b"]));
  expect(valuesOf({ [long]: { a: 1 }, short: 1 }).some((name) => name.length > 210)).toBe(false);
});

test("examines at most 1000 leaves of an entry", () => {
  let read = 0;
  const wide = Object.defineProperties(
    {},
    Object.fromEntries(
      Array.from({ length: 5000 }, (_, n) => [
        `k${n}`,
        {
          enumerable: true,
          get: () => ({
            get a() {
              read += 1;
              return n;
            },
          }),
        },
      ]),
    ),
  );
  valuesOf(wide);
  expect(read).toBeLessThanOrEqual(1000);
});
