/** The list of recent deploys: running ones, ended ones, and those that only the log contains. */
import { describe, expect, test } from "vitest";
import { createManualClock, delayed } from "../../../../adapters/memory/index.ts";
import { abandonedAfterMs, deployLimits } from "../../../../core/domain/accounts/limits.ts";
import type { DeployOutcome } from "../../../../core/domain/deploy/events.ts";
import { deployReasons } from "../../../../core/domain/deploy/reason.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync } from "../../../../core/result.ts";
import {
  accepted,
  deployed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";
import { withLastDeploy } from "../../../support/providers/with-last-deploy.ts";

const list = async (platform: MemoryPlatform, request: RawFields = {}, account?: string) =>
  platform.controlPlane.listDeploys(platform.principal(account), request);

const rows = async (platform: MemoryPlatform, request?: RawFields, account?: string) =>
  (await list(platform, request, account))._unsafeUnwrap().deploys;

const restarted = ({ memory, clock }: MemoryPlatform) => startMemory({ memory, clock });

test("lists deploys and rollbacks of all deployments, newest first, each once", async () => {
  const platform = startMemory();
  for (const name of ["app", "shop"]) {
    await deployed(platform, { function_name: name });
    await platform.clock.advance(1000);
  }
  await deployed(platform);
  await platform.clock.advance(1000);
  const rollback = await platform.controlPlane.rollback(platform.principal(), { name: "app" });
  await recordsOf(platform, rollback._unsafeUnwrap());
  const found = await rows(platform);
  expect(found.map(({ name, status, message }) => [name, status, message])).toEqual([
    ["app", "DONE", "Revision app-00003 serves all traffic"],
    ["app", "DONE", "Revision app-00002 serves all traffic"],
    ["shop", "DONE", "Revision shop-00001 serves all traffic"],
    ["app", "DONE", "Revision app-00001 serves all traffic"],
  ]);
  expect(await rows(platform, { name: "app" })).toEqual(found.filter(({ name }) => name === "app"));
  expect(await rows(platform, { limit: 2 })).toEqual(found.slice(0, 2));
});

test("a server that did not run the deploys lists them from the log", async () => {
  const platform = startMemory();
  await deployed(platform);
  await deployed(platform);
  const before = await rows(platform);
  const after = await rows(restarted(platform));
  const inWords = ({ deploy_id, name, status, reason, message }: (typeof before)[number]) =>
    [deploy_id, name, status, reason, message].join(" ");
  expect(after.map(inWords)).toEqual(before.map(inWords));
  for (const { began_at, finished_at } of after)
    expect(Date.parse(finished_at ?? "")).toBeGreaterThanOrEqual(Date.parse(began_at ?? ""));
});

test("shows a running deploy with its latest message, and a failed one with its reason", async () => {
  const platform = startMemory({
    around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }),
  });
  const run = await accepted(platform);
  const [running, ...others] = await rows(platform);
  expect(others).toEqual([]);
  expect(running).toMatchObject({ deploy_id: run.deployId, status: "BUILDING", reason: null, finished_at: null });
  // The log has only the message "A deploy began".
  expect(running?.message).toBe("Deploying as 'app'");
  const cancelled = platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: run.deployId });
  await recordsOf(platform, run);
  (await cancelled)._unsafeUnwrap();
  const failed = { deploy_id: run.deployId, status: "ERROR", reason: "interrupted" };
  expect(await rows(platform)).toMatchObject([failed]);
  expect(await rows(restarted(platform), { name: "app" })).toMatchObject([failed]);
});

