/** EventBridge Scheduler's schedules match the declared ones, despite failing calls, and fire on time. */

import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { expressionsOf } from "../../../../adapters/aws/schedules/expression.ts";
import { parseSchedule, renderSchedules, scheduleNames } from "../../../../adapters/aws/schedules/job.ts";
import { createAwsScheduler } from "../../../../adapters/aws/schedules/scheduler.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { CronJob } from "../../../../core/domain/schedules/cron-job.ts";
import { nextFires } from "../../../../core/domain/schedules/fire-times.ts";
import { parseCron } from "../../../../core/domain/schedules/schedule.ts";
import { type Instant, millisOf, parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { schedule as schedules } from "../../../arbitraries/index.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import { every } from "../../../contracts/log-steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import { fiveFields } from "../../../fakes/aws/scheduler/rules.ts";
import { type FakeEventBridge, startFakeEventBridge } from "../../../fakes/aws/scheduler/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { type Listener, listen } from "../../../support/http/listener.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { runs } from "../../../support/vitest/runs.ts";

const NOW = parseInstant("2026-01-01T00:00:00Z") as Instant;
const { shared } = awsConfig;

const job = (change: Partial<CronJob> = {}): CronJob => ({
  name: "app" as DeploymentName,
  owner: "acme" as AccountId,
  schedule: { cron: "0 4 * * *", timezone: "Europe/Paris" },
  token: "a-token",
  url: "http://127.0.0.1:9",
  maxSeconds: 60,
  ...change,
});

const BOTH = "0 9 1,15 * 1";

describe("an expression", () => {
  test.each([
    ["0 4 * * *", ["cron(0 4 * * ? *)"]],
    ["*/5 0 * * *", ["cron(0,5,10,15,20,25,30,35,40,45,50,55 0 * * ? *)"]],
    ["0 9 * * 1-5", ["cron(0 9 ? * 2-6 *)"]],
    ["0 9 * jan-mar sun,7", ["cron(0 9 ? 1-3 1 *)"]],
    ["0 9 1 * *", ["cron(0 9 1 * ? *)"]],
    ["0 9 1-31 * 1", ["cron(0 9 * * ? *)"]],
    [BOTH, ["cron(0 9 1,15 * ? *)", "cron(0 9 ? * 2 *)"]],
    ["0 9 */10 * 1", ["cron(0 9 ? * 2 *)"]],
    ["0 9 30 2 1", ["cron(0 9 ? 2 2 *)"]],
  ])("%s", (cron, wanted) => {
    expect(expressionsOf(cron).flatMap((one) => one?.text ?? [])).toEqual(wanted);
    for (const text of wanted) expect(fiveFields(text), text).toBeDefined();
  });

  /**
   * The fires of the rendered schedules, with day conditions applied as the function does. They are complete up to
   * `until`.
   */
  const firesOf = (cron: string, count: number): { readonly fires: number[]; readonly until: number } => {
    let until = Number.POSITIVE_INFINITY;
    const fires = expressionsOf(cron).flatMap((expression) => {
      if (expression === undefined) return [];
      const { text, days } = expression;
      const all = nextFires({ cron: fiveFields(text) as string, timezone: "UTC" }, NOW, count).map(millisOf);
      if (all.length === count) until = Math.min(until, all.at(-1) ?? 0);
      const day = (at: number) => new Date(at).getUTCDate();
      if (days === undefined) return all;
      return all.filter((at) => ("only" in days ? days.only.includes(day(at)) : !days.not.includes(day(at))));
    });
    return { fires: fires.toSorted((a, b) => a - b), until };
  };

  test("fires at the core's times, and never twice", () => {
    let compared = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          schedules().map(({ cron }) => cron),
          fc.constantFrom(BOTH, "0 0 */2 * 1-5", "5 5 */2 * */3", "0-1 0-3 6 * */4", "0 9 31 2,4 1"),
        ),
        (cron) => {
          fc.pre(typeof parseCron(cron) !== "string");
          const { fires, until } = firesOf(cron, 480);
          const wanted = nextFires({ cron, timezone: "UTC" }, NOW, 480).map(millisOf);
          const end = wanted.length === 480 ? Math.min(until, wanted.at(-1) ?? 0) : until;
          const expected = wanted.filter((at) => at <= end);
          expect(fires.filter((at) => at <= end)).toEqual(expected);
          compared += expected.length;
        },
      ),
      runs(150),
    );
    expect(compared).toBeGreaterThan(150);
  });
});

