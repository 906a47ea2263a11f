/** The usage of each quota: what counts towards it, what does not, and for how long. */
import { expect, test } from "vitest";
import { accountLimits } from "../../../../core/domain/accounts/limits.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync, ResultAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { accepted, deployed, type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const usage = async ({ controlPlane, principal }: MemoryPlatform, account?: string) =>
  (await controlPlane.getAccountUsage(principal(account)))._unsafeUnwrap();

/** The numbers in use, without those that are 0. */
const used = async (platform: MemoryPlatform, account?: string) =>
  Object.fromEntries(
    Object.entries(await usage(platform, account)).flatMap(([name, one]) => (one.used === 0 ? [] : [[name, one.used]])),
  );

test("an account without resources has a usage of 0 for each quota", async () => {
  expect(await usage(startMemory())).toEqual({
    deployments: { limit: accountLimits.deployments, used: 0 },
    instances: { limit: accountLimits.instances, used: 0 },
    volumes: { limit: accountLimits.volumes, used: 0 },
    domains: { limit: accountLimits.domains, used: 0 },
    builds_at_once: { limit: accountLimits.buildsAtOnce, used: 0 },
    uploads_at_once: { limit: accountLimits.uploadsAtOnce, used: 0 },
    sql_at_once: { limit: accountLimits.sqlAtOnce, used: 0 },
    requests_per_minute: { limit: accountLimits.requestsPerMinute, used: 0 },
  });
});

test("the limits are those of the settings, and the usage may exceed a lowered limit", async () => {
  const platform = startMemory();
  await deployed(platform);
  await deployed(platform, { function_name: "second" });
  const { memory } = platform;
  const lowered = startMemory({ memory, settings: { accountLimits: { deployments: 1 } } });
  expect((await usage(lowered)).deployments).toEqual({ limit: 1, used: 2 });
});

test("counts deployments and volumes until they are deleted", async () => {
  const platform = startMemory();
  const { controlPlane, principal } = platform;
  await deployed(platform, { max_instances: 3, volumes: { "/data": "data" } });
  await deployed(platform, { function_name: "second", max_instances: 2 });
  (await controlPlane.createVolume(principal(), { name: "spare" }))._unsafeUnwrap();
  expect(await used(platform)).toEqual({ deployments: 2, instances: 3, volumes: 2 });
  expect(await used(platform, "other")).toEqual({});
  (await controlPlane.deleteDeployment(principal(), { name: "app" }))._unsafeUnwrap();
  (await controlPlane.deleteVolume(principal(), { name: "spare" }))._unsafeUnwrap();
  expect(await used(platform)).toEqual({ deployments: 1, instances: 2, volumes: 1 });
});

test("`max_instances: 0` counts as the platform's default", async () => {
  const platform = startMemory({ capabilities: { instances: { preset: 7, max: 100 } } });
  await deployed(platform, { max_instances: 3 });
  expect((await usage(platform)).instances.used).toBe(3);
  await deployed(platform, { function_name: "second", max_instances: 0 });
  expect((await usage(platform)).instances.used).toBe(7);
});

test("counts running builds, but not waiting ones", async () => {
  const { promise: mayBuild, resolve: build } = Promise.withResolvers<void>();
  const platform = startMemory({
    settings: { accountLimits: { buildsAtOnce: 1 } },
    around: ({ builder }) => ({
      builder: {
        ...builder,
        build: async function* (...args) {
          await mayBuild;
          yield* builder.build(...args);
        },
      },
    }),
  });
  for (const name of ["first", "second"]) await accepted(platform, { function_name: name });
  await eventually(async () => expect(await used(platform)).toEqual({ builds_at_once: 1 }));
  build();
  await whileTicking(platform.clock, platform.controlPlane.settle());
  expect((await usage(platform)).builds_at_once.used).toBe(0);
});

test("counts sources while they arrive", async () => {
  const platform = startMemory();
  const { controlPlane, principal } = platform;
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const slow = async function* () {
    await arrived;
    yield Uint8Array.of(0);
  };
  const received = controlPlane.receiveSource(principal(), slow());
  await eventually(async () => expect(await used(platform)).toEqual({ uploads_at_once: 1 }));
  arrive();
  expect((await received).isOk()).toBe(true);
  expect(await used(platform)).toEqual({});
});

test("counts SQL queries while they run", async () => {
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const select = {
    statements: 1,
    root: "SELECT",
    tables: [],
    functions: [],
    tableFunctions: [],
    others: [],
    unnamed: [],
  };
  const platform = startMemory({
    capabilities: { sql: { queries: { supported: true }, lag_seconds: 0 } },
    around: () => ({
      sql: {
        describe: () => okAsync(select),
        run: () => ResultAsync.fromSafePromise(mayEnd).map(() => ({ columns: [], rows: (async function* () {})() })),
      },
    }),
  });
  const { controlPlane, principal } = platform;
  const ran = controlPlane.runSql(principal(), { query: "SELECT 1 AS one" });
  await eventually(async () => expect(await used(platform)).toEqual({ sql_at_once: 1 }));
  end();
  expect((await ran).isOk()).toBe(true);
  expect(await used(platform)).toEqual({});
});

test("requests count until the rate limit has refilled", async () => {
  const platform = startMemory({ settings: { accountLimits: { requestsPerMinute: 60 } } });
  const { controlPlane, principal, clock } = platform;
  for (let count = 0; count < 3; count++) expect(controlPlane.countRequest(principal()).isOk()).toBe(true);
  expect(await used(platform)).toEqual({ requests_per_minute: 3 });
  await clock.advance(1500);
  expect(await used(platform)).toEqual({ requests_per_minute: 2 });
  await clock.advance(1500);
  expect(await used(platform)).toEqual({});
});

test("without volume storage, no volumes are in use; a platform that does not respond is an error", async () => {
  const without = startMemory({
    capabilities: { volumes: { ...startMemory().memory.provider.capabilities.volumes, store: missing("no storage") } },
    around: ({ volumes }) => ({ volumes: { ...volumes, list: () => errAsync(unavailable("no storage")) } }),
  });
  expect((await usage(without)).volumes).toEqual({ limit: accountLimits.volumes, used: 0 });
  for (const port of ["services", "volumes"] as const) {
    const { controlPlane, principal } = startMemory({
      around: (provider) => ({ [port]: { ...provider[port], list: () => errAsync(unavailable("down")) } }),
    });
    expect((await controlPlane.getAccountUsage(principal()))._unsafeUnwrapErr().kind).toBe("unavailable");
  }
});
