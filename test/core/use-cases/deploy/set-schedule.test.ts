/** When a deploy sets, replaces or removes its schedule, and how it reports a failed scheduler. */
import { describe, expect, test } from "vitest";
import { faulty } from "../../../../adapters/memory/index.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Scheduler } from "../../../../core/ports/scheduler.ts";
import { okAsync, ResultAsync } from "../../../../core/result.ts";
import {
  deployed,
  ended,
  listed,
  type MemoryPlatform,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const daily = { schedule: "0 9 * * *", timezone: "Europe/Paris" };

const jobOf = async ({ memory, principal }: MemoryPlatform, name = "app") =>
  (await memory.provider.scheduler.find({ name: name as DeploymentName, owner: principal().account }))._unsafeUnwrap();

const tokenOf = async ({ memory, principal }: MemoryPlatform, name = "app") => {
  const services = (await memory.provider.services.list(principal().account))._unsafeUnwrap();
  return services.find((one) => one.name === name)?.serving[0]?.template.cronToken;
};

const withScheduler = (change: (scheduler: Scheduler, platform: () => MemoryPlatform) => Partial<Scheduler>) => {
  const platform: MemoryPlatform = startMemory({
    around: ({ scheduler }) => ({ scheduler: { ...scheduler, ...change(scheduler, () => platform) } }),
  });
  return platform;
};

describe("a schedule", () => {
  test("is set when the revision serves, and announced last", async () => {
    const served: unknown[] = [];
    const platform = withScheduler((scheduler, self) => ({
      put: (job, options) =>
        new ResultAsync(tokenOf(self()).then((token) => okAsync(served.push(token === job.token)))).andThen(() =>
          scheduler.put(job, options),
        ),
    }));
    const records = await deployed(platform, { ...daily, timeout: 3600 });
    expect(served).toEqual([true]);
    expect(recordTexts(records).slice(-2)).toEqual([
      "DEPLOYING Scheduled: 0 9 * * * (Europe/Paris)",
      "DONE Revision app-00001 serves all traffic",
    ]);
    expect(await jobOf(platform)).toEqual({
      name: "app",
      owner: "acme",
      schedule: { cron: "0 9 * * *", timezone: "Europe/Paris" },
      token: await tokenOf(platform),
      url: "https://app.memory.invalid",
      // The deploy declares an hour; the scheduler waits at most half an hour.
      maxSeconds: 1800,
    });
  });

  test("is replaced, and set again by a deploy that repeats it", async () => {
    const platform = startMemory();
    await deployed(platform, daily);
    const records = await deployed(platform, { schedule: { cron: "*/5 * * * *", timezone: "" }, timeout: 60 });
    expect(recordTexts(records)).toContain("DEPLOYING Scheduled: */5 * * * * (UTC)");
    expect(await jobOf(platform)).toMatchObject({ schedule: { cron: "*/5 * * * *" }, maxSeconds: 60 });
    const app = { name: "app" as DeploymentName, owner: platform.principal().account };
    (await platform.memory.provider.scheduler.remove(app))._unsafeUnwrap();
    await deployed(platform, { schedule: "*/5 * * * *" });
    expect(await jobOf(platform)).not.toBeNull();
  });

  test("is removed by a deploy without one, which announces it once", async () => {
    const platform = startMemory();
    await deployed(platform, daily);
    expect(recordTexts(await deployed(platform))).toContain("DEPLOYING Schedule removed");
    expect(await jobOf(platform)).toBeNull();
    expect(recordTexts(await deployed(platform)).join()).not.toContain("Schedule");
  });

  test("left by an interrupted deploy is removed by the next one", async () => {
    const platform = startMemory();
    await deployed(platform, daily);
    const job = await jobOf(platform);
    await deployed(platform);
    if (job !== null) (await platform.memory.provider.scheduler.put(job))._unsafeUnwrap();
    await deployed(platform);
    expect(await jobOf(platform)).toBeNull();
  });

  test("of a failed rollout is not set, and the previous one stays", async () => {
    let broken = false;
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method }) =>
          broken && method === "rollout" ? { failure: { reason: "crashed", message: "It crashed" } } : undefined,
        ),
      }),
    });
    await deployed(platform, daily);
    const before = await jobOf(platform);
    broken = true;
    await ended(platform, { schedule: "* * * * *" });
    expect(await jobOf(platform)).toEqual(before);
  });
});

