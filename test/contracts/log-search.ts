/** The contract suite of `LogStore` for searching: pages along the cursor, filters, bounds. */
import fc from "fast-check";
import { expect } from "vitest";
import {
  before,
  behind,
  comparePositions,
  cursorOf,
  justBefore,
  LAST,
  type LogPosition,
  parseCursor,
} from "../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import { matcherOf } from "../../core/domain/logs/filter/match.ts";
import { parseLogFilter } from "../../core/domain/logs/filter/parse.ts";
import type { CompilePattern } from "../../core/domain/logs/filter/pattern.ts";
import { everything, type LogFilter } from "../../core/domain/logs/filter/tree.ts";
import type {
  EarlierFindings,
  LogCountQuery,
  LogCounts,
  LogFindings,
  LogQuery,
  LogScope,
} from "../../core/ports/log-store.ts";
import { hostileFilters, logFilter, newLogEntry } from "../arbitraries/index.ts";
import { type ContractCase, pageLimit, type StoreSubject } from "./harness.ts";
import { append, every, line, numbers, scopeOf, texts } from "./log-steps.ts";
import { expectError, expectOk } from "./support.ts";

type Case = ContractCase<StoreSubject>;

const asking = (filter: LogFilter = everything, limit = 1000, timeoutMs = 20_000): LogQuery => ({
  ...every(limit),
  filter,
  timeoutMs,
});

const after = ({ provider }: StoreSubject, scope: LogScope, place: LogPosition, query = asking()) =>
  expectOk(provider.logs.after(scope, place, query));

const newest = ({ provider }: StoreSubject, scope: LogScope, query = asking()) =>
  expectOk(provider.logs.newest(scope, query));

const earlier = ({ provider }: StoreSubject, scope: LogScope, place: LogPosition, query = asking()) =>
  expectOk(provider.logs.before?.(scope, place, query) as NonNullable<ReturnType<typeof provider.logs.after>>);

/** A position before every entry. */
const START = behind(0n as LogPosition["instant"]);

type Counts = LogCounts["counts"];

const count = ({ provider }: StoreSubject, scope: LogScope, query: LogCountQuery) =>
  expectOk(provider.logs.count?.(scope, query) as ReturnType<NonNullable<typeof provider.logs.count>>);

const counting = (): LogCountQuery => ({ filter: everything, edges: [START, LAST], timeoutMs: 20_000 });

/** The counts of the buckets between the edges. */
const bucketsOf = (entries: readonly LogEntry[], edges: readonly LogPosition[]): Counts =>
  edges.slice(1).map((last, index) => {
    const first = edges[index] as LogPosition;
    const isInside = (one: LogEntry) => comparePositions(one, first) > 0 && comparePositions(one, last) <= 0;
    return entries
      .filter(isInside)
      .map(({ severity }) => ({ [severity]: 1 }))
      .reduce<Counts[number]>(sumOf, {});
  });

const sumOf = (one: Counts[number], other: Counts[number] = {}): Counts[number] => {
  const names = Object.keys({ ...one, ...other }) as (keyof Counts[number])[];
  return Object.fromEntries(names.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]));
};

/** The positions in order, each once. */
const distinct = (positions: readonly LogPosition[]): LogPosition[] =>
  [...positions]
    .sort(comparePositions)
    .filter((one, index, all) => index === 0 || comparePositions(one, all[index - 1] as LogPosition) > 0);

/** Reads the page after a position. Checks that every entry is later, and that a partial page makes progress. */
const nextPage = async (...[subject, scope, place, query]: Parameters<typeof after>): Promise<LogFindings> => {
  const findings = await after(subject, scope, place, query);
  for (const entry of findings.entries) expect(comparePositions(entry, place)).toBeGreaterThan(0);
  if (findings.partial) expect(findings.seen && comparePositions(findings.seen, place)).toBe(1);
  return findings;
};

