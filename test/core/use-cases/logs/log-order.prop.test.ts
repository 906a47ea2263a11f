/** A walk through a log in either order, within any range, gives the same entries, each once. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { deployed, startMemory } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const owner = parseAccount("acme") as AccountId;

const line = (n: number): NewLogEntry => ({
  owner,
  service: "app" as never,
  logName: "stdout",
  text: `line ${n}`,
  severity: n % 3 === 0 ? "ERROR" : "INFO",
});

/** Writes batches of lines, each batch at one instant. */
const withBatches = async (batches: readonly number[]) => {
  const platform = startMemory();
  await deployed(platform);
  let written = 0;
  for (const count of batches) {
    await platform.clock.advance(1);
    const lines = Array.from({ length: count }, () => line(written++));
    expect((await platform.memory.provider.logs.append(lines)).isOk()).toBe(true);
  }
  const read = async (request: Record<string, unknown>) =>
    (
      await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", ...request })
    )._unsafeUnwrap();
  /** Every entry of the range, read page by page. */
  const walk = async (order: "asc" | "desc", limits: readonly number[], request: Record<string, unknown>) => {
    const ids: string[] = [];
    let bound = {};
    for (let page = 0; ; page++) {
      if (page > 500) throw new Error("the walk does not end");
      const found = await read({ ...request, ...bound, order, limit: limits[page % limits.length] });
      if (found.logs.length === 0 && !found.partial) return ids;
      ids.push(...found.logs.map(({ insert_id }) => insert_id));
      bound = order === "asc" ? { since: found.cursor } : { until: found.cursor };
    }
  };
  return { ...platform, read, walk };
};

const batches = () => fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 8 });
const limits = () => fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 4 });

test("pages in both orders give the same entries, and none twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      batches(),
      limits(),
      fc.constantFrom("", "severity=ERROR", "line"),
      fc.tuple(fc.nat(100), fc.nat(100)),
      async (counts, sizes, query, [from, length]) => {
        const { read, walk } = await withBatches(counts);
        const all = (await read({ limit: 1000, query })).logs.map(({ insert_id }) => insert_id);
        const start = "2020-01-01T00:00:00Z";
        expect(await walk("asc", sizes, { since: start, query })).toEqual(all);
        expect((await walk("desc", sizes, { query })).reverse()).toEqual(all);
        expect((await walk("desc", sizes, { since: start, query })).reverse()).toEqual(all);
        // The cursors of pages in either order are exact bounds in both orders.
        const first = Math.min(from, all.length);
        const last = Math.min(first + length, all.length);
        const since = first === 0 ? start : (await read({ since: start, limit: first, query })).cursor;
        const rest = all.length - last;
        const until = rest === 0 ? undefined : (await read({ order: "desc", limit: rest, query })).cursor;
        const range = { query, since, ...(until === undefined ? {} : { until }) };
        expect(await walk("asc", sizes, range)).toEqual(all.slice(first, last));
        expect((await walk("desc", sizes, range)).reverse()).toEqual(all.slice(first, last));
      },
    ),
    runs(60),
  );
});

test("since excludes its time, and until includes it, in both orders", async () => {
  const { read } = await withBatches([2, 3, 4]);
  const all = (await read({ query: "line" })).logs;
  const [before, middle] = [all[1]?.timestamp, all[4]?.timestamp];
  for (const order of ["asc", "desc"]) {
    const found = await read({ since: before, until: middle, order });
    const texts = found.logs.map(({ message }) => message).sort();
    expect(texts).toEqual(["line 2", "line 3", "line 4"]);
  }
  // Without since, a page up to a time has the newest entries, oldest first, and its cursor leads to later ones.
  const page = await read({ until: middle, limit: 2 });
  expect(page.logs.map(({ message }) => message)).toEqual(["line 3", "line 4"]);
  expect((await read({ since: page.cursor })).logs).toHaveLength(4);
});

test("a page in ascending order up to a future time does not skip entries that arrive later", async () => {
  const { read, memory, clock } = await withBatches([1]);
  const until = "2030-01-01T00:00:00Z";
  const pages = [await read({ until }), await read({ until, query: "7" })];
  await clock.advance(1000);
  expect((await memory.provider.logs.append([line(7)])).isOk()).toBe(true);
  for (const { cursor } of pages) {
    const { logs } = await read({ since: cursor, query: "7" });
    expect(logs.map(({ message }) => message)).toEqual(["line 7"]);
  }
});

test("rejects `until` before `since`, an unknown order, and `wait` if no entry can follow", async () => {
  const { controlPlane, principal } = await withBatches([1]);
  const issues = async (request: Record<string, unknown>) => {
    const answer = await controlPlane.readLogs(principal(), { deployment_name: "app", ...request });
    const error = answer._unsafeUnwrapErr();
    return error.kind === "invalid_input" ? error.issues.map(({ path }) => path[0]) : error;
  };
  expect(await issues({ since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" })).toEqual(["until"]);
  expect(await issues({ order: "newest" })).toEqual(["order"]);
  expect(await issues({ wait: 5, order: "desc" })).toEqual(["wait"]);
  expect(await issues({ wait: 5, until: "2026-01-01T00:00:00Z" })).toEqual(["wait"]);
  expect(await issues({ wait: 26 })).toEqual(["wait"]);
});
