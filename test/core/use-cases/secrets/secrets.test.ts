/** Secrets through the control plane: set, list, delete, deploys that refer to them, redeploys and rollbacks. */
import { describe, expect, test } from "vitest";
import { delayed, faulty } from "../../../../adapters/memory/index.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { unavailable } from "../../../../core/errors.ts";
import { okAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  ended,
  listed,
  type MemoryPlatform,
  recordsOf,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const uses = (name = "KEY", version?: number) => ({
  env: { TOKEN: { secret: name, ...(version === undefined ? {} : { version }) } },
});

const setting = (platform: MemoryPlatform, value: string, request: RawFields = {}, account?: string) =>
  whileTicking(
    platform.clock,
    platform.controlPlane.setSecret(platform.principal(account), { name: "KEY", value, ...request }),
  );

const set = async (platform: MemoryPlatform, value: string, request: RawFields = {}) =>
  (await setting(platform, value, request))._unsafeUnwrap();

const secrets = async ({ controlPlane, principal }: MemoryPlatform) =>
  (await controlPlane.listSecrets(principal()))._unsafeUnwrap();

const remove = ({ clock, controlPlane, principal }: MemoryPlatform, request: RawFields = {}) =>
  whileTicking(clock, controlPlane.deleteSecret(principal(), { name: "KEY", ...request }));

const releases = async ({ controlPlane, principal }: MemoryPlatform, name = "app") =>
  (await controlPlane.listReleases(principal(), { name }))._unsafeUnwrap().releases;

const follow = async (platform: MemoryPlatform, deployId: string) => {
  const found = await platform.controlPlane.resumeDeploy(platform.principal(), { deploy_id: deployId });
  return recordsOf(platform, found._unsafeUnwrap().run);
};

const settled = (platform: MemoryPlatform) => whileTicking(platform.clock, platform.controlPlane.settle());

const rollback = async (platform: MemoryPlatform, release: number) => {
  const { clock, controlPlane, principal } = platform;
  const run = await whileTicking(clock, controlPlane.rollback(principal(), { name: "app", release }));
  return run.isErr() ? run.error : recordTexts(await recordsOf(platform, run.value));
};

describe("set", () => {
  test("stores a new version only for a new value", async () => {
    const platform = startMemory();
    const first = await set(platform, "one");
    expect(first).toEqual({ name: "KEY", version: 1, digest: expect.stringMatching(/^hmac:/), deploys: [] });
    expect(await set(platform, "one")).toEqual(first);
    expect(await set(platform, "two")).toMatchObject({ version: 2 });
    const [secret] = await secrets(platform);
    expect(secret).toMatchObject({ name: "KEY", versions: [{ version: 2 }, { version: 1, digest: first.digest }] });
    expect(secret?.used_by).toEqual([]);
  });

  test("accepts 100 secrets of an account, and new values of them", async () => {
    const platform = startMemory();
    for (let index = 1; index <= 100; index++) await set(platform, "one", { name: `KEY_${index}` });
    const refused = (await setting(platform, "one", { name: "KEY_101" }))._unsafeUnwrapErr();
    expect(refused).toMatchObject({ kind: "invalid_input", issues: [{ path: ["name"], type: "quota_exceeded" }] });
    expect(await set(platform, "two", { name: "KEY_1" })).toMatchObject({ version: 2 });
    expect((await setting(platform, "one", { name: "KEY_101" }, "other")).isOk()).toBe(true);
    const both = await Promise.all(["A", "B"].map((name) => setting(platform, "x", { name })));
    expect(both.map((one) => one.isErr())).toEqual([true, true]);
  });

  test("accepts one of two concurrent new secrets if the quota permits one more", async () => {
    const platform = startMemory();
    for (let index = 1; index <= 99; index++) await set(platform, "one", { name: `KEY_${index}` });
    const both = await Promise.all(["A", "B"].map((name) => setting(platform, "x", { name })));
    expect(both.filter((one) => one.isOk())).toHaveLength(1);
  });

  test("keeps the ten newest versions, and those that deployments and kept releases pin", async () => {
    const platform = startMemory();
    await set(platform, "value 1");
    await deployed(platform, uses("KEY", 1));
    await set(platform, "value 2");
    await deployed(platform, uses("KEY", 2));
    for (let index = 3; index <= 14; index++) await set(platform, `value ${index}`);
    const numbers = async () => (await secrets(platform))[0]?.versions.map(({ version }) => version);
    expect(await numbers()).toEqual([14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 2, 1]);
    for (let port = 1; port <= 10; port++) await deployed(platform, { port, env: {} });
    await set(platform, "value 15");
    expect(await numbers()).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 6]);
  });

  test("succeeds if old versions cannot be deleted", async () => {
    const platform = startMemory({
      around: ({ secrets: own }) =>
        own === undefined
          ? {}
          : {
              secrets: faulty(own, ({ method }) => (method === "delete" ? { error: unavailable("down") } : undefined)),
            },
    });
    for (let index = 1; index <= 12; index++)
      expect(await set(platform, `value ${index}`)).toMatchObject({ version: index });
  });

  test("is unsupported if the provider stores no secrets", async () => {
    const platform = startMemory({ capabilities: { secrets: missing("none are stored here") } });
    expect((await setting(platform, "one"))._unsafeUnwrapErr()).toMatchObject({
      kind: "unsupported",
      message: "none are stored here",
    });
    const refused = (await platform.submit(uses()))._unsafeUnwrapErr();
    expect(refused).toMatchObject({ issues: [{ path: ["env", "TOKEN"], type: "unsupported" }] });
  });
});

