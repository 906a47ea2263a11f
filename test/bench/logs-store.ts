/** The local log store: pages at any size, filters, and parsing a filter. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LogFile } from "../../adapters/local/logs/log-file.ts";
import { rowOf } from "../../adapters/local/logs/rows.ts";
import { count, scan } from "../../adapters/local/logs/scan.ts";
import { compileRe2 } from "../../adapters/shared/logs/re2.ts";
import { createSystemClock } from "../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { behind, ordinalCode } from "../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import { parseLogFilter } from "../../core/domain/logs/filter/parse.ts";
import { everything, type LogFilter } from "../../core/domain/logs/filter/tree.ts";
import { bucketEdges } from "../../core/domain/logs/histogram.ts";
import type { Instant } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import { WrittenLogs } from "../support/logs/written-logs.ts";
import { catastrophicLines, catastrophicPatterns } from "../support/vitest/catastrophic.ts";
import { type Bench, type Contender, median } from "./bench.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
const BEGAN = 1_767_225_600_000_000_000n;
const BATCH = 10_000;

/** One entry a millisecond: JSON lines of a shop, every thousandth an error. */
const entryAt = (n: number): LogEntry => ({
  ...scope,
  severity: n % 1000 === 999 ? "ERROR" : "INFO",
  logName: "stdout",
  revision: "app-00001",
  instance: "i1",
  json: { message: `order ${n} was placed`, user: `user-${n % 5000}`, path: "/orders", items: n % 7 },
  instant: (BEGAN + BigInt(n) * 1_000_000n) as Instant,
  code: ordinalCode(0),
});

export const fill = (path: string, count: number): void => {
  const file = new LogFile(path);
  for (let from = 0; from < count; from += BATCH)
    file.write(Array.from({ length: Math.min(BATCH, count - from) }, (_, n) => rowOf(entryAt(from + n))));
  file.close();
};

const timed = (work: () => void): number => {
  const begun = performance.now();
  work();
  return performance.now() - begun;
};

const PAGES = 300;

/** The median time to read a page of 100 entries after random positions. */
const pages = (name: string, folder: string, count: number): Contender & AsyncDisposable => {
  mkdirSync(folder);
  const logs = new WrittenLogs({
    folder,
    clock: createSystemClock(),
    logger: silentLogger,
    retentionDays: 30,
    maxBytes: Number.MAX_SAFE_INTEGER,
  });
  fill(logs.pathOf(scope.owner), count);
  const query = { filter: everything, limit: 100, timeoutMs: 60_000 };
  const page = async () => {
    const place = behind((BEGAN + BigInt(Math.floor(Math.random() * count)) * 1_000_000n) as Instant);
    const begun = performance.now();
    (await logs.after(scope, place, query))._unsafeUnwrap();
    return performance.now() - begun;
  };
  return {
    name,
    measure: async () => {
      const times: number[] = [];
      for (let n = 0; n < PAGES; n++) times.push(await page());
      return median(times);
    },
    [Symbol.asyncDispose]: () => logs.close(),
  };
};

export const inFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "portside-bench-logs-"));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
};

export const logPages: Bench = {
  name: "log-pages",
  title: "reading a page of 100 entries after a random position in the store, by the size of the log",
  unit: "ms",
  goals: [
    { at: "most", bound: 1 },
    { peer: "100 thousand", at: "most", bound: 1.5 },
  ],
  prepare: async ({ small }) => {
    const { folder, remove } = inFolder();
    const sizes = [
      ["10 million", small ? 30_000 : 10_000_000],
      ["1 million", small ? 20_000 : 1_000_000],
      ["100 thousand", small ? 10_000 : 100_000],
    ] as const;
    const results = sizes.map(([name, count]) => pages(name, join(folder, String(count)), count));
    const [subject, ...peers] = results as [(typeof results)[number], ...(typeof results)[number][]];
    return {
      subject,
      peers,
      [Symbol.asyncDispose]: async () => {
        for (const one of results) await one[Symbol.asyncDispose]();
        remove();
      },
    };
  },
};

