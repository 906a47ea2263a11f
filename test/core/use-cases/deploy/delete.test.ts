/** Deleting ends running and waiting deploys, removes the service, keeps its log, and affects no other account. */
import { describe, expect, test } from "vitest";
import { delayed, faulty } from "../../../../adapters/memory/index.ts";
import { conflict, unavailable } from "../../../../core/errors.ts";
import { ResultAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  listed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const remove = (platform: MemoryPlatform, name = "app", account?: string) =>
  whileTicking(platform.clock, platform.controlPlane.deleteDeployment(platform.principal(account), { name }));

const names = async (platform: MemoryPlatform) => (await listed(platform)).map(({ name }) => name);

const slowBuilds = () =>
  startMemory({ around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }) });

test("stops and removes the service, named with '_' or '-'; its log stays", async () => {
  const platform = startMemory();
  await deployed(platform, { function_name: "my-app" });
  expect((await remove(platform, "my_app"))._unsafeUnwrap()).toEqual({
    detail: "'my-app' was removed. Its volumes and logs are kept.",
  });
  expect(await names(platform)).toEqual([]);
  const logs = await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "my-app" });
  expect(JSON.parse(logs._unsafeUnwrap().logs.at(-1)?.message ?? "")).toMatchObject({ event: "delete" });
});

test("reserves the name, which another account then cannot use", async () => {
  const platform = startMemory();
  await deployed(platform);
  const theirs = await remove(platform, "app", "other");
  expect(theirs._unsafeUnwrapErr().message).toBe("The deployment 'app' belongs to another account.");
  expect((await remove(platform)).isOk()).toBe(true);
  expect((await remove(platform, "app", "other"))._unsafeUnwrapErr()).toMatchObject({
    kind: "forbidden",
    message: "The name 'app' is reserved for another account or application. Choose another name.",
  });
});

test("removes several deployments of an account concurrently, if the provider has no domains", async () => {
  const all = ["one", "two"];
  let removing = 0;
  const both = Promise.withResolvers<void>();
  const { provider, ...memory } = startMemory().memory;
  const { domains: _, ...without } = provider;
  const platform = startMemory({
    memory: { ...memory, provider: without },
    around: ({ services }) => ({
      services: {
        ...services,
        remove: (...args) => {
          removing++;
          if (removing === all.length) both.resolve();
          return new ResultAsync(both.promise.then(() => services.remove(...args)));
        },
      },
    }),
  });
  for (const name of all) await deployed(platform, { function_name: name });
  const removed = all.map((name) => remove(platform, name));
  await expect.poll(() => removing).toBe(all.length);
  for (const one of removed) expect((await one).isOk()).toBe(true);
});

describe("while deploys of the name run and wait", () => {
  test("ends all of them with `deleted`, and removes the service", async () => {
    const platform = slowBuilds();
    await deployed(platform);
    const [first, second] = [await accepted(platform), await accepted(platform)];
    expect((await remove(platform)).isOk()).toBe(true);
    for (const run of [first, second])
      expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "ERROR", reason: "deleted" });
    expect(await names(platform)).toEqual([]);
  });

  test("ends the deploy of a name without a service, and returns success", async () => {
    const platform = slowBuilds();
    const run = await accepted(platform);
    expect((await remove(platform))._unsafeUnwrap().detail).toBe(
      "The deploy of 'app' ended before it created the deployment.",
    );
    expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ reason: "deleted" });
    expect(await names(platform)).toEqual([]);
  });

  test("a deploy after the delete is a new deploy", async () => {
    const platform = slowBuilds();
    await deployed(platform, { port: 3000 });
    const ended = await accepted(platform);
    const removed = platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" });
    await platform.clock.advance(0);
    const next = await accepted(platform, { port: 4000 });
    expect((await whileTicking(platform.clock, removed)).isOk()).toBe(true);
    expect((await recordsOf(platform, ended)).at(-1)).toMatchObject({ reason: "deleted" });
    const records = await recordsOf(platform, next);
    expect(records.at(-1)?.status).toBe("DONE");
    expect(records.map(({ message }) => message)).toContain("Creating 'app'");
  });

  test("deploys of other names continue", async () => {
    const platform = slowBuilds();
    await deployed(platform);
    const other = await accepted(platform, { function_name: "other" });
    expect((await remove(platform)).isOk()).toBe(true);
    expect((await recordsOf(platform, other)).at(-1)?.status).toBe("DONE");
  });
});

describe("errors", () => {
  test("rejects a missing service, another account's service and a missing name", async () => {
    const platform = startMemory();
    await deployed(platform);
    expect((await remove(platform, "other"))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await remove(platform, "No Name"))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await remove(platform, "app", "other"))._unsafeUnwrapErr().kind).toBe("forbidden");
    const nameless = await platform.controlPlane.deleteDeployment(platform.principal(), {} as never);
    expect(nameless._unsafeUnwrapErr()).toMatchObject({ issues: [{ path: ["name"], type: "missing" }] });
    expect(await names(platform)).toEqual(["app"]);
  });

  test("another account's delete ends no deploy of mine, even before I own the name", async () => {
    const platform = slowBuilds();
    const run = await accepted(platform);
    expect((await remove(platform, "app", "other"))._unsafeUnwrapErr().kind).toBe("not_found");
    expect((await recordsOf(platform, run)).at(-1)?.status).toBe("DONE");
  });

  test("a second delete returns 404", async () => {
    const platform = startMemory();
    await deployed(platform);
    expect((await remove(platform)).isOk()).toBe(true);
    expect((await remove(platform))._unsafeUnwrapErr().kind).toBe("not_found");
  });
});

describe("a provider that fails", () => {
  test.each([
    ["a provider that is down", unavailable("down"), "unavailable"],
    ["a concurrent write", conflict("changed"), "conflict"],
  ])("%s: returns the error, and the queue of the name is free again", async (_what, error, kind) => {
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method, count }) => (method === "remove" && count === 1 ? { error } : undefined)),
      }),
    });
    await deployed(platform);
    expect((await remove(platform))._unsafeUnwrapErr().kind).toBe(kind);
    await deployed(platform);
    expect((await remove(platform)).isOk()).toBe(true);
  });

  test("a delete succeeds even if it cannot be logged", async () => {
    const warnings: string[] = [];
    const platform = startMemory({
      logger: { debug: () => {}, info: () => {}, error: () => {}, warn: (message) => warnings.push(message) },
      around: ({ logs }) => ({
        logs: faulty(logs, ({ method, count }) =>
          method === "append" && count === 3 ? { error: unavailable("down") } : undefined,
        ),
      }),
    });
    await deployed(platform);
    expect((await remove(platform)).isOk()).toBe(true);
    expect(warnings).toEqual(["the deletion of a deployment was not logged"]);
  });
});