describe("a deploy", () => {
  test("pins the newest version, which its release and the list show", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await set(platform, "two");
    await deployed(platform, { env: { PLAIN: "x", ...uses().env } });
    expect((await listed(platform))[0]?.env).toEqual(["PLAIN", "TOKEN"]);
    const [release] = await releases(platform);
    expect(release?.secrets).toEqual({ KEY: 2 });
    expect(release?.declaration.env["TOKEN"]).toBe("secret:KEY:2");
    expect((await secrets(platform))[0]?.used_by).toEqual([{ name: "app", version: 2 }]);
  });

  test("is rejected with 422 on the variable if the secret, the version, or the account's secret does not exist", async () => {
    const platform = startMemory();
    (await setting(platform, "one", { name: "THEIRS" }, "other"))._unsafeUnwrap();
    await set(platform, "one");
    for (const fields of [uses("THEIRS"), uses("KEY", 2)]) {
      const refused = (await platform.submit(fields))._unsafeUnwrapErr();
      expect(refused).toMatchObject({
        kind: "invalid_input",
        issues: [{ path: ["env", "TOKEN"], type: "value_error" }],
      });
    }
    expect(await listed(platform)).toEqual([]);
  });

  test("without env keeps fixed versions, and takes the newest of the others", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, { env: { FOLLOWS: { secret: "KEY" }, FIXED: { secret: "KEY", version: 1 } } });
    await set(platform, "two", { redeploy: false });
    await deployed(platform, {});
    const [release] = await releases(platform);
    expect(release?.declaration.env).toEqual({ FOLLOWS: "secret:KEY:2", FIXED: "secret:KEY:1" });
  });

  test("fails with secret_unavailable if the version is deleted during its build", async () => {
    const platform: MemoryPlatform = startMemory({
      around: ({ builder }) => ({
        builder: {
          build: async function* deleting(request, options) {
            (await platform.controlPlane.deleteSecret(platform.principal(), { name: "KEY" }))._unsafeUnwrap();
            yield* builder.build(request, options);
          },
        },
      }),
    });
    await set(platform, "one");
    expect((await ended(platform, uses())).at(-1)).toMatchObject({
      status: "ERROR",
      reason: "secret_unavailable",
      message: "env.TOKEN: your account has no secret 'KEY'; create it with 'portside secret set KEY'.",
    });
  });

  test("uses a version that was set during its build", async () => {
    const platform = startMemory({
      around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 1000) }),
    });
    await set(platform, "one");
    const run = await accepted(platform, uses());
    expect(await set(platform, "two")).toMatchObject({ version: 2, deploys: [] });
    expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "DONE" });
    expect((await releases(platform))[0]?.secrets).toEqual({ KEY: 2 });
  });

  test("prevents the deletion of its version as soon as its rollout has begun", async () => {
    const refused: unknown[] = [];
    const platform: MemoryPlatform = startMemory({
      around: ({ services }) => ({
        services: {
          ...services,
          rollout: async function* deleting(request, options) {
            for await (const event of services.rollout(request, options)) {
              const deleted = await platform.controlPlane.deleteSecret(platform.principal(), { name: "KEY" });
              refused.push(deleted.isErr() && deleted.error.kind);
              yield event;
            }
          },
        },
      }),
    });
    await set(platform, "one");
    await deployed(platform, uses());
    expect(refused).toEqual(["conflict", "conflict"]);
  });

  test("shows a changed reference in the plan and in the comparison of releases", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, { env: { TOKEN: "secret:KEY:1" } });
    const { controlPlane, principal } = platform;
    const fields = { function_name: "app", volumes: {}, ...uses() };
    const plan = (await controlPlane.plan(principal(), { fields }))._unsafeUnwrap();
    expect(plan.changes).toEqual([{ field: "env", from: ["TOKEN"], to: ["TOKEN"] }]);
    await deployed(platform, uses());
    const diff = (await controlPlane.compareReleases(principal(), { name: "app" }))._unsafeUnwrap();
    expect(diff.changes).toEqual([
      { field: "env.TOKEN", change: "changed", from: expect.stringMatching(/^hmac:/), to: "secret:KEY:1" },
    ]);
  });
});

