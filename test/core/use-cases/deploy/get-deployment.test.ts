/** A single deployment: its row in the list, and the fields that only this call returns. */
import { expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import type { DeployOutcome } from "../../../../core/domain/deploy/events.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { type Instant, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  ended,
  listed,
  type MemoryPlatform,
  recorder,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";
import { withLastDeploy } from "../../../support/providers/with-last-deploy.ts";

const get = (platform: MemoryPlatform, name = "app", account?: string) =>
  whileTicking(platform.clock, platform.controlPlane.getDeployment(platform.principal(account), { name }));

const details = async (platform: MemoryPlatform) => (await get(platform))._unsafeUnwrap();

test("has every field of the list, the release, and the outcome of the last deploy", async () => {
  const platform = startMemory();
  await deployed(platform, { env: { TOKEN: "s3cret" } });
  await deployed(platform, { port: 3000 });
  const { last_deploy, cron, release, instances, ...rest } = await details(platform);
  const [{ last_deploy: listedDeploy, ...row } = { last_deploy: null }] = await listed(platform);
  expect(rest).toEqual(row);
  expect({ cron, release, instances }).toEqual({ cron: null, release: 2, instances: [] });
  expect(last_deploy).toEqual({
    ...listedDeploy,
    message: "Revision app-00002 serves all traffic",
    log_tail: [],
  });
  expect(JSON.stringify(rest)).not.toContain("s3cret");
});

test("reads only the newest release", async () => {
  const numbers: (number | undefined)[] = [];
  const platform = startMemory({
    around: ({ services }) => ({
      services: {
        ...services,
        releases: (service, options) => {
          numbers.push(options?.newest);
          return services.releases?.(service, options) ?? okAsync([]);
        },
      },
    }),
  });
  await deployed(platform);
  await deployed(platform, { port: 3000 });
  numbers.length = 0;
  expect((await details(platform)).release).toBe(2);
  expect(numbers).toEqual([1]);
});

test("has the next fires of the schedule in its time zone", async () => {
  const platform = startMemory();
  await deployed(platform, { schedule: "0 9 * * *", timezone: "Europe/Paris" });
  const { cron } = await details(platform);
  expect(cron?.last).toBeNull();
  expect(cron?.next_fires).toHaveLength(5);
  const times = cron?.next_fires.map((fire) =>
    new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Paris", timeStyle: "short" }).format(new Date(fire)),
  );
  expect(new Set(times)).toEqual(new Set(["09:00"]));
});

test("reads the outcome from the log if this process does not know the deploy", async () => {
  const platform = startMemory();
  await ended(platform);
  const before = await details(platform);
  const restarted = startMemory({ memory: platform.memory, clock: platform.clock });
  await platform.clock.advance(7_200_000);
  expect((await details(restarted)).last_deploy).toEqual(before.last_deploy);
  expect(before.last_deploy?.message).toBe("Revision app-00001 serves all traffic");
});

test("has no message of a success if the log cannot be read", async () => {
  const platform = startMemory();
  await deployed(platform);
  const logs = { ...platform.memory.provider.logs, after: () => errAsync(unavailable("The log is down.")) };
  const { memory, clock } = platform;
  const restarted = startMemory({ memory, clock, around: () => ({ logs }) });
  expect((await details(restarted)).last_deploy).toMatchObject({ status: "DONE", message: null, log_tail: [] });
});

test("searches the log once for each deploy that has ended", async () => {
  const first = startMemory();
  await ended(first);
  const { message } = (await details(first)).last_deploy ?? {};
  let searches = 0;
  let isDown = true;
  const watch = (from: MemoryPlatform) =>
    startMemory({
      memory: from.memory,
      clock: from.clock,
      around: ({ logs }) => ({
        logs: {
          ...logs,
          after: (...args) => {
            searches++;
            return isDown ? errAsync(unavailable("The log is down.")) : logs.after(...args);
          },
        },
      }),
    });
  const platform = watch(first);
  expect((await details(platform)).last_deploy?.message).toBeNull();
  isDown = false;
  for (let reads = 0; reads < 3; reads++) expect((await details(platform)).last_deploy?.message).toBe(message);
  expect(searches).toBe(2);
  await deployed(first, { port: 3000 });
  for (let reads = 0; reads < 2; reads++)
    expect((await details(platform)).last_deploy?.message).toBe("Revision app-00002 serves all traffic");
  expect(searches).toBe(3);
});

test("searches the log again for an entry that may be late, but not for one that has expired", async () => {
  const first = startMemory();
  await deployed(first);
  let searches = 0;
  const platform = startMemory({
    memory: first.memory,
    clock: first.clock,
    around: ({ logs }) => ({
      logs: {
        ...logs,
        after: () => {
          searches++;
          return okAsync({ entries: [], partial: false });
        },
      },
    }),
  });
  const unlogged = "The deploy succeeded. The log does not contain its last record.";
  for (let reads = 0; reads < 2; reads++) expect((await details(platform)).last_deploy?.message).toBe(unlogged);
  expect(searches).toBe(2);
  await first.clock.advance(3_600_000);
  for (let reads = 0; reads < 2; reads++) expect((await details(platform)).last_deploy?.message).toBe(unlogged);
  expect(searches).toBe(3);
});

test.each([
  ["lacks the record", okAsync({ entries: [], partial: false })],
  ["cannot be searched to its end", okAsync({ entries: [], partial: true })],
  ["cannot be read", errAsync(unavailable("The log is down."))],
])("states the reason of a failed deploy if the log %s, because its server was killed", async (_, found) => {
  const first = startMemory();
  await deployed(first);
  const lastDeploy = {
    deployId: "killed",
    status: "ERROR",
    reason: "interrupted",
    finishedAt: timestampOf(0n as Instant),
  };
  const platform = startMemory({
    memory: first.memory,
    clock: first.clock,
    around: ({ services, logs }) => ({
      services: withLastDeploy(services, lastDeploy as DeployOutcome),
      logs: { ...logs, after: () => found },
    }),
  });
  expect((await details(platform)).last_deploy).toMatchObject({
    deploy_id: "killed",
    status: "ERROR",
    reason: "interrupted",
    message: "The deploy was cancelled, or its server stopped.",
    log_tail: [],
  });
});

test("states the reason of a broken service instead of the last record's message", async () => {
  const platform = startMemory({
    around: ({ services }) => ({
      services: {
        ...services,
        find: (...args) =>
          services
            .find(...args)
            .map((state) =>
              state.kind === "held" ? { ...state, service: { ...state.service, broken: "image_not_found" } } : state,
            ),
      },
    }),
  });
  await deployed(platform);
  expect((await details(platform)).last_deploy).toMatchObject({
    status: "ERROR",
    reason: "image_not_found",
    message: "The image to run does not exist.",
    log_tail: [],
  });
});

test("instances are null, and a warning is logged, if the provider temporarily cannot list them", async () => {
  const { logger, logged } = recorder();
  const instances = () => errAsync(unavailable("The engine does not list the instances."));
  const platform = startMemory({ logger, around: ({ services }) => ({ services: { ...services, instances } }) });
  await deployed(platform);
  expect(await details(platform)).toMatchObject({ instances: null, release: 1, status: "READY" });
  expect(logged).toContain("the instances of a deployment could not be listed");
});

test("exists during the first build, but is not visible to another account", async () => {
  const platform = startMemory({
    around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }),
  });
  const run = await accepted(platform);
  const first = (await platform.controlPlane.getDeployment(platform.principal(), { name: "app" }))._unsafeUnwrap();
  expect(first).toMatchObject({
    status: "DEPLOYING",
    url: "",
    release: null,
    instances: [],
    last_deploy: { deploy_id: run.deployId, status: "BUILDING", message: "Deploying as 'app'" },
  });
  expect((await get(platform, "app", "other"))._unsafeUnwrapErr().kind).toBe("not_found");
  await recordsOf(platform, run);
  expect((await get(platform, "app", "other"))._unsafeUnwrapErr().kind).toBe("forbidden");
});

test("fails with not_found for an unknown name", async () => {
  expect((await get(startMemory()))._unsafeUnwrapErr()).toMatchObject({
    kind: "not_found",
    message: "The deployment 'app' does not exist.",
  });
});

test("release and instances are null if the provider does not keep them", async () => {
  const capabilities = { releases: missing("no releases here"), instance_list: missing("no instances here") };
  const platform = startMemory({ capabilities });
  await deployed(platform);
  expect(await details(platform)).toMatchObject({ release: null, instances: null, status: "READY" });
});