describe("a schedule", () => {
  test("parses to the schedule that it was rendered from", () =>
    fc.assert(
      fc.property(
        schedules(),
        fc.integer({ min: 1, max: 840 }),
        fc.string({ minLength: 1 }),
        (schedule, maxSeconds, token) => {
          const one = job({ schedule, maxSeconds, token });
          for (const { Target } of renderSchedules(shared, one, NOW))
            expect(parseSchedule(one, Target.Input)).toEqual(one);
        },
      ),
      runs(50),
    ));
  test("contains every setting of the fire policy, and no account id", () => {
    const [rendered] = renderSchedules(shared, job({ owner: "ann@example.com" as AccountId }), NOW);
    expect(rendered).toMatchObject({
      ScheduleExpressionTimezone: "Europe/Paris",
      FlexibleTimeWindow: { Mode: "OFF" },
      Target: {
        Arn: shared.cronFunctionArn,
        RoleArn: shared.schedulerRoleArn,
        RetryPolicy: { MaximumRetryAttempts: 3, MaximumEventAgeInSeconds: 60 },
      },
    });
    expect(JSON.parse(rendered?.Target.Input ?? "")).toMatchObject({ delays: [5000, 10_000, 20_000], gap: 82_800 });
    expect(JSON.stringify(rendered)).not.toContain("ann");
  });
  test("is ignored if the platform did not create it", () => {
    for (const input of [undefined, "by hand", "null", '{"portside":2}'])
      expect(parseSchedule(job(), input)).toBeNull();
  });
  test("has a unique name, however long the deployment's name is", () => {
    const names = ["a", "a".repeat(49)].flatMap((name) => scheduleNames(job({ name: name as DeploymentName })));
    expect(new Set(names).size).toBe(4);
    for (const name of names) expect(name).toMatch(/^[0-9a-zA-Z-_.]{1,64}$/);
  });
});

describe("calls", () => {
  const clock = createManualClock();
  let fake: FakeEventBridge;
  beforeAll(async () => {
    fake = await startFakeEventBridge({ clock });
  });
  afterEach(() => fake.faults.clear());
  afterAll(() => fake.close());
  const scheduler = () =>
    createAwsScheduler(awsConfig, fixedClients<AwsClients>({ scheduler: fake.client }), {
      clock: createLeapingClock(),
      ids: randomIds,
      logger: silentLogger,
    });
  const both = job({ schedule: { cron: BOTH, timezone: "UTC" } });

  test("a put takes two calls for an existing schedule, three for a missing one; only some expressions need two schedules", async () => {
    await expectOk(scheduler().put(job()));
    expect(fake.faults.log).toEqual(["UpdateSchedule", "CreateSchedule", "DeleteSchedule"]);
    fake.faults.clear();
    await expectOk(scheduler().put(job({ maxSeconds: 30 })));
    await expectOk(scheduler().find(job()));
    expect(fake.faults.log).toEqual(["UpdateSchedule", "DeleteSchedule", "GetSchedule"]);
    await expectOk(scheduler().put(both));
    expect(fake.schedules()).toHaveLength(2);
    expect(await expectOk(scheduler().find(job()))).toEqual(both);
    await expectOk(scheduler().put(job()));
    expect(fake.schedules()).toHaveLength(1);
    await expectOk(scheduler().remove(job()));
    expect(fake.schedules()).toEqual([]);
  });

  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("are retried after one failure, before or after the effect", async () => {
    for (const kind of passing)
      for (const nth of [1, 2, 3, 4]) {
        fake.faults.inject({ nth, kind });
        await expectOk(scheduler().put(both));
        expect(await expectOk(scheduler().find(both))).toEqual(both);
        expect(fake.schedules(), `${kind} ${nth}`).toHaveLength(2);
        fake.faults.clear();
        fake.faults.inject({ nth: (nth % 2) + 1, kind });
        await expectOk(scheduler().remove(both));
        expect(fake.schedules()).toEqual([]);
        fake.faults.clear();
      }
  });

  test("fail as unavailable if they are denied, without Amazon's message, and a repeat completes them", async () => {
    for (const nth of [1, 2, 3, 4]) {
      fake.faults.inject({ nth, kind: "permission_denied" });
      const failed = await expectError(scheduler().put(both));
      expect(failed).toMatchObject({ kind: "unavailable", message: expect.not.stringContaining("authorized") });
      fake.faults.clear();
      await expectOk(scheduler().put(both));
      expect(fake.schedules()).toHaveLength(2);
      for (const at of [1, 2]) {
        fake.faults.inject({ nth: at, kind: "permission_denied" });
        await expectError(scheduler().remove(both));
        fake.faults.clear();
      }
      // `remove` deletes the schedule that `find` reads last.
      expect(await expectOk(scheduler().find(both))).toEqual(both);
      await expectOk(scheduler().remove(both));
      expect(fake.schedules()).toEqual([]);
    }
  });

  test("enable a schedule that was paused by hand", async () => {
    const { UpdateScheduleCommand } = await import("@aws-sdk/client-scheduler");
    await expectOk(scheduler().put(job()));
    await fake.client.send(new UpdateScheduleCommand({ ...fake.schedules()[0], State: "DISABLED" }));
    await expectOk(scheduler().put(job()));
    expect(fake.schedules()).toMatchObject([{ State: "ENABLED" }]);
    await expectOk(scheduler().remove(job()));
  });

  test("fail as unavailable if EventBridge Scheduler rejects the schedule", async () => {
    const config = { ...awsConfig, shared: { ...shared, cronFunctionArn: "no ARN" } };
    const deps = { clock: createLeapingClock(), ids: randomIds, logger: silentLogger };
    const strange = createAwsScheduler(config, fixedClients<AwsClients>({ scheduler: fake.client }), deps);
    expect(await expectError(strange.put(job()))).toMatchObject({ kind: "unavailable" });
  });
});

