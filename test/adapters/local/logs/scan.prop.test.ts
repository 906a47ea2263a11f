/** SQL excludes only rows that cannot match: a search in a file finds exactly what the predicate finds. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LogFile } from "../../../../adapters/local/logs/log-file.ts";
import { rowOf } from "../../../../adapters/local/logs/rows.ts";
import { count, type LogSearch, scan } from "../../../../adapters/local/logs/scan.ts";
import { whereClause } from "../../../../adapters/local/logs/where-clause.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import {
  behind,
  comparePositions,
  justBefore,
  type LogPosition,
  ordinalCode,
} from "../../../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../../core/domain/logs/filter/match.ts";
import { bucketOf, edgesUpTo } from "../../../../core/domain/logs/histogram.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { logEntry, logFilter, logInstant } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-scan-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Entries at unique positions, in order. */
const entries = () =>
  fc
    .uniqueArray(logEntry(), {
      minLength: 5,
      maxLength: 30,
      selector: ({ instant, code }) => `${instant}.${code}`,
    })
    .map((all) => all.toSorted(comparePositions));

let files = 0;
const fileWith = (all: readonly LogEntry[]): string => {
  const path = join(folder, `${files++}.sqlite`);
  const file = new LogFile(path);
  expect(file.write(all.map(rowOf))).toEqual([]);
  file.close();
  return path;
};

type Asked = Pick<LogSearch, "query" | "position" | "backwards">;

/** The expected result of a search, by checking every entry. */
const wanted = (all: readonly LogEntry[], { query, position, backwards }: Asked) => {
  const { filter, limit, until } = query;
  const visible = all.filter(({ instant }) => until === undefined || instant <= until);
  const matches = visible.filter(matcherOf(filter, compileRe2));
  if (position === undefined) return { entries: matches.slice(-limit), seen: visible.at(-1) };
  if (backwards) {
    const entries = matches.filter((one) => comparePositions(one, position) <= 0).slice(-limit);
    return { entries, seen: entries.length < limit ? undefined : justBefore(entries[0] as LogEntry) };
  }
  const isBehind = (one: LogEntry | undefined) => one !== undefined && comparePositions(one, position) > 0;
  const entries = matches.filter(isBehind).slice(0, limit);
  const last = entries.length < limit ? visible.at(-1) : entries.at(-1);
  return { entries, seen: isBehind(last) ? last : undefined };
};

const asked = (): fc.Arbitrary<Asked> =>
  fc
    .record({
      filter: logFilter(),
      limit: fc.integer({ min: 1, max: 30 }),
      until: fc.option(logInstant(), { nil: undefined, freq: 2 }),
      from: fc.option(logInstant(), { nil: undefined }),
      backwards: fc.boolean(),
    })
    .map(({ filter, limit, until, from, backwards }) => ({
      query: { filter, limit, timeoutMs: 60_000, ...(until === undefined ? {} : { until }) },
      ...(from === undefined ? {} : { position: behind(from), backwards }),
    }));

test("forwards and backwards, from any position, with any limit", () => {
  let [found, pushed] = [0, 0];
  fc.assert(
    fc.property(entries(), fc.array(asked(), { minLength: 5, maxLength: 20 }), (all, searches) => {
      const path = fileWith(all);
      for (const [index, search] of searches.entries()) {
        const exact =
          search.position !== undefined && index % 2 === 0 ? { position: all[index % all.length] as LogEntry } : {};
        const one = { ...search, ...exact };
        const findings = scan({ path, scope, ...one });
        const { entries, seen } = wanted(all, one);
        expect(findings).toMatchObject({ entries, partial: false });
        expect(findings.entries).toHaveLength(entries.length);
        expect([findings.seen?.instant, findings.seen?.code]).toEqual([seen?.instant, seen?.code]);
        found += entries.length;
        if (whereClause(one.query.filter, scope.service).sql !== "1") pushed++;
      }
    }),
    runs(100),
  );
  // The cases are relevant: many searches find entries, and many use SQL.
  expect(found).toBeGreaterThan(500);
  expect(pushed).toBeGreaterThan(300);
});

