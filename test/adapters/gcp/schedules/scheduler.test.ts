/** Cloud Scheduler's jobs match the declared schedules, despite failing calls, and fire on time. */

import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import { cloudCron } from "../../../../adapters/gcp/schedules/cron-text.ts";
import { parseJob, renderJob } from "../../../../adapters/gcp/schedules/job.ts";
import { createGcpScheduler } from "../../../../adapters/gcp/schedules/scheduler.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { CronJob } from "../../../../core/domain/schedules/cron-job.ts";
import { parseCron } from "../../../../core/domain/schedules/schedule.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { type FakeScheduler, startFakeScheduler } from "../../../fakes/gcp/scheduler/server.ts";
import { gcpConfig } from "../../../fakes/gcp/test-project.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { type Listener, listen } from "../../../support/http/listener.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

const job = (change: Partial<CronJob> = {}): CronJob => ({
  name: "app" as DeploymentName,
  owner: "acme" as AccountId,
  schedule: { cron: "0 4 * * *", timezone: "Europe/Paris" },
  token: "a-token",
  url: "http://127.0.0.1:9",
  maxSeconds: 60,
  ...change,
});

describe("a job", () => {
  const crons = fc.constantFrom("*/5 0 1 1 1-5", "0 9 * jan mon", "0 0 * * 5-7", "1 2 3 4 7", "59 23 31 12 sat,sun");
  test("parses to the schedule that it was rendered from", () =>
    fc.assert(
      fc.property(crons, fc.integer({ min: 1, max: 1800 }), fc.string({ minLength: 1 }), (cron, maxSeconds, token) => {
        const one = job({ schedule: { cron, timezone: "UTC" }, maxSeconds, token });
        expect(parseJob(one, renderJob(gcpConfig, one))).toEqual(one);
      }),
    ));
  test("fires at the same times in Cloud Scheduler's syntax", () =>
    fc.assert(
      fc.property(crons, (cron) => {
        expect(parseCron(cloudCron(cron))).toEqual(parseCron(cron));
        expect(cloudCron(cron)).toMatch(/^[^a-z]*$/);
      }),
    ));
  test("contains every setting of the fire policy, and no account id", () => {
    const rendered = renderJob(gcpConfig, job({ maxSeconds: 5, owner: "ann@example.com" as AccountId }));
    expect(rendered).toMatchObject({
      retryConfig: {
        retryCount: 3,
        minBackoffDuration: { seconds: 5 },
        maxBackoffDuration: { seconds: 20 },
        maxDoublings: 2,
      },
      attemptDeadline: { seconds: 15 },
      httpTarget: { uri: "http://127.0.0.1:9/cron", httpMethod: "POST", headers: { "X-Cron-Token": "a-token" } },
    });
    expect(JSON.stringify(rendered)).not.toContain("ann");
    expect(renderJob(gcpConfig, job({ maxSeconds: 3600 })).attemptDeadline).toMatchObject({ seconds: 1800 });
  });
  test("is ignored if the platform did not create it", () => {
    const rendered = renderJob(gcpConfig, job());
    expect(parseJob(job(), { ...rendered, description: "by hand" })).toBeNull();
    expect(parseJob(job(), { ...rendered, httpTarget: { uri: "https://example.com/other" } })).toBeNull();
  });
});

describe("calls", () => {
  const clock = createManualClock();
  let fake: FakeScheduler;
  beforeAll(async () => {
    fake = await startFakeScheduler({ clock });
  });
  afterEach(() => fake.faults.clear());
  afterAll(() => fake.close());
  const scheduler = () =>
    createGcpScheduler(gcpConfig, fixedClients<GcpClients>({ scheduler: fake.client }), {
      clock: createLeapingClock(),
      logger: silentLogger,
    });

  test("a put takes one call for an existing job and two for a missing one; other operations take one", async () => {
    await expectOk(scheduler().put(job()));
    expect(fake.faults.log).toEqual(["CloudScheduler.UpdateJob", "CloudScheduler.CreateJob"]);
    fake.faults.clear();
    await expectOk(scheduler().put(job({ maxSeconds: 30 })));
    await expectOk(scheduler().find(job()));
    await expectOk(scheduler().remove(job()));
    await expectOk(scheduler().remove(job()));
    expect(fake.faults.log).toEqual([
      "CloudScheduler.UpdateJob",
      "CloudScheduler.GetJob",
      "CloudScheduler.DeleteJob",
      "CloudScheduler.DeleteJob",
    ]);
  });

  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("are retried after one failure, before or after the effect", async () => {
    for (const kind of passing)
      for (const nth of [1, 2]) {
        fake.faults.inject({ nth, kind });
        await expectOk(scheduler().put(job()));
        expect(await expectOk(scheduler().find(job()))).toEqual(job());
        fake.faults.inject({ nth: 1, kind });
        await expectOk(scheduler().remove(job()));
        expect(fake.jobs()).toEqual([]);
      }
  });

  test("fail as unavailable if they are denied, without Google's message", async () => {
    for (const nth of [1, 2]) {
      fake.faults.clear();
      fake.faults.inject({ nth, kind: "permission_denied" });
      const failed = await expectError(scheduler().put(job()));
      expect(failed).toMatchObject({ kind: "unavailable", message: expect.not.stringContaining("permission") });
    }
    expect(fake.jobs()).toEqual([]);
  });

  test("resume a job that was paused by hand", async () => {
    await expectOk(scheduler().put(job()));
    await fake.client.pauseJob({ name: fake.jobs()[0].name });
    await expectOk(scheduler().put(job()));
    expect(fake.jobs()).toMatchObject([{ state: "ENABLED" }]);
    await expectOk(scheduler().remove(job()));
  });

  test("fail as unavailable if Cloud Scheduler rejects the job", async () => {
    const failed = await expectError(scheduler().put(job({ url: "ftp://nowhere" })));
    expect(failed).toMatchObject({ kind: "unavailable" });
  });
});

describe("a fire", () => {
  let listener: Listener;
  beforeAll(async () => {
    listener = await listen();
  });
  afterAll(() => listener.close());

  const fired = async (statuses: readonly number[], minutes: number) => {
    const clock = createManualClock("2026-01-31T08:58:30Z");
    const fake = await startFakeScheduler({ clock });
    const scheduler = createGcpScheduler(gcpConfig, fixedClients<GcpClients>({ scheduler: fake.client }), {
      clock,
      logger: silentLogger,
    });
    listener.answer(statuses);
    await expectOk(scheduler.put(job({ url: listener.url, schedule: { cron: "0 9 * * *", timezone: "UTC" } })));
    for (let second = 0; second < minutes * 60; second++) {
      await clock.advance(1000);
      await listener.quiet();
    }
    await fake.close();
    return listener.seen();
  };

  test("is POST /cron with the token and the scheduled time", async () => {
    const [one, ...more] = await fired([204], 3);
    expect(more).toEqual([]);
    expect(one).toMatchObject({
      method: "POST",
      path: "/cron",
      headers: {
        "x-cron-token": "a-token",
        "x-cloudscheduler-scheduletime": "2026-01-31T09:00:00+00:00",
        "user-agent": "Google-Cloud-Scheduler",
      },
    });
  });

  test("is retried three times after a failure, after 5, 10 and 20 seconds", async () => {
    expect(await fired([500, 500, 500, 500, 500], 4)).toHaveLength(4);
    expect(await fired([500, 204], 4)).toHaveLength(2);
  });
});
