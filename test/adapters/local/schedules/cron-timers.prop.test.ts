/** After any change of the stored schedules, the timers match them exactly, and unchanged timers are not restarted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type StoredJob, timerChanges } from "../../../../adapters/local/schedules/cron-timers.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { runs } from "../../../support/vitest/runs.ts";
import { day, names, owners } from "../state/model.ts";

const job: fc.Arbitrary<StoredJob> = fc.record(
  {
    name: fc.constantFrom(...(names as readonly DeploymentName[])),
    owner: fc.constantFrom(...(owners as readonly AccountId[])),
    createdAt: fc.constantFrom<Timestamp>(day(0), day(1)),
    schedule: fc.constantFrom({ cron: "* * * * *", timezone: "UTC" }, { cron: "5 0 * * *", timezone: "Europe/Paris" }),
    token: fc.constantFrom("first", "second"),
    url: fc.constant("http://127.0.0.1:1"),
    maxSeconds: fc.constantFrom(60, 1800),
  },
  { noNullPrototype: true },
);

const keyOf = ({ owner, name }: StoredJob): string => `${owner} ${name}`;

const stored = fc.uniqueArray(job, { selector: keyOf });

test("the changes lead from any schedules to any others", () => {
  fc.assert(
    fc.property(stored, stored, (before, after) => {
      const { stop, start } = timerChanges(after, before);
      const following = new Map(before.map((one) => [keyOf(one), one]));
      for (const one of stop) expect(following.delete(keyOf(one))).toBe(true);
      for (const one of start) {
        expect(following.has(keyOf(one))).toBe(false);
        following.set(keyOf(one), one);
      }
      expect(new Set(following.values())).toEqual(new Set(after));
      const isStored = (one: StoredJob) => after.some((other) => JSON.stringify(other) === JSON.stringify(one));
      expect(stop.filter(isStored)).toEqual([]);
    }),
    runs(500),
  );
});