/** The counts of the buckets between the edges, by index and severity. */
const bucketCounts = (matches: readonly LogEntry[], edges: readonly LogPosition[]) => {
  const counts: Record<string, number>[] = edges.slice(1).map(() => ({}));
  for (const entry of matches) {
    const sums = counts[bucketOf(edges, entry)];
    if (sums !== undefined) sums[entry.severity] = (sums[entry.severity] ?? 0) + 1;
  }
  return counts;
};

test("counts exactly the matches of each bucket, in one part or in many", () => {
  let [counted, parts, pushed] = [0, 0, 0];
  fc.assert(
    fc.property(
      entries(),
      fc.array(logFilter(), { minLength: 3, maxLength: 6 }),
      fc.uniqueArray(fc.nat(29), { minLength: 1, maxLength: 8 }),
      (all, filters, places) => {
        const path = fileWith(all);
        const inner = places.map((place, n) => {
          const entry = all[place % all.length] as LogEntry;
          return n % 2 === 0 ? { instant: entry.instant, code: entry.code } : behind(entry.instant);
        });
        const edges = [behind(-1n as Instant), ...inner]
          .sort(comparePositions)
          .filter((edge, at, sorted) => at === 0 || comparePositions(edge, sorted[at - 1] as LogPosition) > 0);
        if (edges.length < 2) return;
        for (const filter of filters) {
          const matches = all.filter(matcherOf(filter, compileRe2));
          const whole = count({ path, scope, query: { filter, edges, timeoutMs: 60_000 } });
          expect(whole).toEqual({ counts: bucketCounts(matches, edges) });
          for (let left: readonly LogPosition[] = edges; left.length > 1; parts++) {
            const part = count({ path, scope, query: { filter, edges: left, timeoutMs: -1 } });
            if (part === "damaged") throw new Error("the file is damaged");
            const { seen } = part;
            const isCounted = (one: LogEntry) => seen === undefined || comparePositions(one, seen) > 0;
            expect(part.counts).toEqual(bucketCounts(matches.filter(isCounted), left));
            if (seen === undefined) break;
            expect(comparePositions(seen, left.at(-1) as LogPosition)).toBe(-1);
            left = edgesUpTo(left, seen);
          }
          counted += matches.length;
          if (whereClause(filter, scope.service).exact) pushed++;
        }
      },
    ),
    runs(100),
  );
  // The cases are relevant: many entries match, some counts are in SQL, and many counts have several parts.
  expect(counted).toBeGreaterThan(300);
  expect(pushed).toBeGreaterThan(30);
  expect(parts).toBeGreaterThan(300);
});

test("a search ends at a window border after its timeout, and the next one continues from there", () => {
  const all = Array.from(
    { length: 45_000 },
    (_, n): LogEntry => ({
      ...scope,
      severity: "INFO",
      logName: "stdout",
      text: n % 10_000 === 9_999 ? "needle" : "hay",
      instant: BigInt(n >> 4) as Instant,
      code: ordinalCode(n & 15),
    }),
  );
  const path = fileWith(all);
  const filter = { kind: "search", text: "needle" } as const;
  const query = { filter, limit: 100, timeoutMs: -1 };
  let next = behind(-1n as Instant);
  const found: (string | undefined)[] = [];
  const pages: boolean[] = [];
  for (let more = true; more; more = pages.at(-1) === true) {
    const findings = scan({ path, scope, query, position: next });
    found.push(...findings.entries.map(({ instant, code }) => `${instant}.${Number(code)}`));
    pages.push(findings.partial);
    next = findings.seen ?? next;
  }
  expect(found).toEqual([9_999, 19_999, 29_999, 39_999].map((n) => `${n >> 4}.${n & 15}`));
  expect(pages.filter(Boolean).length).toBeGreaterThan(1);
  const backwards = scan({ path, scope, query });
  expect(backwards).toMatchObject({ partial: true, seen: { instant: BigInt(44_999 >> 4) } });
  const back: (string | undefined)[] = [];
  let position: LogPosition | undefined = behind(BigInt(44_999 >> 4) as Instant);
  let cuts = 0;
  while (position !== undefined) {
    const findings = scan({ path, scope, query, position, backwards: true });
    back.push(...findings.entries.map(({ instant, code }) => `${instant}.${Number(code)}`));
    position = findings.seen;
    if (findings.partial) cuts++;
  }
  expect(back).toEqual(found.toReversed());
  expect(cuts).toBeGreaterThan(1);
});