describe("a deploy whose server was killed", () => {
  const interrupted = {
    status: "ERROR",
    reason: "interrupted",
    message: "The server stopped during the deploy. Deploy again.",
  };

  /** Another server of a platform whose first server was killed during a build: its clock stands still. */
  const killed = async (first = startMemory()) => {
    const slow = startMemory({
      memory: first.memory,
      clock: first.clock,
      around: ({ builder }) => ({ builder: delayed(builder, createManualClock(), () => 1) }),
      watch: { ports: (ports) => ({ ...ports, clock: createManualClock() }) },
    });
    const { deployId } = await accepted(slow);
    await expect
      .poll(() => rows(restarted(first), { name: "app" }))
      .toContainEqual(expect.objectContaining({ deploy_id: deployId, finished_at: null }));
    return { platform: restarted(first), deployId };
  };

  test.each([
    { within: "the default limits", buildDeadlineMs: deployLimits.buildDeadlineMs },
    { within: "a longer limit of builds", buildDeadlineMs: 3 * 60 * 60_000 },
  ])(
    "counts as interrupted after the longest possible duration of a deploy, with $within",
    async ({ buildDeadlineMs }) => {
      const limits = { ...deployLimits, buildDeadlineMs };
      const boundMs = abandonedAfterMs(limits);
      expect(boundMs).toBeGreaterThan(2 * buildDeadlineMs + limits.rolloutDeadlineMs + limits.scheduleDeadlineMs);
      const found = await killed();
      const { deployId } = found;
      const { memory, clock } = found.platform;
      const platform = startMemory({ memory, clock, settings: { deployLimits: limits } });
      const [before] = await rows(platform, { name: "app" });
      const past = millisOf(platform.clock.now()) - Date.parse(before?.began_at ?? "");
      await platform.clock.advance(boundMs - past - 1);
      expect(await rows(platform, { name: "app" })).toEqual([before]);
      await platform.clock.advance(1);
      const [row] = await rows(platform, { name: "app" });
      expect(row).toMatchObject({ deploy_id: deployId, ...interrupted });
      expect(Date.parse(row?.finished_at ?? "") - Date.parse(row?.began_at ?? "")).toBe(boundMs);
    },
  );

  test.each([{}, { name: "app" }])("has the end that the platform derives, for the request %j", async (request) => {
    const first = startMemory();
    await deployed(first);
    const { platform, deployId } = await killed(first);
    const finishedAt = "2026-01-01T00:00:00+00:00";
    const ending = (end: Pick<DeployOutcome, "status" | "reason">) =>
      startMemory({
        memory: platform.memory,
        clock: platform.clock,
        around: ({ services }) => ({ services: withLastDeploy(services, { deployId, finishedAt, ...end }) }),
      });
    const rowOf = async (other: MemoryPlatform) =>
      (await rows(other, request)).find((row) => row.deploy_id === deployId);
    expect(await rowOf(platform)).toMatchObject({ status: "BUILDING", finished_at: null });
    // The log may show a crash late. In that case, the message must not say that the server stopped.
    for (const reason of ["interrupted", "crashed"] as const)
      expect(await rowOf(ending({ status: "ERROR", reason }))).toMatchObject({
        status: "ERROR",
        reason,
        finished_at: finishedAt,
        message: deployReasons[reason],
      });
    expect(await rowOf(ending({ status: "DONE", reason: null }))).toMatchObject({
      status: "DONE",
      reason: null,
      finished_at: finishedAt,
      message: "The deploy succeeded. The log does not contain its last record.",
    });
  });
});

test("keeps the deploys of a deleted deployment, and hides all of them from another account", async () => {
  const platform = startMemory();
  await deployed(platform);
  const own = await rows(platform, { name: "app" });
  (await platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" }))._unsafeUnwrap();
  expect(await rows(platform, { name: "app" })).toEqual(own);
  expect((await list(platform, { name: "app" }, "other"))._unsafeUnwrapErr().kind).toBe("forbidden");
  expect(await rows(platform, {}, "other")).toEqual([]);
  expect((await list(platform, { name: "nothing" }))._unsafeUnwrapErr()).toMatchObject({
    kind: "not_found",
    message: "The deployment 'nothing' does not exist.",
  });
});

test("reports a partial list if a search ends early", async () => {
  const platform = startMemory({
    around: ({ logs }) => ({
      logs: { ...logs, newest: (...args) => logs.newest(...args).map((found) => ({ ...found, partial: true })) },
    }),
  });
  await deployed(platform);
  expect((await list(platform))._unsafeUnwrap().partial).toBe(true);
  expect((await list(startMemory()))._unsafeUnwrap()).toEqual({ deploys: [], partial: false });
});

test("returns the deploys that it found if the search of a log fails, but fails for that deployment", async () => {
  const first = startMemory();
  for (const name of ["app", "shop"]) await deployed(first, { function_name: name });
  const { memory, clock } = first;
  let searches = 0;
  const platform = startMemory({
    memory,
    clock,
    around: ({ logs }) => ({
      logs: {
        ...logs,
        newest: (place, ...rest) => {
          searches++;
          return place.service === "shop"
            ? errAsync(unavailable("The log cannot be read.", 5))
            : logs.newest(place, ...rest);
        },
      },
    }),
  });
  const found = (await list(platform))._unsafeUnwrap();
  expect(found.deploys.map(({ name }) => name)).toEqual(["app"]);
  expect([found.partial, searches]).toEqual([true, 2]);
  expect((await list(platform, { name: "shop" }))._unsafeUnwrapErr().kind).toBe("unavailable");
});