describe("a fire", () => {
  let listener: Listener;
  beforeAll(async () => {
    listener = await listen();
  });
  afterAll(() => listener.close());

  const fired = async (
    statuses: readonly number[],
    minutes: number,
    cron = "0 9 * * *",
    start = "2026-01-31T08:58:30Z",
  ) => {
    const clock = createManualClock(start);
    const cloudWatch = await startFakeCloudWatch({ clock });
    const fake = await startFakeEventBridge({ clock, logs: cloudWatch.client });
    const deps = { clock, ids: randomIds, logger: silentLogger };
    const clients = fixedClients<AwsClients>({ scheduler: fake.client, logs: cloudWatch.client });
    listener.answer(statuses);
    const one = job({ url: listener.url, schedule: { cron, timezone: "UTC" } });
    await expectOk(createAwsScheduler(awsConfig, clients, deps).put(one));
    for (let second = 0; second < minutes * 60; second++) {
      await clock.advance(1000);
      await listener.quiet();
    }
    const scope = { owner: one.owner, service: one.name };
    const { entries } = await expectOk(createAwsLogs(awsConfig, clients, deps).newest(scope, every()));
    await fake.close();
    await cloudWatch.close();
    return { seen: listener.seen(), entries };
  };

  test("is POST /cron with the token and the scheduled time, and an entry in the log", async () => {
    const { seen, entries } = await fired([204], 3);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      method: "POST",
      path: "/cron",
      headers: { "x-cron-token": "a-token", "x-cron-time": "2026-01-31T09:00:00Z", "user-agent": "portside-cron" },
    });
    expect(entries).toMatchObject([
      { logName: "platform", severity: "INFO", json: { event: "cron", attempt: 1, status: 204 } },
    ]);
  });

  test("is retried three times after a failure, after 5, 10 and 20 seconds; a 4xx ends it", async () => {
    const { seen, entries } = await fired([500, 503, 500, 500, 500], 4);
    expect(seen).toHaveLength(4);
    expect(entries.map(({ severity }) => severity)).toEqual(["WARNING", "WARNING", "WARNING", "ERROR"]);
    expect((await fired([500, 204], 4)).seen).toHaveLength(2);
    // The load balancer's answer to HTTP/1.1, if the service speaks HTTP/2.
    expect((await fired([464, 204], 4)).seen).toHaveLength(2);
    const refused = await fired([404, 204], 4);
    expect(refused.seen).toHaveLength(1);
    expect(refused.entries).toMatchObject([{ severity: "ERROR", json: { status: 404 } }]);
  });

  test("that is due in both of its schedules is sent once", async () => {
    // 2026-06-01 is a Monday.
    expect((await fired([204], 3, "0 9 1 * 1", "2026-06-01T08:58:30Z")).seen).toHaveLength(1);
    expect((await fired([204], 3, "0 9 1 * 1", "2026-06-08T08:58:30Z")).seen).toHaveLength(1);
    expect((await fired([204], 3, "0 9 1 * 1", "2026-07-01T08:58:30Z")).seen).toHaveLength(1);
    expect((await fired([204], 3, "0 9 1 * 1", "2026-07-02T08:58:30Z")).seen).toHaveLength(0);
  });
});
