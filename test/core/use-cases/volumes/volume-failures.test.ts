/** A storage or platform that does not respond: every volume call returns the error and changes nothing. */
import { expect, test } from "vitest";
import { faulty } from "../../../../adapters/memory/index.ts";
import { conflict, unavailable } from "../../../../core/errors.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import { err, ResultAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  ended,
  type MemoryPlatform,
  recorder,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const down = unavailable("The storage is down.");

/** A platform with the volume `data`, in the trash if `trashed`, whose ports then fail at these methods. */
const broken = async (port: "volumes" | "services", methods: readonly string[], trashed = false) => {
  let fails = false;
  const { logger, logged } = recorder();
  const platform = startMemory({
    logger,
    around: (provider) =>
      ({
        [port]: faulty(provider[port], ({ method }) =>
          fails && methods.includes(method) ? { error: down } : undefined,
        ),
      }) as Partial<Provider>,
  });
  const { controlPlane, principal } = platform;
  (await controlPlane.createVolume(principal(), { name: "data" }))._unsafeUnwrap();
  if (trashed) (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrap();
  fails = true;
  return { platform, logged, mend: () => (fails = false) };
};

const names = async ({ controlPlane, principal }: MemoryPlatform) =>
  (await controlPlane.listVolumes(principal()))._unsafeUnwrap().map(({ name }) => name);

type Call = (platform: MemoryPlatform) => Promise<unknown>;

const create: Call = async ({ controlPlane, principal }) =>
  (await controlPlane.createVolume(principal(), { name: "more" }))._unsafeUnwrapErr();
const list: Call = async ({ controlPlane, principal }) =>
  (await controlPlane.listVolumes(principal()))._unsafeUnwrapErr();
const remove: Call = async ({ controlPlane, principal }) =>
  (await controlPlane.deleteVolume(principal(), { name: "data" }))._unsafeUnwrapErr();
const restore: Call = async ({ controlPlane, principal }) =>
  (await controlPlane.restoreVolume(principal(), { name: "data" }))._unsafeUnwrapErr();
const deploy: Call = async (platform) => (await platform.submit({ volumes: { "/data": "data" } }))._unsafeUnwrapErr();

test.each<[string, "volumes" | "services", string, Call]>([
  ["create", "volumes", "list", create],
  ["list", "volumes", "list", list],
  ["list, if its mounts cannot be read", "services", "list", list],
  ["delete", "volumes", "find", remove],
  ["a deploy that mounts a volume", "volumes", "list", deploy],
])("%s: fails with the error of %s.%s, and changes nothing", async (_call, port, method, call) => {
  const { platform, mend } = await broken(port, [method]);
  expect(await call(platform)).toEqual(down);
  mend();
  expect(await names(platform)).toEqual(["data"]);
});

test.each<["volumes" | "services", string]>([
  ["volumes", "trash"],
  ["volumes", "find"],
  ["volumes", "list"],
  ["services", "list"],
  ["volumes", "restore"],
])("restore: fails with the error of %s.%s, and changes nothing", async (port, method) => {
  const { platform, mend } = await broken(port, [method], true);
  expect(await restore(platform)).toEqual(down);
  mend();
  expect(await names(platform)).toEqual([]);
  const { controlPlane, principal } = platform;
  expect((await controlPlane.restoreVolume(principal(), { name: "data" })).isOk()).toBe(true);
});

test("logs that a volume can be neither moved to the trash nor listed again", async () => {
  const { platform, logged } = await broken("volumes", ["moveToTrash", "abortDelete"]);
  expect(await remove(platform)).toEqual(down);
  expect(logged).toEqual(["a volume stays hidden after its deletion failed"]);
});

/** The outcome of a deploy that mounts `data` if the storage fails at this method after the build. */
const lastOf = async (method: string, error: ReturnType<typeof conflict> | typeof down) => {
  let built = false;
  const platform = startMemory({
    around: ({ volumes, builder }) => ({
      volumes: faulty(volumes, (call) =>
        built && call.method === method ? { error: error as typeof down } : undefined,
      ),
      builder: {
        build: (...args) => {
          built = true;
          return builder.build(...args);
        },
      },
    }),
  });
  return (await ended(platform, { volumes: { "/data": "data" } })).at(-1);
};

test("a deploy ends and names the volume that cannot be read", async () => {
  expect(await lastOf("find", down)).toMatchObject({
    reason: "provider_unavailable",
    message: "Cannot use the volume 'data': The storage is down.",
  });
});

test("a deploy ends if its missing volume is being deleted, and explains how to restore it", async () => {
  const last = await lastOf("create", conflict("'data' is being deleted."));
  expect(last).toMatchObject({ reason: "volume_unavailable" });
  expect(last?.message).toMatch(/^The volume 'data' was deleted in the meantime\. Restore it with /);
});

test("a storage error after a cancel is not reported", async () => {
  const platform = startMemory({
    around: ({ volumes }, clock) => ({
      volumes: {
        ...volumes,
        create: (_owner, _name, { signal } = {}) =>
          new ResultAsync(clock.sleep(5000, signal).then(() => err(signal?.aborted ? down : conflict("too slow")))),
      },
    }),
  });
  const run = await accepted(platform, { volumes: { "/data": "data" } });
  await platform.clock.advance(1000);
  const { controlPlane, principal, clock } = platform;
  (await whileTicking(clock, controlPlane.cancelDeploy(principal(), { deploy_id: run.deployId })))._unsafeUnwrap();
  expect((await Array.fromAsync(run.follow())).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
});
