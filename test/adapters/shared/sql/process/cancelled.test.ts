/** A query whose caller cancels it. */
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { createMemorySql } from "../../../../../adapters/memory/sql/sql-engine.ts";
import { createWorld } from "../../../../../adapters/memory/world.ts";
import { guard } from "../../../../../adapters/shared/sql/process/ask.ts";
import type { SqlChild } from "../../../../../adapters/shared/sql/process/child.ts";
import { accountOf } from "../../../../../core/domain/accounts/account.ts";
import { sqlLimits } from "../../../../../core/domain/accounts/limits.ts";
import { expectError, expectOk } from "../../../../contracts/support.ts";

const sql = createMemorySql(createWorld());
afterAll(() => sql.close());

const scope = { owner: accountOf("acme") };

test("a query that is cancelled while its process starts leaves the process to the next query", async () => {
  const client = new AbortController();
  const cancelled = sql.run(scope, "SELECT 1 AS one", sqlLimits, { signal: client.signal });
  client.abort();
  expect((await expectError(cancelled)).kind).toBe("unavailable");
  const pids = await sql.pids();
  expect(pids).toHaveLength(1);
  await expectOk(sql.run(scope, "SELECT 1 AS one", sqlLimits));
  expect(await sql.pids()).toEqual(pids);
});

test("the process of a cancelled query ends, unless the query ends within a second", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const killedAfter = (millis: number): boolean => {
    const kill = vi.fn();
    const client = new AbortController();
    const watch = guard({ kill } as unknown as SqlChild, sqlLimits.timeoutMs, client.signal);
    client.abort();
    vi.advanceTimersByTime(millis);
    watch[Symbol.dispose]();
    vi.runAllTimers();
    return kill.mock.calls.length > 0;
  };
  expect([killedAfter(0), killedAfter(999), killedAfter(1000)]).toEqual([false, false, true]);
});
