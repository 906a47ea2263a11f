/** Reads of a cloud's log: readers share calls and respect quotas. Also has helpers for these tests. */
import { describe, expect, test } from "vitest";
import { compileRe2 } from "../../adapters/shared/logs/re2.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { behind } from "../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import { parseLogFilter } from "../../core/domain/logs/filter/parse.ts";
import { everything } from "../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import type { LogQuery, LogStore } from "../../core/ports/log-store.ts";
import { expectError, expectOk } from "../contracts/support.ts";
import type { Faults } from "../fakes/faults.ts";
import type { LeapingClock } from "../support/clocks/leaping-clock.ts";

export const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
export const START = behind(0n as Instant);

export const logQuery = (text = "", change: Partial<LogQuery> = {}): LogQuery => ({
  filter: text === "" ? everything : parseLogFilter(text, compileRe2)._unsafeUnwrap(),
  limit: 100,
  timeoutMs: 20_000,
  ...change,
});

export const texts = (entries: readonly LogEntry[]) => entries.map(({ text, json }) => text ?? JSON.stringify(json));

export const platformEntry = (text: string) => ({
  ...scope,
  severity: "INFO" as const,
  logName: "platform" as const,
  text,
});

export interface StartedLogs {
  readonly clock: LeapingClock;
  readonly fake: { readonly faults: Faults };
  readonly logs: LogStore;
  /** Adds a line that the service writes. */
  line(text: string): unknown;
}

/** @param read name of the call that reads the log */
export const logReadTests = (
  read: string,
  start: (options?: object, config?: { readonly logReadsPerMinute?: number }) => Promise<StartedLogs>,
): void => {
  describe("reads", () => {
    test("a backward search finds an entry that arrived after an equal search", async () => {
      const { clock, fake, logs, line } = await start();
      line("a");
      clock.pass(1);
      const until = clock.now();
      const query = logQuery("", { until });
      const back = () => expectOk((logs.before as NonNullable<LogStore["before"]>)(scope, behind(until), query));
      expect(texts((await back()).entries)).toEqual(["a"]);
      line("b");
      expect(texts((await back()).entries)).toEqual(["a", "b"]);
      expect(fake.faults.count(read)).toBe(2);
    });

    test("followers of one log share one call, and see an entry written here immediately", async () => {
      const { clock, fake, logs, line } = await start();
      line("a");
      const poll = () => expectOk(logs.after(scope, START, logQuery("", { until: clock.now() })));
      const found = await Promise.all([poll(), poll(), poll()]);
      expect(found.map(({ entries }) => texts(entries))).toEqual([["a"], ["a"], ["a"]]);
      expect(fake.faults.count(read)).toBe(1);
      // With equal timestamps, the ids would decide the order.
      clock.pass(1);
      await expectOk(logs.append([platformEntry("b")]));
      clock.pass(1);
      expect(texts((await poll()).entries)).toEqual(["a", "b"]);
      clock.pass(2000);
      await poll();
      expect(fake.faults.count(read)).toBe(3);
    });

    test("a reader that leaves a shared search gets an error, and the others get the result", async () => {
      const { clock, logs, line } = await start();
      line("a");
      const gone = new AbortController();
      const query = logQuery("", { until: clock.now() });
      const left = logs.after(scope, START, query, { signal: gone.signal });
      const stays = logs.after(scope, START, query);
      gone.abort();
      expect(await expectError(left)).toMatchObject({ kind: "unavailable" });
      expect(texts((await expectOk(stays)).entries)).toEqual(["a"]);
    });

    test("an exhausted quota is unavailable, with the time until it resets", async () => {
      const { clock, fake, logs } = await start({}, { logReadsPerMinute: 2 });
      await expectOk(logs.newest(scope, logQuery("", { timeoutMs: 0 })));
      await expectOk(logs.newest(scope, logQuery("", { timeoutMs: 0 })));
      expect(await expectError(logs.newest(scope, logQuery("", { timeoutMs: 0 })))).toMatchObject({
        kind: "unavailable",
        retryAfterSeconds: 60,
      });
      expect(fake.faults.count(read)).toBe(2);
      clock.pass(60_000);
      await expectOk(logs.newest(scope, logQuery()));
    });
  });
};
