/** However the lease moves between engines, and whatever happens to their connections, each report arrives once. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { logPath } from "../../../../adapters/local/logs/log-path.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { ENGINES, LeasedEngines } from "../../../support/engine/leased-engines.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

const owner = "acme" as AccountId;
const usageKey = { owner, deployment: "app", day: "2026-01-01", sku: "cpu" } as const;

/** Logs and meters numbered reports, and remembers how many. */
class Reports {
  readonly #engines: LeasedEngines;
  /** The number of entries, by service and engine. */
  readonly logged = new Map<string, number>();
  used = 0n;

  constructor(engines: LeasedEngines) {
    this.#engines = engines;
  }

  log(engine: number, service: string, count: number): void {
    const key = `${service} ${engine}`;
    for (let left = count; left > 0; left--) {
      const next = (this.logged.get(key) ?? 0) + 1;
      this.logged.set(key, next);
      const source = { owner, service: service as DeploymentName, logName: "stdout" } as const;
      const text = `${engine} ${next}`;
      const lease = this.#engines.all[engine]?.lease;
      // Logs half of the entries as output of the service.
      const full =
        next % 2 === 0
          ? lease?.log({ ...source, severity: "INFO", text })
          : lease?.logOutput({ ...source, lines: Buffer.from(`${text}\n`) });
      expect(full).toBeUndefined();
    }
  }

  meter(engine: number, grains: bigint): void {
    this.used += grains;
    this.#engines.all[engine]?.lease.meter([{ ...usageKey, grains }]);
  }
}

type Step = (engines: LeasedEngines, reports: Reports, clock: ManualClock) => void | Promise<void>;

const engine = fc.nat(ENGINES - 1);
const log = fc.tuple(engine, fc.constantFrom("app", "other"), fc.integer({ min: 1, max: 600 })).map(
  (args): Step =>
    (_engines, reports) =>
      reports.log(...args),
);
const meter = fc.tuple(engine, fc.bigInt({ min: 1n, max: 10n ** 15n })).map(
  (args): Step =>
    (_engines, reports) =>
      reports.meter(...args),
);
const move = fc.tuple(engine, fc.nat(30)).map(
  ([to, count]): Step =>
    async (engines, reports) => {
      if (to === engines.holder) return;
      await engines.move(to, async () => {
        for (let number = 0; number < ENGINES; number++) reports.log(number, "app", count);
        await sleep(1);
        for (let number = 0; number < ENGINES; number++) reports.log(number, "app", count);
      });
    },
);
const others = fc.constantFrom<Step>(
  ({ relay }) => relay.cut(),
  ({ relay }) => {
    relay.dropped += 1;
  },
  (_engines, _records, clock) => clock.advance(1),
  async () => void (await sleep(1)),
);
const step = fc.oneof(
  { weight: 4, arbitrary: log },
  { weight: 2, arbitrary: meter },
  { weight: 1, arbitrary: move },
  { weight: 3, arbitrary: others },
);

/** Returns the number of each service's and engine's entries. Checks their order, and that positions have no gaps. */
const readLog = (dataDir: string): Map<string, number> => {
  using db = new DatabaseSync(logPath(join(dataDir, "logs"), owner), { readOnly: true });
  const rows = db.prepare("SELECT service, CAST(ns AS TEXT) AS time, ord, text FROM entries ORDER BY service, ns, ord");
  const seen = new Map<string, number>();
  let [last, ordinal] = ["", 0];
  for (const { service, time, ord, text } of rows.iterate() as Iterable<Record<string, number | string>>) {
    const [number, at] = String(text).split(" ");
    const key = `${service} ${number}`;
    expect(Number(at), key).toBe((seen.get(key) ?? 0) + 1);
    seen.set(key, Number(at));
    ordinal = last === `${service} ${time}` ? ordinal + 1 : 0;
    last = `${service} ${time}`;
    expect(ord, "ordinals without a gap").toBe(ordinal);
  }
  return seen;
};

const readUsage = (dataDir: string): unknown => {
  using db = new DatabaseSync(join(dataDir, "billing.sqlite"), { readOnly: true });
  const sum = db.prepare("SELECT coalesce(sum(grains), 0) AS grains FROM usage");
  sum.setReadBigInts(true);
  return sum.get()?.["grains"];
};

test(
  "no entry is lost, none is written twice, each service's entries keep their order, and usage is exact",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const clock = createManualClock();
        await using engines = await LeasedEngines.open({ clock });
        const reports = new Reports(engines);
        for (let number = 0; number < ENGINES; number++) reports.log(number, "app", 1);
        for (const one of steps) await one(engines, reports, clock);
        await engines.close();
        expect(readLog(engines.dataDir)).toEqual(reports.logged);
        expect(readUsage(engines.dataDir)).toEqual(reports.used);
        expect(engines.all.flatMap(({ logged }) => logged)).toEqual([]);
      }),
      runs(25),
    );
  },
  within(),
);