export const logFilters: Bench = {
  name: "log-filters",
  title: "finding the newest 100 matches among a million entries, by the share of matches",
  unit: "ms",
  goals: [],
  prepare: async ({ small }) => {
    const { folder, remove } = inFolder();
    const path = join(folder, "log.sqlite");
    fill(path, small ? 20_000 : 1_000_000);
    const search = (name: string, text: string): Contender => {
      const filter = parseLogFilter(text, compileRe2)._unsafeUnwrap();
      const query = { filter, limit: 100, timeoutMs: 60_000 };
      return { name, measure: async () => timed(() => void scan({ path, scope, query })) };
    };
    return {
      subject: search("one of a thousand, by severity", "severity>=ERROR"),
      peers: [
        search("every entry", "severity>=INFO"),
        search("one of five thousand, by a field", 'jsonPayload.user="user-42"'),
        search("none, by a word", "nowhere"),
        search("none, by a regular expression", 'jsonPayload.message=~"^never.*"'),
      ],
      [Symbol.asyncDispose]: async () => remove(),
    };
  },
};

export const logHistogram: Bench = {
  name: "log-histogram",
  title: "counting a million entries in 60 buckets by severity, by the filter",
  unit: "ms",
  goals: [{ at: "most", bound: 2000 }],
  prepare: async ({ small }) => {
    const { folder, remove } = inFolder();
    const path = join(folder, "log.sqlite");
    const entries = small ? 20_000 : 1_000_000;
    fill(path, entries);
    const end = behind((BEGAN + BigInt(entries) * 1_000_000n) as Instant);
    const edges = bucketEdges(behind((BEGAN - 1n) as Instant), end, 60);
    const counting = (name: string, text: string): Contender => {
      const filter = parseLogFilter(text, compileRe2)._unsafeUnwrap();
      const query = { filter, edges, timeoutMs: 60_000 };
      return { name, measure: async () => timed(() => void count({ path, scope, query })) };
    };
    return {
      subject: counting("without a filter", ""),
      peers: [
        counting("by severity", "severity>=ERROR"),
        counting("by a field", 'jsonPayload.user="user-42"'),
        counting("by a word", "order"),
      ],
      [Symbol.asyncDispose]: async () => remove(),
    };
  },
};

export const logPatterns: Bench = {
  name: "log-patterns",
  title: "the slowest of a hundred catastrophic patterns on a line of 256 KiB, in the store",
  unit: "ms",
  goals: [{ at: "most", bound: 1000 }],
  prepare: async ({ small }) => {
    const { folder, remove } = inFolder();
    const search = (path: string, pattern: string): number => {
      const filter: LogFilter = { kind: "compare", path: ["textPayload"], op: "=~", literal: { text: pattern } };
      return timed(() => void scan({ path, scope, query: { filter, limit: 100, timeoutMs: 60_000 } }));
    };
    const [subject, ...peers] = catastrophicLines().map((text, index): Contender => {
      const path = join(folder, `${index}.sqlite`);
      const file = new LogFile(path);
      const { json: _json, ...entry } = entryAt(0);
      file.write([rowOf({ ...entry, text })]);
      file.close();
      const patterns = small ? catastrophicPatterns.slice(-3) : catastrophicPatterns;
      return {
        name: `${text.slice(0, 20)}…`,
        measure: async () => Math.max(...patterns.map((pattern) => search(path, pattern))),
      };
    });
    return { subject: subject as Contender, peers, [Symbol.asyncDispose]: async () => remove() };
  },
};

const TYPICAL = 'severity>=WARNING AND jsonPayload.user="ann" (timeout OR "connection reset") -httpRequest.status<500';

export const filterParse: Bench = {
  name: "log-filter-parse",
  title: `parsing a typical filter: ${TYPICAL}`,
  unit: "µs",
  goals: [{ at: "most", bound: 50 }],
  prepare: async () => ({
    subject: {
      name: "parseLogFilter",
      measure: async () => {
        const times = 2000;
        const took = timed(() => {
          for (let n = 0; n < times; n++) parseLogFilter(TYPICAL, compileRe2)._unsafeUnwrap();
        });
        return (took / times) * 1000;
      },
    },
    peers: [],
    [Symbol.asyncDispose]: async () => undefined,
  }),
};
