/** A new process continues the redeploys for a secret's new value that the previous process has not finished. */
import { describe, expect, test } from "vitest";
import { delayed, faulty } from "../../../../adapters/memory/index.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { deployed, type MemoryPlatform, recorder, startMemory } from "../../../support/providers/memory-platform.ts";

const env = { TOKEN: { secret: "KEY" } };

/** Each rollout takes a second. */
const start = (options: Parameters<typeof startMemory>[0] = {}): MemoryPlatform =>
  startMemory({
    around: ({ services }, clock) => ({
      services: delayed(services, clock, ({ method }) => (method === "rollout" ? 1000 : 0)),
    }),
    ...options,
  });

const set = async ({ clock, controlPlane, principal }: MemoryPlatform, value: string, request: RawFields = {}) =>
  (await whileTicking(clock, controlPlane.setSecret(principal(), { name: "KEY", value, ...request })))._unsafeUnwrap();

const release = async ({ controlPlane, principal }: MemoryPlatform, name: string) =>
  (await controlPlane.listReleases(principal(), { name }))._unsafeUnwrap().releases[0];

const versions = async (platform: MemoryPlatform, names = ["a", "b", "c"]) =>
  Promise.all(names.map(async (name) => (await release(platform, name))?.secrets["KEY"]));

const pending = async ({ memory }: MemoryPlatform) =>
  (await memory.provider.secrets?.pendingRedeploys())?._unsafeUnwrap().map(({ name, version }) => [name, version]);

/** The next process on the same platform. */
const restarted = ({ memory, clock }: MemoryPlatform): MemoryPlatform => start({ memory, clock });

/** Resumes, and waits until the redeploys have ended. */
const resumed = async ({ clock, controlPlane }: MemoryPlatform): Promise<number> => {
  const count = (await whileTicking(clock, controlPlane.resumeRedeploys()))._unsafeUnwrap();
  await whileTicking(clock, controlPlane.settle());
  return count;
};

/** Three deployments with version 1. Of their redeploys, only that of `a` has ended when the process ends. */
const interrupted = async (): Promise<MemoryPlatform> => {
  const platform = start();
  const { clock, controlPlane, principal } = platform;
  await set(platform, "one");
  for (const name of ["a", "b", "c"]) await deployed(platform, { function_name: name, env });
  // The clock stands still, so no redeploy has ended yet.
  const { deploys } = (await controlPlane.setSecret(principal(), { name: "KEY", value: "two" }))._unsafeUnwrap();
  const first = (
    await controlPlane.resumeDeploy(principal(), { deploy_id: deploys[0]?.deploy_id ?? "" })
  )._unsafeUnwrap();
  await whileTicking(clock, Array.fromAsync(first.run.follow()), 100);
  await whileTicking(clock, controlPlane.close(), 100);
  return platform;
};

test("a redeploy that a process has not finished runs in the next process", async () => {
  const before = await interrupted();
  expect(await versions(before)).toEqual([2, 1, 1]);
  const after = restarted(before);
  expect(await pending(after)).toEqual([["KEY", 2]]);
  expect(await resumed(after)).toBe(2);
  expect(await versions(after)).toEqual([2, 2, 2]);
  expect(await release(after, "b")).toMatchObject({
    message: "Use the newest version of the secret 'KEY'",
    created_by: { kind: "platform", id: "", label: "" },
  });
  expect(await pending(after)).toEqual([]);
  expect(await resumed(restarted(after))).toBe(0);
});

test("each process that ends before its redeploys leaves them to the next", async () => {
  let platform = await interrupted();
  for (let starts = 0; starts < 3; starts++) {
    platform = restarted(platform);
    (await whileTicking(platform.clock, platform.controlPlane.resumeRedeploys(), 100))._unsafeUnwrap();
    await whileTicking(platform.clock, platform.controlPlane.close(), 100);
  }
  expect(await versions(platform)).toEqual([2, 1, 1]);
  platform = restarted(platform);
  expect(await resumed(platform)).toBe(2);
  expect(await versions(platform)).toEqual([2, 2, 2]);
});