describe("a new value", () => {
  test("redeploys the deployments that follow the secret, one after another, without a build", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => ({
        services: delayed(services, clock, ({ method }) => (method === "rollout" ? 1000 : 0)),
      }),
    });
    await set(platform, "one");
    await deployed(platform, { function_name: "follows-b", ...uses() });
    await deployed(platform, { function_name: "follows-a", memory: "2Gi", ...uses() });
    await deployed(platform, { function_name: "fixed", ...uses("KEY", 1) });
    await deployed(platform, { function_name: "plain", env: {} });
    const { deploys } = await set(platform, "two");
    expect(deploys.map(({ name }) => name)).toEqual(["follows-a", "follows-b"]);
    const [first, second] = await Promise.all(deploys.map(({ deploy_id }) => follow(platform, deploy_id)));
    expect(recordTexts(first ?? [])).toEqual([
      "DEPLOYING Use the newest version of the secret 'KEY'",
      "DEPLOYING Updating 'follows-a'",
      "DEPLOYING Starting revision follows-a-00002",
      "DONE Revision follows-a-00002 serves all traffic",
    ]);
    const started = second?.find(({ message }) => message.startsWith("Updating"))?.time ?? "";
    expect(started >= (first?.at(-1)?.time ?? "never")).toBe(true);
    const [now] = await releases(platform, "follows-a");
    expect(now).toMatchObject({
      message: "Use the newest version of the secret 'KEY'",
      secrets: { KEY: 2 },
      rolled_back_to: null,
    });
    expect(now?.declaration.memory).toBe("2Gi");
    expect(now?.image_digest).toBe((await releases(platform, "follows-a"))[1]?.image_digest);
    expect(await releases(platform, "fixed")).toHaveLength(1);
    expect((await secrets(platform))[0]?.used_by).toEqual([
      { name: "fixed", version: 1 },
      { name: "follows-a", version: 2 },
      { name: "follows-b", version: 2 },
    ]);
  });

  test("without redeploy changes no deployment, and setting it again redeploys those behind", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, uses());
    expect(await set(platform, "two", { redeploy: false })).toMatchObject({ version: 2, deploys: [] });
    expect(await releases(platform)).toHaveLength(1);
    const again = await set(platform, "two");
    expect(again).toMatchObject({ version: 2, deploys: [{ name: "app" }] });
    await settled(platform);
    expect((await releases(platform))[0]?.secrets).toEqual({ KEY: 2 });
    expect(await set(platform, "two")).toMatchObject({ deploys: [] });
  });

  test("a restart, another variable and another secret's new value keep the version of the release", async () => {
    const platform = startMemory();
    const { controlPlane, principal } = platform;
    for (const value of ["good", "bad"]) await set(platform, value);
    await set(platform, "o1", { name: "OTHER" });
    const both = { env: { TOKEN: { secret: "KEY" }, MORE: { secret: "OTHER" } } };
    await deployed(platform, { env: { ...both.env, TOKEN: { secret: "KEY", version: 1 } } });
    await deployed(platform, both);
    await set(platform, "worse", { redeploy: false });
    const pins = async () => (await releases(platform))[0]?.secrets;
    const name = "app";
    const run = async (started: ReturnType<typeof controlPlane.restartDeployment>) =>
      expect((await recordsOf(platform, (await started)._unsafeUnwrap())).at(-1)?.status).toBe("DONE");
    await run(controlPlane.restartDeployment(principal(), { name }));
    expect(await pins()).toEqual({ KEY: 2, OTHER: 1 });
    await run(controlPlane.setEnvironment(principal(), { name, set: { LEVEL: "1" } }));
    expect(await pins()).toEqual({ KEY: 2, OTHER: 1 });
    await set(platform, "o2", { name: "OTHER" });
    await settled(platform);
    expect(await pins()).toEqual({ KEY: 2, OTHER: 2 });
    await run(controlPlane.setEnvironment(principal(), { name, set: { TOKEN: { secret: "OTHER" } }, unset: ["MORE"] }));
    expect(await pins()).toEqual({ OTHER: 2 });
  });

  test("does not queue a second redeploy while one waits, and redeploys one deployment of an account at a time", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => ({
        services: delayed(services, clock, ({ method }) => (method === "rollout" ? 1000 : 0)),
      }),
    });
    const { controlPlane, principal, clock } = platform;
    await set(platform, "one");
    for (const name of ["a", "b"]) await deployed(platform, { function_name: name, ...uses() });
    const again = async (value: string) =>
      (await controlPlane.setSecret(principal(), { name: "KEY", value }))._unsafeUnwrap().deploys;
    const [two, three, four] = [await again("two"), await again("three"), await again("four")];
    // The redeploy of `b` waits for that of `a`, so later values need no further redeploy.
    const idsOf = (name: string) => [two, three, four].map((all) => all.find((one) => one.name === name)?.deploy_id);
    expect(new Set(idsOf("b")).size).toBe(1);
    expect(new Set(idsOf("a")).size).toBe(2);
    await whileTicking(clock, controlPlane.settle());
    for (const name of ["a", "b"]) expect((await releases(platform, name))[0]?.secrets).toEqual({ KEY: 4 });
    expect(await releases(platform, "b")).toHaveLength(2);
  });

  test("waits for a running deploy, and changes nothing if that deploy already has the version", async () => {
    const platform = startMemory({
      around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 1000) }),
    });
    await set(platform, "one");
    await deployed(platform, uses());
    await set(platform, "two", { redeploy: false });
    const run = await accepted(platform, { port: 3000 });
    // The clock stands still, so the deploy is still building.
    const { controlPlane, principal } = platform;
    const { deploys } = (await controlPlane.setSecret(principal(), { name: "KEY", value: "two" }))._unsafeUnwrap();
    const records = await follow(platform, deploys[0]?.deploy_id ?? "");
    expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "DONE" });
    expect(recordTexts(records)).toEqual([
      "DEPLOYING Use the newest version of the secret 'KEY'",
      "DEPLOYING Waiting for other deploys",
      "DONE Revision app-00002 serves all traffic",
    ]);
    expect(await releases(platform)).toHaveLength(2);
  });

  test("ends the redeploy of a deployment that is deleted meanwhile, and continues with the next", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => ({
        services: delayed(services, clock, ({ method }) => (method === "rollout" ? 1000 : 0)),
      }),
    });
    await set(platform, "one");
    for (const name of ["a", "b", "c"]) await deployed(platform, { function_name: name, ...uses() });
    const { controlPlane, principal, clock } = platform;
    const { deploys } = await set(platform, "two");
    (await whileTicking(clock, controlPlane.deleteDeployment(principal(), { name: "b" })))._unsafeUnwrap();
    const ends = [];
    for (const { deploy_id } of deploys) ends.push((await follow(platform, deploy_id)).at(-1));
    expect(ends.map((last) => last?.reason ?? last?.status)).toEqual(["DONE", "deleted", "DONE"]);
    expect((await releases(platform, "c"))[0]?.secrets).toEqual({ KEY: 2 });
  });

  test("ends with an error if the new revision fails, and the next deployment is redeployed", async () => {
    let fails = false;
    const platform = startMemory({
      around: ({ services }) => ({
        services: faulty(services, ({ method, args }) => {
          const { template } = (args[0] ?? {}) as { template?: { name: string } };
          const failure = { reason: "unhealthy", message: "it is unhealthy" } as const;
          return fails && method === "rollout" && template?.name === "a" ? { failure } : undefined;
        }),
      }),
    });
    await set(platform, "one");
    for (const name of ["a", "b"]) await deployed(platform, { function_name: name, ...uses() });
    fails = true;
    const { deploys } = await set(platform, "two");
    const ends = [];
    for (const { deploy_id } of deploys) ends.push((await follow(platform, deploy_id)).at(-1));
    expect(ends.map((last) => last?.reason ?? last?.status)).toEqual(["unhealthy", "DONE"]);
    expect((await releases(platform, "a"))[0]?.secrets).toEqual({ KEY: 1 });
  });
});

