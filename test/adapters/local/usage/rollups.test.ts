/** The engine's file of metrics: limits of its size, and the contract of the store that reads it. */
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { ReadOnlyFile } from "../../../../adapters/local/data-folder/read-only-file.ts";
import { ENGINE_FILE, openEngineFile } from "../../../../adapters/local/engine/engine-file.ts";
import { createMetricStore, RollupWriter } from "../../../../adapters/local/usage/rollups.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import {
  countRequest,
  createRollup,
  observedMillisOf,
  type Rollup,
  renderRollup,
  requestsOf,
} from "../../../../core/domain/usage/rollup.ts";
import { instantOfSeconds, secondsOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { contractTests, freshNames, metricStoreCases } from "../../../contracts/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const DAY_MS = 86_400_000;
const scope = { owner: "acme" as AccountId, name: "app" as DeploymentName };

/** @param maxRows the maximum number of rollups in the file */
const openStore = (dataDir: string, clock: ManualClock, maxRows?: number) => {
  const { logger, logged } = recordingLogger();
  const file = openEngineFile(dataDir, logger);
  const reader = new ReadOnlyFile(join(dataDir, ENGINE_FILE), () => undefined);
  return {
    file,
    logged,
    writer: new RollupWriter(file, clock, logger, maxRows),
    metrics: createMetricStore(reader),
    close: () => {
      reader[Symbol.dispose]();
      file.close();
    },
  };
};

const oneRequest = (): Rollup => {
  const rollup = createRollup();
  countRequest(rollup, 200, 5);
  return rollup;
};

const rowAt = (minute: number) => ({ ...scope, minute, rollup: renderRollup(oneRequest()) });

const folder = folderWith();
afterAll(() => folder[Symbol.dispose]());

contractTests("local metrics", metricStoreCases, async () => {
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const start = secondsOf(clock.now());
  const { writer, metrics, close } = openStore(folder.path, clock);
  let at = 0;
  const subject = {
    metrics,
    start,
    ...freshNames("metrics"),
    add: async ({ owner, name }: typeof scope, minute: number, rollup: Rollup) => {
      if (minute > at) await clock.advance((minute - at) * 1000);
      at = Math.max(at, minute);
      writer.add([{ owner, name, minute: start + minute, rollup: renderRollup(rollup) }], 10_000);
    },
  };
  return { subject, close: async () => close() };
});

test("adds the rollups of two engines, and counts the observed time of one", async () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const { writer, metrics, close } = openStore(own.path, clock);
  const minute = secondsOf(clock.now());
  writer.add([rowAt(minute)], 10_000);
  writer.add([rowAt(minute)], 0);
  const [step] =
    (await metrics.read([scope], { from: instantOfSeconds(minute), step: 60, count: 1 }))._unsafeUnwrap()[0] ?? [];
  expect([requestsOf(step as Rollup, "2xx"), observedMillisOf(step as Rollup)]).toEqual([2, 10_000]);
  close();
});

test("adds up the observed time of each step, even for an idle deployment", async () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const { writer, metrics, close } = openStore(own.path, clock);
  const window = { from: clock.now(), step: 120, count: 3 };
  for (const millis of [1000, 200, 30]) {
    writer.add([], millis);
    await clock.advance(60_000);
  }
  const steps = (await metrics.read([scope], window))._unsafeUnwrap()[0] ?? [];
  expect(steps.map((step) => step && observedMillisOf(step))).toEqual([1200, 30, null]);
  close();
});

test("computes the observed time once for all deployments of a read", async () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const { writer, close } = openStore(own.path, clock);
  const window = { from: clock.now(), step: 60, count: 1 };
  writer.add([rowAt(secondsOf(clock.now()))], 10_000);
  const reader = new ReadOnlyFile(join(own.path, ENGINE_FILE), () => undefined);
  const statements: string[] = [];
  const metrics = createMetricStore({
    use: (work) =>
      reader.use((db) => {
        const prepare = vi.spyOn(db, "prepare");
        const result = work(db);
        statements.push(...prepare.mock.calls.map(([sql]) => sql));
        prepare.mockRestore();
        return result;
      }),
  });
  const observed = () => statements.filter((sql) => sql.includes("observed_minutes")).length;
  const scopes = ["app", "web", "api"].map((name) => ({ ...scope, name: name as DeploymentName }));
  const all = (await metrics.read(scopes, window))._unsafeUnwrap();
  expect(all.map(([step]) => step && observedMillisOf(step))).toEqual([10_000, 10_000, 10_000]);
  expect(observed()).toBe(1);
  reader[Symbol.dispose]();
  close();
});

test("runs other work between two reads", async () => {
  using own = folderWith();
  const { metrics, close } = openStore(own.path, createManualClock("2026-03-01T12:00:00Z"));
  let ran = false;
  setImmediate(() => {
    ran = true;
  });
  expect((await metrics.read([scope], { from: instantOfSeconds(0), step: 60, count: 1 })).isOk()).toBe(true);
  expect(ran).toBe(true);
  close();
});

test("keeps metrics for seven days, even across a restart", async () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const start = secondsOf(clock.now());
  const first = openStore(own.path, clock);
  first.writer.add([rowAt(start)], 10_000);
  await clock.advance(DAY_MS);
  first.writer.add([rowAt(start + 86_400)], 10_000);
  first.close();
  const second = openStore(own.path, clock);
  const days = async () => {
    const steps = await second.metrics.read([scope], { from: instantOfSeconds(start), step: 3600, count: 25 });
    const all = steps._unsafeUnwrap()[0] ?? [];
    return [all[0], all[24]].map((step) => (step == null ? null : requestsOf(step, "2xx")));
  };
  await clock.advance(6 * DAY_MS);
  second.writer.add([], 10_000);
  expect(await days()).toEqual([1, 1]);
  await clock.advance(2 * 3_600_000);
  second.writer.add([], 10_000);
  expect(await days()).toEqual([null, 1]);
  second.close();
});

test("deletes the oldest rollups if there are too many", async () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const start = secondsOf(clock.now());
  const { writer, file, close } = openStore(own.path, clock, 10);
  for (let minute = 0; minute < 30; minute++) writer.add([rowAt(start + minute * 60)], 1);
  await clock.advance(3_600_000);
  writer.add([], 1);
  const kept = file.use((db) => db.prepare("SELECT minute FROM rollups ORDER BY minute").all()) as { minute: number }[];
  expect(kept.map(({ minute }) => (minute - start) / 60)).toEqual([20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
  close();
});

test("a failed write loses its rollups and does not affect later ones", () => {
  using own = folderWith();
  const clock = createManualClock("2026-03-01T12:00:00Z");
  const { file, writer, logged, close } = openStore(own.path, clock);
  const minute = secondsOf(clock.now());
  file.use((db) => db.exec("ALTER TABLE rollups RENAME TO away"));
  writer.add([rowAt(minute)], 10_000);
  expect(logged).toEqual([expect.stringContaining("could not write metrics; those of the last seconds are lost")]);
  file.use((db) => db.exec("ALTER TABLE away RENAME TO rollups"));
  writer.add([rowAt(minute)], 10_000);
  expect(file.use((db) => db.prepare("SELECT COUNT(*) AS n FROM rollups").get())).toEqual({ n: 1 });
  expect(file.use((db) => db.prepare("SELECT millis FROM observed_minutes").get())).toEqual({ millis: 10_000 });
  close();
});