describe("the next process does not redeploy", () => {
  test("for a value that was set without redeploys", async () => {
    const platform = start();
    await set(platform, "one");
    await deployed(platform, { function_name: "a", env });
    await set(platform, "two", { redeploy: false });
    expect(await resumed(restarted(platform))).toBe(0);
    expect(await versions(platform, ["a"])).toEqual([1]);
  });

  test("deployments that already have the version, even if a newer one was set without redeploys", async () => {
    const before = await interrupted();
    await set(before, "three", { redeploy: false });
    const after = restarted(before);
    expect(await resumed(after)).toBe(2);
    // A redeploy uses the newest version when it begins.
    expect(await versions(after)).toEqual([2, 3, 3]);
  });

  test("after all redeploys have ended, so that a later rollback stays", async () => {
    const platform = start();
    const { clock, controlPlane, principal } = platform;
    await set(platform, "one");
    await deployed(platform, { function_name: "a", env });
    await set(platform, "two");
    await whileTicking(clock, controlPlane.settle());
    expect(await pending(platform)).toEqual([]);
    (await whileTicking(clock, controlPlane.rollback(principal(), { name: "a" })))._unsafeUnwrap();
    await whileTicking(clock, controlPlane.settle());
    expect(await resumed(restarted(platform))).toBe(0);
    expect(await versions(platform, ["a"])).toEqual([1]);
  });

  test("after a redeploy has failed", async () => {
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method, args }) =>
          method === "rollout" && (args[0] as { template: { secrets?: object } }).template.secrets !== undefined
            ? { failure: { reason: "unhealthy", message: "it is unhealthy" } }
            : undefined,
        ),
      }),
    });
    const healthy = restarted(platform);
    await set(healthy, "one");
    await deployed(healthy, { function_name: "a", env });
    await set(platform, "two");
    await whileTicking(platform.clock, platform.controlPlane.settle());
    expect(await resumed(restarted(platform))).toBe(0);
    expect(await versions(platform, ["a"])).toEqual([1]);
  });
});

test("a value is not set with redeploys if they cannot be recorded", async () => {
  const platform = startMemory({
    around: ({ secrets }) =>
      secrets === undefined
        ? {}
        : { secrets: { ...secrets, beginRedeploys: () => errAsync(unavailable("the store is down", 5)) } },
  });
  await set(platform, "one");
  await deployed(platform, { function_name: "a", env });
  const { clock, controlPlane, principal } = platform;
  const failed = await whileTicking(clock, controlPlane.setSecret(principal(), { name: "KEY", value: "two" }));
  expect(failed._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(await versions(platform, ["a"])).toEqual([1]);
});

test("the end of redeploys that cannot be recorded is logged, and the next process finds nothing to do", async () => {
  const { logger, logged } = recorder();
  const platform = startMemory({
    logger,
    around: ({ secrets }) =>
      secrets === undefined
        ? {}
        : { secrets: { ...secrets, endRedeploys: () => errAsync(unavailable("the store is down", 5)) } },
  });
  await set(platform, "one");
  await deployed(platform, { function_name: "a", env });
  await set(platform, "two");
  await whileTicking(platform.clock, platform.controlPlane.settle());
  expect(logged).toContain("could not record the end of redeploys");
  const after = restarted(platform);
  expect(await pending(after)).toEqual([["KEY", 2]]);
  expect(await resumed(after)).toBe(0);
  expect(await pending(after)).toEqual([]);
});

test("fails with unavailable if the store cannot be read", async () => {
  const platform = startMemory({
    around: ({ secrets }) =>
      secrets === undefined
        ? {}
        : { secrets: { ...secrets, pendingRedeploys: () => errAsync(unavailable("the store is down", 5)) } },
  });
  expect((await platform.controlPlane.resumeRedeploys())._unsafeUnwrapErr().kind).toBe("unavailable");
});

test("an account whose deployments cannot be read does not stop the redeploys of the others", async () => {
  const before = start();
  const accounts = ["first", "second", "third"];
  const request = { name: "KEY", value: "one" };
  const setFor = async (account: string, value: string) =>
    (
      await whileTicking(before.clock, before.controlPlane.setSecret(before.principal(account), { ...request, value }))
    )._unsafeUnwrap();
  for (const account of accounts) {
    await setFor(account, "one");
    await deployed(before, { function_name: account, env }, account);
  }
  for (const account of accounts)
    (await before.controlPlane.setSecret(before.principal(account), { ...request, value: "two" }))._unsafeUnwrap();
  await whileTicking(before.clock, before.controlPlane.close(), 100);
  const { memory, clock } = before;
  const broken = start({
    memory,
    clock,
    around: ({ services }) => ({
      services: {
        ...services,
        list: (owner, options) =>
          owner === before.principal("second").account
            ? errAsync(unavailable("the state is damaged", 5))
            : services.list(owner, options),
      },
    }),
  });
  const failed = await whileTicking(clock, broken.controlPlane.resumeRedeploys());
  expect(failed._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", message: "the state is damaged" });
  await whileTicking(clock, broken.controlPlane.settle());
  const versionOf = async (account: string) =>
    (await before.controlPlane.listReleases(before.principal(account), { name: account }))._unsafeUnwrap().releases[0]
      ?.secrets["KEY"];
  expect(await Promise.all(accounts.map(versionOf))).toEqual([2, 1, 2]);
  expect(await pending(broken)).toEqual([["KEY", 2]]);
  expect(await resumed(restarted(before))).toBe(1);
  expect(await versionOf("second")).toBe(2);
});

test("does nothing on a provider without secrets", async () => {
  const { provider, ...memory } = startMemory().memory;
  const { secrets: _, ...without } = provider;
  const platform = startMemory({ memory: { ...memory, provider: without } });
  expect((await platform.controlPlane.resumeRedeploys())._unsafeUnwrap()).toBe(0);
});
