/** The fake Cloud Scheduler behaves as its proto says, as seen by the official client. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { type FakeScheduler, startFakeScheduler } from "../../../fakes/gcp/scheduler/server.ts";
import { type Listener, listen } from "../../../support/http/listener.ts";

const clock = createManualClock("2026-01-31T09:00:30Z");
const parent = "projects/test-project/locations/europe-west1";
let fake: FakeScheduler;
let listener: Listener;
beforeAll(async () => {
  fake = await startFakeScheduler({ clock });
  listener = await listen();
});
afterAll(async () => {
  await fake.close();
  await listener.close();
});

const once = { retry: null } as const;
const job = (id: string, change: object = {}) => ({
  name: `${parent}/jobs/${id}`,
  schedule: "0 4 * * *",
  timeZone: "UTC",
  httpTarget: { uri: `${listener.url}/cron`, httpMethod: "POST" as const },
  ...change,
});
const create = (id: string, change: object = {}) => fake.client.createJob({ parent, job: job(id, change) }, once);

test("creates a job once, and gets, updates by mask and deletes it", async () => {
  const [made] = await create("a", { description: "one" });
  expect(made).toMatchObject({ state: "ENABLED", attemptDeadline: { seconds: "180" }, retryConfig: null });
  expect(Number(made.userUpdateTime?.seconds)).toBeGreaterThan(0);
  await expect(create("a")).rejects.toMatchObject({ code: 6 });
  const name = `${parent}/jobs/a`;
  const changed = { job: job("a", { schedule: "5 4 * * *", description: "two" }), updateMask: { paths: ["schedule"] } };
  expect((await fake.client.updateJob(changed, once))[0]).toMatchObject({ schedule: "5 4 * * *", description: "one" });
  await fake.client.deleteJob({ name }, once);
  await expect(fake.client.getJob({ name }, once)).rejects.toMatchObject({ code: 5 });
  await expect(fake.client.deleteJob({ name }, once)).rejects.toMatchObject({ code: 5 });
  await expect(fake.client.updateJob(changed, once)).rejects.toMatchObject({ code: 5 });
});

test("rejects values that the proto does not allow as invalid arguments", async () => {
  const seconds = (value: number) => ({ seconds: value });
  for (const change of [
    { name: `${parent}/jobs/a b` },
    { name: "projects/p/locations/elsewhere/jobs/a" },
    { schedule: "every day" },
    { timeZone: "Mars/Olympus" },
    { description: "x".repeat(501) },
    { attemptDeadline: seconds(14) },
    { attemptDeadline: seconds(1801) },
    { retryConfig: { retryCount: 6 } },
    { httpTarget: { uri: "ftp://x" } },
    { httpTarget: { uri: `http://${"x".repeat(2083)}` } },
    { httpTarget: { uri: "http://x", headers: { a: "x".repeat(81_920) } } },
  ])
    await expect(create("bad", change), JSON.stringify(change).slice(0, 60)).rejects.toMatchObject({ code: 3 });
});

test("lists by pages, pauses and resumes", async () => {
  for (const id of ["p1", "p2", "p3"]) await create(id);
  const [first, , answer] = await fake.client.listJobs({ parent, pageSize: 2 }, { ...once, autoPaginate: false });
  expect([first.length, answer?.nextPageToken]).toEqual([2, "2"]);
  const name = `${parent}/jobs/p1`;
  await expect(fake.client.resumeJob({ name }, once)).rejects.toMatchObject({ code: 9 });
  expect((await fake.client.pauseJob({ name }, once))[0].state).toBe("PAUSED");
  await expect(fake.client.pauseJob({ name }, once)).rejects.toMatchObject({ code: 9 });
  expect((await fake.client.resumeJob({ name }, once))[0].state).toBe("ENABLED");
});

const minutes = async (count: number) => {
  for (let second = 0; second < count * 60; second++) {
    await clock.advance(1000);
    await listener.quiet();
  }
};

test("fires on time over HTTP with its own headers, and not while paused", async () => {
  listener.answer([]);
  const headers = { "User-Agent": "mine", "X-CloudScheduler-ScheduleTime": "mine", "X-Own": "kept" };
  await create("f", { schedule: "* * * * *", httpTarget: { uri: `${listener.url}/cron`, headers } });
  await minutes(2);
  const name = `${parent}/jobs/f`;
  await fake.client.pauseJob({ name }, once);
  await minutes(2);
  expect(listener.seen()).toHaveLength(2);
  expect(listener.seen()[0]).toMatchObject({
    method: "POST",
    headers: {
      "user-agent": "Google-Cloud-Scheduler",
      "x-cloudscheduler": "true",
      "x-cloudscheduler-jobname": "f",
      "x-cloudscheduler-scheduletime": "2026-01-31T09:01:00+00:00",
      "x-own": "kept",
    },
  });
  await fake.client.runJob({ name }, once);
  await fake.settled();
  expect(listener.seen()).toHaveLength(3);
  await fake.client.deleteJob({ name }, once);
});

test("retries responses other than 2xx as often as configured", async () => {
  listener.answer([404, 302, 200]);
  const retryConfig = { retryCount: 2, minBackoffDuration: { seconds: 5 } };
  await create("r", { schedule: "* * * * *", retryConfig });
  await minutes(1);
  expect(listener.seen()).toHaveLength(3);
  await fake.client.deleteJob({ name: `${parent}/jobs/r` }, once);
});