/** Reads pages as a client does: each from the previous page's cursor, in its text form. */
async function* pages(
  subject: StoreSubject,
  scope: LogScope,
  queryOf: (page: number) => LogQuery,
  from = START,
): AsyncGenerator<LogFindings> {
  let place = from;
  const next = pageLimit("A log");
  for (let page = 0; ; page++) {
    next();
    const findings = await nextPage(subject, scope, place, queryOf(page));
    yield findings;
    if (findings.entries.length === 0 && !findings.partial) return;
    place = parseCursor(cursorOf(findings.seen ?? place)) as LogPosition;
  }
}

interface MixedSearch {
  readonly scope: LogScope;
  /** The entries of the scope, in order. */
  readonly all: readonly LogEntry[];
  readonly filter: LogFilter;
  readonly limit: number;
}

/**
 * Calls `check` with random entries and filters. Stores the same entries for another account and another service too.
 */
const amongScopes = (
  subject: StoreSubject,
  numRuns: number,
  check: (search: MixedSearch) => Promise<void>,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      fc.array(newLogEntry(), { minLength: 5, maxLength: 25 }),
      fc.array(logFilter(), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 9 }),
      async (entries, filters, limit) => {
        const scope = scopeOf(subject);
        for (const one of [scope, { ...scope, owner: subject.account() }, { ...scope, service: subject.name() }])
          await append(
            subject,
            entries.map((entry) => ({ ...entry, ...one })),
          );
        const all = (await newest(subject, scope)).entries;
        expect(all).toHaveLength(entries.length);
        for (const filter of filters) await check({ scope, all, filter, limit });
      },
    ),
    { numRuns },
  ) as Promise<void>;

/**
 * Reads backwards, page by page. Checks that no entry is after the position of its page, and that pages make progress.
 */
const followBack = async (
  subject: StoreSubject,
  scope: LogScope,
  queryOf: (page: number) => LogQuery,
  from = LAST,
): Promise<LogEntry[]> => {
  const all: LogEntry[] = [];
  let place = from;
  const next = pageLimit("A log");
  for (let page = 0; ; page++) {
    next();
    const { entries, seen, partial }: EarlierFindings = await earlier(subject, scope, place, queryOf(page));
    for (const entry of entries) expect(comparePositions(entry, place)).toBeLessThanOrEqual(0);
    all.unshift(...entries);
    if (seen === undefined) {
      expect(partial).toBe(false);
      return all;
    }
    expect(comparePositions(seen, place)).toBe(-1);
    place = parseCursor(cursorOf(seen)) as LogPosition;
  }
};

const follow = async (...args: Parameters<typeof pages>): Promise<LogEntry[]> =>
  (await Array.fromAsync(pages(...args))).flatMap(({ entries }) => entries);

/** The generated patterns have the same meaning in RE2 and in JavaScript. */
const compile: CompilePattern = (pattern) => {
  const expression = new RegExp(pattern, "u");
  return (text) => expression.test(text);
};

/** Filters that match no numbered line, and for which most stores must examine every entry. */
const lookingFor: readonly LogFilter[] = [
  { kind: "search", text: "1 1 y" },
  { kind: "not", term: { kind: "search", text: "x" } },
  { kind: "compare", path: ["textPayload"], op: "=~", literal: { text: "^[0-9] [0-9]+ x+y" } },
];

const severe: LogFilter = { kind: "compare", path: ["severity"], op: ">=", literal: { text: "ERROR" } };

