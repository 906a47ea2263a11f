/** The list of recent deploys: running ones, ended ones, and those that only the log contains. */
import { expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync } from "../../../../core/result.ts";
import {
  accepted,
  deployed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

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
