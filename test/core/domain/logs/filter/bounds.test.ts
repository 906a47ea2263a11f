/** The lower time bound of a filter (contract 4.6): the required terms `timestamp >` and `>=`. */
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import { before, behind } from "../../../../../core/domain/logs/cursor.ts";
import { lowerBound } from "../../../../../core/domain/logs/filter/bounds.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { type Instant, parseInstant } from "../../../../../core/domain/wire/instant.ts";

const boundOf = (text: string) => lowerBound(parseLogFilter(text, compileRe2)._unsafeUnwrap());
const noon = parseInstant("2026-01-01T12:00:00Z") as Instant;

test.each([
  ['timestamp>="2026-01-01T12:00:00Z"', before(noon)],
  ['timestamp>"2026-01-01T12:00:00Z"', behind(noon)],
  ['a timestamp>"2026-01-01" timestamp>="2026-01-01T12:00:00Z" timestamp>"2025-01-01"', before(noon)],
  ['timestamp>="2026-01-01T12:00:00Z" timestamp>"2026-01-01T12:00:00Z"', behind(noon)],
  ['timestamp="2026-01-01T12:00:00Z"', undefined],
  ['timestamp:"2026-01-01T12:00:00Z"', undefined],
  ['timestamp!="2026-01-01T12:00:00Z"', undefined],
  ['timestamp<="2026-01-01T12:00:00Z"', undefined],
  ['timestamp>"2026-01-01" OR a', undefined],
  ['NOT timestamp<"2026-01-01"', undefined],
  ['jsonPayload.timestamp>"2026-01-01"', undefined],
])("%s", (text, place) => expect(boundOf(text)).toEqual(place));