describe("delete", () => {
  test("is refused with the names of the deployments that use the secret", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, uses());
    await set(platform, "two", { redeploy: false });
    expect((await remove(platform))._unsafeUnwrapErr()).toMatchObject({
      kind: "conflict",
      message: "The secret 'KEY' is used by 'app'. Deploy without the secret first, or remove that deployment.",
    });
    expect((await remove(platform, { version: 1 }))._unsafeUnwrapErr().kind).toBe("conflict");
    expect((await remove(platform, { version: 2 }))._unsafeUnwrap()).toEqual({
      detail: "Version 2 of 'KEY' was deleted.",
    });
    await deployed(platform, { env: {} });
    expect((await remove(platform))._unsafeUnwrap()).toEqual({ detail: "'KEY' was deleted." });
    expect(await secrets(platform)).toEqual([]);
  });

  test("completes the deletion of a secret that is no longer listed", async () => {
    const platform = startMemory({
      around: ({ secrets: own }) => (own === undefined ? {} : { secrets: { ...own, list: () => okAsync([]) } }),
    });
    await set(platform, "one");
    expect((await remove(platform))._unsafeUnwrap()).toEqual({ detail: "'KEY' was deleted." });
    expect((await remove(platform))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("fails with not_found for an unknown secret or version", async () => {
    const platform = startMemory();
    await set(platform, "one");
    expect((await remove(platform, { name: "OTHER" }))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: "Your account has no secret 'OTHER'. Run 'portside secret list' to list your secrets.",
    });
    expect((await remove(platform, { version: 2 }))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: "The secret 'KEY' has no version 2. Run 'portside secret list' to list its versions.",
    });
  });
});