/** The contract suite of `LogStore` for searching. */
export const logSearchCases: readonly Case[] = [
  {
    group: "cursor",
    name: "returns each of thousands of entries once, in order, with any limits",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const wanted = numbers(3000);
      for (let at = 0; at < wanted.length; at += 1000)
        await append(
          subject,
          wanted.slice(at, at + 1000).map((text) => line(scope, text)),
        );
      const limits = [1, 2, 7, 100, 999, 1000];
      expect(texts(await follow(subject, scope, (page) => asking(everything, limits[page % limits.length])))).toEqual(
        wanted,
      );
    },
  },
  {
    group: "cursor",
    name: "after any entry, returns exactly the later entries",
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(
        subject,
        numbers(30).map((text) => line(scope, text)),
      );
      const { entries } = await newest(subject, scope);
      for (const [index, entry] of entries.entries())
        expect(texts((await after(subject, scope, entry)).entries)).toEqual(numbers(30).slice(index + 1));
    },
  },
  {
    group: "cursor",
    name: "a plain date-time is the position after every entry of its instant",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const text of numbers(20)) await append(subject, [line(scope, text)]);
      const { entries } = await newest(subject, scope);
      for (const { instant } of entries) {
        const later = entries.filter((one) => one.instant > instant);
        expect(texts((await after(subject, scope, behind(instant))).entries)).toEqual(texts(later));
        const same = entries.filter((one) => one.instant >= instant);
        expect(texts((await after(subject, scope, before(instant))).entries)).toEqual(texts(same));
      }
    },
  },
  {
    group: "cursor",
    name: "a truncated cursor precedes its entry at any length",
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(
        subject,
        numbers(12).map((text) => line(scope, text)),
      );
      const { entries } = await newest(subject, scope);
      for (const [index, entry] of entries.entries()) {
        const cursor = cursorOf(entry);
        const digits = cursor.slice(0, -"+00:00".length);
        for (let end = digits.indexOf(".") + 2; end < digits.length; end++) {
          const place = parseCursor(`${digits.slice(0, end)}+00:00`) as LogPosition;
          const behindIt = texts((await after(subject, scope, place)).entries);
          expect(behindIt.slice(-(numbers(12).length - index))).toEqual(numbers(12).slice(index));
        }
      }
    },
  },
  {
    group: "cursor",
    name: "following during writes misses no entry and returns none twice",
    run: async (subject) => {
      const scope = scopeOf(subject);
      let writing = true;
      const write = async () => {
        for (const text of numbers(120)) await append(subject, [line(scope, text)]);
        writing = false;
      };
      const written = write();
      const received: (string | undefined)[] = [];
      let place = START;
      for (let last = false; !last; ) {
        last = !writing;
        const { entries, seen } = await nextPage(subject, scope, place, asking(everything, 7));
        received.push(...texts(entries));
        place = seen ?? place;
        last &&= entries.length === 0;
      }
      await written;
      expect(received).toEqual(numbers(120));
    },
  },
  {
    group: "backwards",
    name: "returns each of thousands of entries once, in order, with any limits",
    when: ({ logs }) => logs.descending.supported,
    run: async (subject) => {
      const scope = scopeOf(subject);
      const wanted = numbers(2500);
      for (let at = 0; at < wanted.length; at += 500)
        await append(
          subject,
          wanted.slice(at, at + 500).map((text) => line(scope, text)),
        );
      const limits = [1000, 1, 7, 100, 999];
      const query = (page: number) => asking(everything, limits[page % limits.length]);
      expect(texts(await followBack(subject, scope, query))).toEqual(wanted);
      expect(await earlier(subject, { ...scope, service: subject.name() }, LAST)).toEqual({
        entries: [],
        partial: false,
      });
    },
  },
  {
    group: "backwards",
    name: "returns exactly the entries before a position, and includes an entry at the position",
    when: ({ logs }) => logs.descending.supported,
    run: async (subject) => {
      const scope = scopeOf(subject);
      const wanted = numbers(30);
      await append(
        subject,
        wanted.slice(0, 20).map((text) => line(scope, text)),
      );
      for (const text of wanted.slice(20)) await append(subject, [line(scope, text)]);
      const { entries } = await newest(subject, scope);
      for (const [index, entry] of entries.entries()) {
        expect(texts((await earlier(subject, scope, justBefore(entry))).entries)).toEqual(numbers(index));
        expect(texts((await earlier(subject, scope, entry, asking(everything, 2))).entries)).toEqual(
          numbers(index + 1).slice(-2),
        );
        // The position directly before an entry leads forwards to the entry.
        const next = await after(subject, scope, justBefore(entry), asking(everything, 1));
        expect(texts(next.entries)).toEqual([String(index)]);
      }
      for (const filter of [everything, { kind: "search", text: "1" } as const]) {
        const until = (entries[24] as LogEntry).instant;
        const older = entries.filter(({ instant }) => instant <= until).filter(matcherOf(filter, compile));
        const found = await earlier(subject, scope, LAST, { ...asking(filter), until });
        expect(texts(found.entries)).toEqual(texts(older));
      }
    },
  },
  {
    group: "backwards",
    name: "finds exactly the matches, and none from other scopes",
    when: ({ logs }) => logs.descending.supported,
    run: async (subject) => {
      await amongScopes(subject, 5, async ({ scope, all, filter, limit }) =>
        expect(await followBack(subject, scope, () => asking(filter, limit))).toEqual(
          all.filter(matcherOf(filter, compile)),
        ),
      );
    },
  },
  {
    group: "backwards",
    name: "pages of long lines are shorter, and no line is lost",
    when: ({ logs }) => logs.descending.supported,
    run: async (subject) => {
      const scope = scopeOf(subject);
      const long = "x".repeat(256 * 1024);
      const wanted = numbers(40).map((n) => `${n} ${long}`);
      for (const text of wanted) await append(subject, [line(scope, text)]);
      for (const filter of [everything, { kind: "search", text: "x" } as const]) {
        const found = await earlier(subject, scope, LAST, asking(filter));
        expect(found.partial).toBe(true);
        expect(found.entries.length).toBeLessThan(35);
        expect(texts(await followBack(subject, scope, () => asking(filter)))).toEqual(wanted);
      }
    },
  },
  {
    group: "backwards",
    name: "a search with a timeout of 0 ms finds everything, page by page",
    when: ({ logs }) => logs.descending.supported,
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const batch of [0, 1, 2, 3, 4])
        await append(
          subject,
          numbers(500).map((text) => line(scope, `${batch} ${text} ${"x".repeat(100)}`)),
        );
      const some: LogFilter = {
        kind: "compare",
        path: ["textPayload"],
        op: "=~",
        literal: { text: "^[024] [0-9]+ x+" },
      };
      expect(await followBack(subject, scope, () => asking(some, 1000, 0))).toHaveLength(1500);
      for (const filter of lookingFor)
        expect(await followBack(subject, scope, () => asking(filter, 1000, 0))).toEqual([]);
    },
  },
  {
    group: "backwards",
    name: "an aborted search fails with unavailable",
    when: ({ logs }) => logs.descending.supported,
    run: async ({ provider: { logs }, ...subject }) => {
      const scope = { owner: subject.account(), service: subject.name() };
      const gone = logs.before?.(scope, LAST, asking(), { signal: AbortSignal.abort() });
      expect((await expectError(gone as NonNullable<typeof gone>)).kind).toBe("unavailable");
    },
  },
  {
    group: "count",
    name: "counts exactly the matches of each bucket by severity, and none from other scopes",
    when: ({ logs }) => logs.histogram.supported,
    run: async (subject) => {
      await amongScopes(subject, 5, async ({ scope, all, filter: some }) => {
        const between = [behind((all[2] as LogEntry).instant), all[2] as LogEntry, justBefore(all[4] as LogEntry)];
        for (const filter of [everything, some])
          for (const inner of [between, all.slice(1, 4), []]) {
            const edges = distinct([START, ...inner, LAST]);
            const matches = all.filter(matcherOf(filter, compile));
            for (const range of [edges, edges.slice(1), edges.slice(0, -1)])
              if (range.length > 1)
                expect(await count(subject, scope, { filter, edges: range, timeoutMs: 20_000 })).toEqual({
                  counts: bucketsOf(matches, range),
                });
          }
      });
      const nowhere = await count(subject, scopeOf(subject), counting());
      expect(nowhere).toEqual({ counts: [{}] });
    },
  },
  {
    group: "count",
    name: "a count with a timeout of 0 ms counts everything, part by part",
    when: ({ logs }) => logs.histogram.supported,
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const batch of [0, 1, 2, 3, 4])
        await append(
          subject,
          numbers(500).map((text) => line(scope, `${batch} ${text} ${"x".repeat(100)}`)),
        );
      const all = [...(await followBack(subject, scope, () => asking()))];
      const edges = distinct([START, all[100] as LogEntry, all[1900] as LogEntry, LAST]);
      for (const filter of [everything, severe, ...lookingFor]) {
        const matches = all.filter(matcherOf(filter, compile));
        const next = pageLimit("A count");
        for (let left = edges, sums: Counts = edges.slice(1).map(() => ({})); ; ) {
          next();
          const { counts, seen } = await count(subject, scope, { filter, edges: left, timeoutMs: 0 });
          sums = sums.map((one, index) => sumOf(one, counts[index]));
          // The part contains exactly the entries after `seen`.
          const isCounted = (one: LogEntry) => seen === undefined || comparePositions(one, seen) > 0;
          expect(sums).toEqual(bucketsOf(matches.filter(isCounted), edges));
          if (seen === undefined) break;
          expect(comparePositions(seen, left.at(-1) as LogPosition)).toBe(-1);
          left = [...left.filter((edge) => comparePositions(edge, seen) < 0), seen];
        }
      }
    },
  },
  {
    group: "count",
    name: "an aborted count fails with unavailable",
    when: ({ logs }) => logs.histogram.supported,
    run: async ({ provider: { logs }, ...subject }) => {
      const gone = logs.count?.(scopeOf({ provider: { logs }, ...subject } as StoreSubject), counting(), {
        signal: AbortSignal.abort(),
      });
      expect((await expectError(gone as NonNullable<typeof gone>)).kind).toBe("unavailable");
    },
  },
  {
    group: "seen",
    name: "is the last position that the search examined, undefined without entries",
    run: async (subject) => {
      const scope = scopeOf(subject);
      expect(await newest(subject, scope)).toEqual({ entries: [], partial: false });
      expect(await after(subject, scope, START)).toEqual({ entries: [], partial: false });
      await append(
        subject,
        numbers(9).map((text) => line(scope, text)),
      );
      const all = (await newest(subject, scope)).entries;
      const [first, last] = [all[0] as LogEntry, all.at(-1) as LogEntry];
      const places = [
        await newest(subject, scope, asking(everything, 2)),
        await newest(subject, scope, asking(severe)),
        await after(subject, scope, first, asking(severe)),
        await after(subject, scope, START),
      ];
      for (const { seen } of places) expect(comparePositions(seen as LogPosition, last)).toBe(0);
      const page = await after(subject, scope, START, asking(everything, 1));
      expect(comparePositions(page.seen as LogPosition, first)).toBe(0);
      expect((await after(subject, scope, last)).seen).toBeUndefined();
    },
  },
  {
    group: "until",
    name: "returns and examines no later entry",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const text of numbers(12)) await append(subject, [line(scope, text)]);
      const all = (await newest(subject, scope)).entries;
      const middle = all[5] as LogEntry;
      const older = all.filter(({ instant }) => instant <= middle.instant);
      for (const filter of [everything, { kind: "search", text: "1" } as const]) {
        const query = { ...asking(filter), until: middle.instant };
        const wanted = older.filter(matcherOf(filter, compile));
        for (const found of [await newest(subject, scope, query), await after(subject, scope, START, query)]) {
          expect(texts(found.entries)).toEqual(texts(wanted));
          expect(comparePositions(found.seen as LogPosition, older.at(-1) as LogEntry)).toBe(0);
        }
      }
    },
  },
  {
    group: "filter",
    name: "finds exactly the matches, forwards, backwards and along the cursor, and none from other scopes",
    run: async (subject) => {
      await amongScopes(subject, 10, async ({ scope, all, filter, limit }) => {
        const wanted = all.filter(matcherOf(filter, compile));
        expect((await newest(subject, scope, asking(filter, limit))).entries).toEqual(wanted.slice(-limit));
        expect(await follow(subject, scope, () => asking(filter, limit))).toEqual(wanted);
      });
    },
  },
  {
    group: "filter",
    name: "a filter of nearly the maximum length finds its matches",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const json = { user: "ann", a: ["x", 1] };
      await append(subject, [line(scope, "a timeout"), line(scope, "b"), { ...line(scope, ""), json }]);
      const all = (await newest(subject, scope)).entries;
      for (const text of hostileFilters) {
        const filter = parseLogFilter(text, compile)._unsafeUnwrap();
        const found = await newest(subject, scope, asking(filter));
        expect(texts(found.entries), text.slice(0, 40)).toEqual(texts(all.filter(matcherOf(filter, compile))));
      }
    },
  },
  {
    group: "size",
    name: "a page of long lines is shorter and partial, and its cursor continues",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const long = "x".repeat(256 * 1024);
      const wanted = numbers(40).map((n) => `${n} ${long}`);
      for (const text of wanted) await append(subject, [line(scope, text)]);
      for (const filter of [everything, severe, { kind: "search", text: "x" } as const]) {
        const some = filter === severe ? [] : wanted;
        const found = await newest(subject, scope, asking(filter));
        expect(texts(found.entries)).toEqual(some.slice(some.length - found.entries.length));
        expect(found.partial).toBe(some.length > 0);
        expect(found.entries.length).toBeLessThan(35);
        const pagesFound = await Array.fromAsync(pages(subject, scope, () => asking(filter)));
        expect(pagesFound.flatMap(({ entries }) => texts(entries))).toEqual(some);
        const letters = pagesFound.map(({ entries }) => texts(entries).join("").length);
        for (const sum of letters) expect(sum).toBeLessThan(9 * 1024 * 1024);
        if (some.length > 0) expect(pagesFound[0]).toMatchObject({ partial: true });
      }
    },
  },
  {
    group: "timeout",
    name: "a search with a timeout of 0 ms finds everything, page by page",
    run: async (subject) => {
      const scope = scopeOf(subject);
      const wanted = numbers(2500);
      for (let at = 0; at < wanted.length; at += 500)
        await append(
          subject,
          wanted
            .slice(at, at + 500)
            .map((text) => ({ ...line(scope, text), severity: at % 1000 === 0 ? "ERROR" : "INFO" })),
        );
      const found = await follow(subject, scope, () => asking(severe, 1000, 0));
      expect(texts(found)).toEqual(wanted.filter((text) => Math.floor(Number(text) / 500) % 2 === 0));
    },
  },
  {
    group: "timeout",
    name: "a search with a timeout of 0 ms returns part of a long log",
    run: async (subject) => {
      const scope = scopeOf(subject);
      for (const batch of [0, 1, 2, 3, 4])
        await append(
          subject,
          numbers(1000).map((text) => line(scope, `${batch} ${text} ${"x".repeat(500)}`)),
        );
      // A store may return results from an index, but for some of these filters it must examine entries.
      const cut: boolean[] = [];
      for (const filter of lookingFor) {
        const hasty = asking(filter, 1000, 0);
        cut.push((await newest(subject, scope, hasty)).partial, (await after(subject, scope, START, hasty)).partial);
      }
      expect(cut).toContain(true);
    },
  },
  {
    group: "abort",
    name: "an aborted search fails with unavailable, and the next one works",
    run: async (subject) => {
      const scope = scopeOf(subject);
      await append(subject, [line(scope, "one")]);
      const { logs } = subject.provider;
      const gone = { signal: AbortSignal.abort() };
      const filter = { kind: "search", text: "one" } as const;
      expect((await expectError(logs.newest(scope, asking(filter), gone))).kind).toBe("unavailable");
      expect((await expectError(logs.after(scope, START, asking(filter), gone))).kind).toBe("unavailable");
      expect(texts((await newest(subject, scope, asking(filter))).entries)).toEqual(["one"]);
    },
  },
];
