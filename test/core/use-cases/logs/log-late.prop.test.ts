/** Log stores that show entries late, out of order and from the future: a follower reads every match once, in order. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import { comparePositions, nameCode } from "../../../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf, type NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../../core/domain/logs/filter/match.ts";
import { printLogFilter } from "../../../../core/domain/logs/filter/print.ts";
import { plusMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { okAsync } from "../../../../core/result.ts";
import { logFilter, newLogEntry } from "../../../arbitraries/index.ts";
import { createLateLogs, type LateEntry } from "../../../simulation/late-logs.ts";
import { deployed, startMemory } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const SETTLE_MS = 5000;
const owner = parseAccount("acme") as AccountId;

interface Written {
  readonly entry: NewLogEntry;
  /** Milliseconds after the start; some are equal, some are later than the time of writing. */
  readonly at: number;
  /** The delay until the store shows the entry, within the store's promise. */
  readonly late: number;
}

const written = (): fc.Arbitrary<Written> =>
  fc.record({
    entry: newLogEntry(owner, "app" as DeploymentName),
    at: fc.integer({ min: 0, max: 20 }).map((n) => n * 500),
    late: fc.oneof(fc.constant(0), fc.integer({ min: -3000, max: SETTLE_MS })),
  });

test("following the cursor yields every match exactly once, whenever it became visible", async () => {
  let met = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(written(), { minLength: 5, maxLength: 30 }),
      logFilter(),
      fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 100, max: 3000 }),
      async (all, filter, limits, pause) => {
        const entries: LateEntry[] = [];
        const platform = startMemory({
          capabilities: { logs: { ...memoryCapabilities.logs, settle_seconds: SETTLE_MS / 1000 } },
          around: (_provider, clock) => ({
            logs: { ...createLateLogs(entries, clock, () => 0), append: () => okAsync(undefined) },
          }),
        });
        await deployed(platform);
        const { clock, controlPlane, principal } = platform;
        const begun = plusMillis(clock.now(), 1000);
        for (const [index, { entry, at, late }] of all.entries()) {
          const instant = plusMillis(begun, at);
          entries.push({
            entry: { ...entry, instant },
            id: `id-${index % 7}-${index}`,
            shownAt: plusMillis(instant, late),
          });
        }
        const query = printLogFilter(filter);
        const found: string[] = [];
        let since = "2020-01-01T00:00:00Z";
        const end = plusMillis(begun, 20 * 500 + 2 * SETTLE_MS);
        for (let page = 0, last = false; !last; page++) {
          last = clock.now() > end;
          const limit = limits[page % limits.length];
          const read = (
            await controlPlane.readLogs(principal(), { deployment_name: "app", since, query, limit })
          )._unsafeUnwrap();
          found.push(...read.logs.map(({ timestamp, message }) => `${timestamp} ${message}`));
          since = read.cursor;
          if (read.logs.length > 0) last = false;
          else await clock.advance(pause);
        }
        const wanted = entries
          .map(({ entry, id }): LogEntry => ({ ...entry, code: nameCode(id) }))
          .filter(matcherOf(filter, compileRe2))
          .toSorted(comparePositions);
        expect(found).toEqual(wanted.map((one) => `${timestampOf(one.instant)} ${messageOf(one)}`));
        met += wanted.length;
      },
    ),
    runs(60),
  );
  expect(met).toBeGreaterThan(runs(100).numRuns);
});