describe("a rollback", () => {
  test("restores the pinned version, which still follows the secret", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, uses());
    await set(platform, "two");
    await settled(platform);
    expect(await rollback(platform, 1)).toContain("DONE Revision app-00003 serves all traffic");
    expect((await releases(platform))[0]).toMatchObject({ secrets: { KEY: 1 }, rolled_back_to: 1 });
    expect(await set(platform, "three")).toMatchObject({ deploys: [{ name: "app" }] });
  });

  test("uses and announces the newest version if the pinned one was deleted", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, uses("KEY", 1));
    await deployed(platform, { env: {} });
    await set(platform, "two");
    (await remove(platform, { version: 1 }))._unsafeUnwrap();
    expect(await rollback(platform, 1)).toContain(
      "DEPLOYING Version 1 of the secret 'KEY' was deleted; version 2 is used",
    );
    expect((await releases(platform))[0]?.secrets).toEqual({ KEY: 2 });
  });

  test("is refused with 409 if no version is left, even if the secret exists again under the same name", async () => {
    const platform = startMemory();
    await set(platform, "one");
    await deployed(platform, uses());
    await deployed(platform, { env: {} });
    (await remove(platform))._unsafeUnwrap();
    expect(await rollback(platform, 1)).toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("uses the secret 'KEY', which was deleted"),
    });
    expect(await set(platform, "other")).toMatchObject({ version: 2 });
    expect(await rollback(platform, 1)).toContain(
      "DEPLOYING Version 1 of the secret 'KEY' was deleted; version 2 is used",
    );
  });
});

test("a failed read of the secrets fails the deploy before its stream", async () => {
  const platform = startMemory({
    around: ({ secrets: own }) =>
      own === undefined
        ? {}
        : { secrets: faulty(own, ({ method }) => (method === "list" ? { error: unavailable("down") } : undefined)) },
  });
  expect((await platform.submit(uses()))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await ended(platform, { env: {} })).at(-1)).toMatchObject({ status: "DONE" });
});
