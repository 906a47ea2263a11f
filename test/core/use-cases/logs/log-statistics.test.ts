/** The histogram of a log, and the values of its fields. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createMemoryLogs } from "../../../../adapters/memory/logs/log-store.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { deployed, type MemoryOptions, startMemory } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const owner = parseAccount("acme") as AccountId;

const entry = (fields: Partial<NewLogEntry>): NewLogEntry => ({
  owner,
  service: "app" as never,
  severity: "INFO",
  logName: "stdout",
  ...fields,
});

/** A deployment whose log has the entries of `batches`, a second apart. */
const withEntries = async (batches: readonly (readonly NewLogEntry[])[], options: MemoryOptions = {}) => {
  const platform = startMemory(options);
  await deployed(platform);
  for (const batch of batches) {
    await platform.clock.advance(1000);
    expect((await platform.memory.provider.logs.append(batch)).isOk()).toBe(true);
  }
  const call = (method: "getLogHistogram" | "listLogValues", request: Record<string, unknown>) =>
    platform.controlPlane[method](platform.principal(), {
      deployment_name: "app",
      query: "logName!=platform",
      ...request,
    });
  const histogram = async (request: Record<string, unknown> = {}) =>
    (
      await platform.controlPlane.getLogHistogram(platform.principal(), { deployment_name: "app", ...request })
    )._unsafeUnwrap();
  const values = async (request: Record<string, unknown> = {}) =>
    (
      await platform.controlPlane.listLogValues(platform.principal(), {
        deployment_name: "app",
        query: "logName!=platform",
        ...request,
      })
    )._unsafeUnwrap();
  return { ...platform, call, histogram, values };
};

describe("the histogram", () => {
  test("counts the entries of each bucket by severity, with the bounds of reads", async () => {
    const bad = entry({ severity: "ERROR", text: "x" });
    const { histogram, controlPlane, principal } = await withEntries([[bad, entry({ text: "y" })], [bad], [bad, bad]]);
    const [since, until] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"];
    const found = await histogram({ since, until, buckets: 5, query: "logName=stdout" });
    expect(found).toMatchObject({ partial: false, complete_since: "2026-01-01T00:00:00+00:00" });
    expect(found.buckets).toHaveLength(5);
    for (const { start, end, counts } of found.buckets) {
      const request = { deployment_name: "app", since: start, until: end, query: "logName=stdout" };
      const { logs } = (await controlPlane.readLogs(principal(), request))._unsafeUnwrap();
      const severities = Object.entries(counts).flatMap(([severity, count]) => Array(count).fill(severity));
      expect(severities.sort()).toEqual(logs.map(({ severity }) => severity).sort());
    }
  });

  test("buckets cover the range without gaps, and count each entry once, for any range and number of buckets", async () => {
    const batches = Array.from({ length: 20 }, (_, n) => [entry({ text: `${n}` })]);
    const { histogram, controlPlane, principal } = await withEntries(batches);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -3000, max: 20_000 }),
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 1, max: 50 }),
        async (from, length, count) => {
          const time = (millis: number) => new Date(Date.UTC(2026, 0, 1) + millis).toISOString();
          const range = { since: time(from), until: time(from + length) };
          const { buckets } = await histogram({ ...range, buckets: count });
          expect(buckets.length).toBeLessThanOrEqual(count);
          expect(Date.parse(buckets[0]?.start ?? "")).toBe(Date.parse(range.since));
          expect(Date.parse(buckets.at(-1)?.end ?? "")).toBe(Date.parse(range.until));
          for (const [index, { start }] of buckets.entries())
            if (index > 0) expect(start).toBe(buckets[index - 1]?.end);
          const request = { deployment_name: "app", ...range, limit: 1000 };
          const { logs } = (await controlPlane.readLogs(principal(), request))._unsafeUnwrap();
          const sum = buckets.flatMap(({ counts }) => Object.values(counts)).reduce((all, one) => all + one, 0);
          expect(sum).toBe(logs.length);
        },
      ),
      runs(60),
    );
  });

  test("covers the last hour by default", async () => {
    const { histogram, clock } = await withEntries([[entry({ text: "old" })]]);
    await clock.advance(2 * 3_600_000);
    const { buckets } = await histogram();
    expect(buckets).toHaveLength(60);
    expect(Date.parse(buckets[59]?.end ?? "") - Date.parse(buckets[0]?.start ?? "")).toBe(3_600_000);
    expect(buckets.every(({ counts }) => Object.keys(counts).length === 0)).toBe(true);
  });

  test("counts thousands of entries, over many pages", async () => {
    const many = Array.from({ length: 3500 }, () => entry({ text: "x" }));
    const { histogram } = await withEntries([many]);
    const { buckets } = await histogram({ query: "logName=stdout" });
    expect(buckets.flatMap(({ counts }) => counts.INFO ?? [])).toEqual([3500]);
  });

  test("is partial if the search reaches its time limit, and states the time after which its counts are complete", async () => {
    const clock = createManualClock();
    // Examines four entries per search.
    const logs = createMemoryLogs(createWorld(), clock, compileRe2, 4);
    const platform = startMemory({ clock, settings: { logLimits: { timeoutMs: 0 } }, around: () => ({ logs }) });
    await deployed(platform);
    for (let n = 0; n < 10; n++) {
      await clock.advance(1000);
      expect((await logs.append([entry({ text: "x" })])).isOk()).toBe(true);
    }
    const request = { deployment_name: "app", until: "2026-01-01T00:01:00Z", buckets: 500 };
    const found = (await platform.controlPlane.getLogHistogram(platform.principal(), request))._unsafeUnwrap();
    expect(found.partial).toBe(true);
    const after = { deployment_name: "app", since: found.complete_since };
    const { logs: rows } = (await platform.controlPlane.readLogs(platform.principal(), after))._unsafeUnwrap();
    expect(rows).toHaveLength(3);
    expect(found.buckets.flatMap(({ counts }) => counts.INFO ?? []).reduce((a, b) => a + b)).toBe(4);
  });

  test("omits the entries that may be incomplete", async () => {
    const logs = { ...memoryCapabilities.logs, settle_seconds: 2 };
    const batches = Array.from({ length: 5 }, (_, n) => [entry({ text: `${n}` })]);
    const { histogram } = await withEntries(batches, { capabilities: { logs } });
    const { buckets } = await histogram({ query: "logName=stdout" });
    expect(buckets.flatMap(({ counts }) => counts.INFO ?? []).reduce((sum, one) => sum + one, 0)).toBe(3);
  });

  test("rejects an empty range", async () => {
    const { call } = await withEntries([]);
    const time = "2026-01-01T00:00:00Z";
    expect((await call("getLogHistogram", { since: time, until: time }))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["until"] }],
    });
  });
});