describe("a scheduler that fails", () => {
  const down = { error: unavailable("The clock is down.") };

  test.each([
    ["put", "its schedule could not be set: The clock is down. Deploy again to set it."],
    ["remove", "the schedule could not be removed: The clock is down. Deploy again to remove it."],
  ])("at %s: schedule_failed, and the new revision serves", async (method, problem) => {
    let broken = false;
    const platform = startMemory({
      around: ({ scheduler }) => ({
        scheduler: faulty(scheduler, (call) => (broken && call.method === method ? down : undefined)),
      }),
    });
    await deployed(platform, { ...daily, port: 3000 });
    broken = true;
    const last = (await ended(platform, { port: 4000, ...(method === "put" ? daily : {}) })).at(-1);
    expect(last).toMatchObject({
      status: "ERROR",
      reason: "schedule_failed",
      message: `The new revision serves, but ${problem}`,
    });
    expect(await listed(platform)).toMatchObject([
      { status: "READY", port: 4000, last_deploy: { reason: "schedule_failed" } },
    ]);
    broken = false;
    await deployed(platform, { port: 4000 });
    expect(await jobOf(platform)).toBeNull();
  });

  test("by hanging: schedule_failed after 60 s, and the call is aborted", async () => {
    let told = false;
    const platform = withScheduler(() => ({
      put: (_job, { signal } = {}) => {
        signal?.addEventListener("abort", () => {
          told = true;
        });
        return new ResultAsync(new Promise(() => undefined));
      },
    }));
    const last = (await ended(platform, daily)).at(-1);
    expect(last).toMatchObject({ reason: "schedule_failed", time: "2026-01-01T00:01:00+00:00" });
    expect(last?.message).toContain("The provider took longer than 60 s.");
    expect(told).toBe(true);
  });
});

describe("CRON_TOKEN", () => {
  test("stays the same across deploys, and differs between deployments", async () => {
    const platform = startMemory();
    await deployed(platform);
    const token = await tokenOf(platform);
    expect(token).toMatch(/^[A-Za-z0-9]{40}$/);
    await deployed(platform, daily);
    await deployed(platform, { port: 3000 });
    expect(await tokenOf(platform)).toBe(token);
    await deployed(platform, { function_name: "web" });
    expect(await tokenOf(platform, "web")).not.toBe(token);
  });

  test("of a failed first deploy is reused by the next one", async () => {
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method, count }) =>
          method === "rollout" && count === 1
            ? { failure: { reason: "crashed", message: "It crashed" }, after: true }
            : undefined,
        ),
      }),
    });
    await ended(platform, daily);
    const token = await tokenOf(platform);
    await deployed(platform, daily);
    expect(await tokenOf(platform)).toBe(token);
    expect((await jobOf(platform))?.token).toBe(token);
  });
});

describe("removing a deployment", () => {
  const remove = ({ controlPlane, principal }: MemoryPlatform) =>
    controlPlane.deleteDeployment(principal(), { name: "app" });

  test("removes its schedule first, so that it never fires at a deleted service", async () => {
    const there: boolean[] = [];
    const platform = withScheduler((scheduler, self) => ({
      remove: (service, options) =>
        new ResultAsync(listed(self()).then((all) => okAsync(there.push(all.length === 1)))).andThen(() =>
          scheduler.remove(service, options),
        ),
    }));
    await deployed(platform, daily);
    (await remove(platform))._unsafeUnwrap();
    expect(there).toEqual([true]);
    expect(await jobOf(platform)).toBeNull();
  });

  test("fails while the scheduler is down, and the service stays", async () => {
    const platform = startMemory({
      around: ({ scheduler }) => ({
        scheduler: faulty(scheduler, ({ method, count }) =>
          method === "remove" && count === 1 ? { error: unavailable("The clock is down.") } : undefined,
        ),
      }),
    });
    await deployed(platform, daily);
    expect((await remove(platform))._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable" });
    expect(await listed(platform)).toMatchObject([{ status: "READY" }]);
    expect(await jobOf(platform)).not.toBeNull();
    expect((await remove(platform)).isOk()).toBe(true);
  });
});

test("without the capability, rejects a deploy with a schedule, and never calls the scheduler", async () => {
  const platform = startMemory({
    capabilities: { cron: { schedules: missing("no clock here"), fire: missing("no clock here"), max_seconds: 0 } },
    around: ({ scheduler }) => ({ scheduler: faulty(scheduler, () => ({ error: unavailable("There is none.") })) }),
  });
  await deployed(platform);
  await deployed(platform);
  expect((await platform.submit(daily))._unsafeUnwrapErr()).toMatchObject({
    issues: [{ path: ["schedule"], type: "unsupported", message: "no clock here" }],
  });
});
