/** Printing and parsing a filter are inverses, and any text is a filter or a problem with a position. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../../core/domain/logs/filter/print.ts";
import { logFilter, nastyString } from "../../../../arbitraries/index.ts";
import { runs } from "../../../../support/vitest/runs.ts";

const parse = (text: string) => parseLogFilter(text, compileRe2);

test("a printed filter parses to the same filter", () => {
  fc.assert(
    fc.property(logFilter(), (filter) => {
      expect(parse(printLogFilter(filter))._unsafeUnwrap()).toEqual(filter);
    }),
    runs(1000),
  );
});

/** Tokens of the language in any order: often a filter, often nearly one. */
const pieces = () =>
  fc
    .array(
      fc.oneof(
        fc.constantFrom("(", ")", "AND", "OR", "NOT", "-", "=", ":", "=~", ">=", ",", "*", "--", "\n", " ", '"', "\\"),
        fc.constantFrom(
          "severity",
          "ERROR",
          "jsonPayload.a",
          'labels."a/b"',
          "timestamp",
          "2026-01-01T00:00:00Z",
          "1.5",
        ),
        fc.constantFrom('"x"', "NULL_VALUE", "log_id(", "sample(", "[", "+"),
        nastyString(),
      ),
      { maxLength: 12 },
    )
    .chain((parts) => fc.constantFrom("", " ").map((between) => parts.join(between)));

test("any text is a filter that survives printing, or a problem at a position in it", () => {
  let good = 0;
  fc.assert(
    fc.property(pieces(), (text) => {
      const read = parse(text);
      if (read.isOk()) {
        good++;
        expect(parse(printLogFilter(read.value))._unsafeUnwrap()).toEqual(read.value);
      } else {
        expect(read.error.message).not.toBe("");
        expect(read.error.at).toBeGreaterThanOrEqual(0);
        expect(read.error.at).toBeLessThanOrEqual(text.length);
      }
    }),
    runs(3000),
  );
  expect(good).toBeGreaterThan(runs(200).numRuns);
});

test("white space and comments between terms mean AND", () => {
  const gap = fc.constantFrom(" ", "\n", "\t", ' -- a comment ( with " in it\n', "\r\n");
  fc.assert(
    fc.property(fc.array(logFilter(), { minLength: 1, maxLength: 3 }), gap, (filters, between) => {
      const terms = filters.map((filter) => `(${printLogFilter(filter)})`);
      expect(parse(terms.join(between))).toEqual(parse(terms.join(" AND ")));
    }),
    runs(300),
  );
});

test("invisible characters print as escapes, even above U+FFFF", () => {
  const filter = parse('"\\U000e0001"')._unsafeUnwrap();
  expect(filter).toEqual({ kind: "search", text: "\u{e0001}" });
  expect(printLogFilter(filter)).toBe('"\\U000e0001"');
});