describe("the values", () => {
  const requests = [
    entry({ json: { user: "ann", tags: ["a", "b"], deep: { ok: true } } }),
    entry({ json: { user: "ann", "odd.name": 1 }, severity: "ERROR" }),
    entry({ json: { user: "Bob", tags: ["b"] }, revision: "app-00001" }),
    entry({ text: "plain" }),
  ];

  test("lists the fields as filters name them, with the most frequent values first", async () => {
    const { values, controlPlane, principal } = await withEntries([requests]);
    const { fields, examined, partial } = await values();
    expect([examined, partial]).toEqual([4, false]);
    const named = Object.fromEntries(fields.map((field) => [field.name, field]));
    expect(named["jsonPayload.user"]).toEqual({
      name: "jsonPayload.user",
      entries: 3,
      values: [
        { value: "ann", entries: 2 },
        { value: "Bob", entries: 1 },
      ],
      complete: true,
    });
    expect(named["jsonPayload.tags"]?.values).toEqual([
      { value: "b", entries: 2 },
      { value: "a", entries: 1 },
    ]);
    expect(named["severity"]?.values[0]).toEqual({ value: "INFO", entries: 3 });
    expect(named["textPayload"]).toEqual({ name: "textPayload", entries: 1, values: [], complete: false });
    // Each field and value, as a filter, finds as many entries as its count says.
    for (const { name, values: some } of fields)
      for (const { value, entries } of some) {
        const query = `logName!=platform ${name}=${JSON.stringify(String(value))}`;
        const page = await controlPlane.readLogs(principal(), { deployment_name: "app", query });
        expect(page._unsafeUnwrap().logs, query).toHaveLength(entries);
      }
  });

  test("lists one field, with the values that begin with a prefix", async () => {
    const { values } = await withEntries([requests]);
    const { fields } = await values({ field: "jsonPayload.user", prefix: "bo" });
    expect(fields).toMatchObject([{ name: "jsonPayload.user", entries: 3, values: [{ value: "Bob" }] }]);
  });

  test("limits the values of a field, and reports that there are more", async () => {
    const many = Array.from({ length: 1500 }, (_, n) => entry({ json: { n, long: "x".repeat(201) } }));
    const { values } = await withEntries([many]);
    const { fields } = await values({ limit: 3 });
    const [n, long] = ["jsonPayload.n", "jsonPayload.long"].map((name) => fields.find((one) => one.name === name));
    expect(n).toMatchObject({ entries: 1500, complete: false });
    expect(n?.values).toHaveLength(3);
    expect(long).toMatchObject({ entries: 1500, values: [], complete: false });
    const few = await withEntries([requests]);
    for (const [limit, complete] of [
      [1, false],
      [2, true],
    ] as const)
      expect((await few.values({ field: "jsonPayload.user", limit })).fields).toMatchObject([{ complete }]);
  });

  test("examines a limited number of the newest entries", async () => {
    const settings = { logLimits: { valueEntries: 3 } };
    const { values } = await withEntries([requests], { settings });
    expect(await values()).toMatchObject({ examined: 3, partial: true });
    expect(await values({ query: "severity=ERROR" })).toMatchObject({ examined: 1, partial: false });
  });
});

test.each(["getLogHistogram", "listLogValues"] as const)("%s returns 404 for an unknown deployment", async (method) => {
  const { controlPlane, principal } = startMemory();
  const answer = await controlPlane[method](principal(), { deployment_name: "nowhere" });
  expect(answer._unsafeUnwrapErr().kind).toBe("not_found");
});

test("rejects the request with the reason if the provider lacks the capability", async () => {
  const none = missing("It reads in one direction.");
  const logs = { ...memoryCapabilities.logs, descending: none, histogram: none, values: none };
  const { call, controlPlane, principal } = await withEntries([], { capabilities: { logs } });
  for (const method of ["getLogHistogram", "listLogValues"] as const)
    expect((await call(method, {}))._unsafeUnwrapErr()).toMatchObject({ kind: "unsupported" });
  const read = await controlPlane.readLogs(principal(), {
    deployment_name: "app",
    order: "desc",
    until: "2026-01-01T00:00:00Z",
  });
  expect(read._unsafeUnwrapErr()).toMatchObject({
    issues: [
      { path: ["until"], type: "unsupported" },
      { path: ["order"], type: "unsupported" },
    ],
  });
});
