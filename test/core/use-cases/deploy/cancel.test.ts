/** Cancelling a deploy ends it with `interrupted`. Once its traffic has moved or it has ended, the call fails. */
import { describe, expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import type { DeployRun } from "../../../../core/control-plane.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import { err, ResultAsync } from "../../../../core/result.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  listed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

/** Every call and every event of these methods takes this many milliseconds. */
const slow = (millis: Readonly<Record<string, number>>): MemoryPlatform =>
  startMemory({
    around: ({ builder, services, logs }: Provider, clock) => {
      const pause = ({ method }: { method: string }) => millis[method] ?? 0;
      return {
        builder: delayed(builder, clock, pause),
        services: delayed(services, clock, pause),
        logs: delayed(logs, clock, pause),
      };
    },
  });

const cancel = (platform: MemoryPlatform, run: DeployRun, account?: string) =>
  whileTicking(
    platform.clock,
    platform.controlPlane.cancelDeploy(platform.principal(account), { deploy_id: run.deployId }),
  );

const portOf = async (platform: MemoryPlatform) => (await listed(platform))[0]?.port;

describe("before traffic has moved", () => {
  test("in the build: interrupted, and nothing is created", async () => {
    const platform = slow({ build: 10_000 });
    const run = await accepted(platform);
    await platform.clock.advance(1000);
    expect((await cancel(platform, run))._unsafeUnwrap()).toEqual({ detail: "The deploy of 'app' was cancelled." });
    const records = await recordsOf(platform, run);
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
    expect(records.some(({ status }) => status === "DEPLOYING")).toBe(false);
    expect(await portOf(platform)).toBeUndefined();
  });

  test("in the rollout: interrupted, and the previous revision keeps serving", async () => {
    const platform = slow({ rollout: 2000 });
    await deployed(platform, { port: 3000 });
    const run = await accepted(platform, { port: 4000 });
    await platform.clock.advance(1000);
    expect((await cancel(platform, run)).isOk()).toBe(true);
    expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
    expect(await portOf(platform)).toBe(3000);
  });

  test("in the queue: interrupted, and the deploy before it continues", async () => {
    const platform = slow({ build: 10_000 });
    const first = await accepted(platform, { port: 3000 });
    const second = await accepted(platform, { port: 4000 });
    expect((await cancel(platform, second)).isOk()).toBe(true);
    expect((await recordsOf(platform, second)).map(({ status }) => status)).toEqual(["BUILDING", "BUILDING", "ERROR"]);
    expect((await recordsOf(platform, first)).at(-1)?.status).toBe("DONE");
    expect(await portOf(platform)).toBe(3000);
  });

  test("in the queue for the account's builds: interrupted", async () => {
    const platform = slow({ build: 10_000 });
    await accepted(platform, { function_name: "one" });
    await accepted(platform, { function_name: "two" });
    const third = await accepted(platform, { function_name: "three" });
    await platform.clock.advance(0);
    expect((await cancel(platform, third)).isOk()).toBe(true);
    expect((await recordsOf(platform, third)).at(-1)).toMatchObject({ reason: "interrupted" });
  });

  test("during the plan: interrupted, although the aborted call returns an error", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => ({
        services: {
          ...services,
          find: (name, { signal } = {}) =>
            new ResultAsync(
              clock
                .sleep(3000, signal)
                .then(async () => (signal?.aborted ? err(unavailable("aborted")) : services.find(name))),
            ),
        },
      }),
    });
    const run = await accepted(platform);
    await platform.clock.advance(1000);
    expect((await cancel(platform, run)).isOk()).toBe(true);
    expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ reason: "interrupted" });
  });

  test("at the end of the build: interrupted, although the image exists", async () => {
    const platform = startMemory({
      around: ({ builder }) => ({
        builder: {
          build: async function* (request, options) {
            for await (const event of builder.build(request, options)) {
              const { deployId } = request;
              if (event.kind === "built")
                void platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: deployId });
              yield event;
            }
          },
        },
      }),
    });
    const records = await recordsOf(platform, await accepted(platform));
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
    expect(await portOf(platform)).toBeUndefined();
  });

  test("a second time: the result is the same", async () => {
    const platform = slow({ build: 10_000 });
    const run = await accepted(platform);
    expect(await cancel(platform, run)).toEqual(await cancel(platform, run));
  });
});

describe("fails with a conflict", () => {
  test("after the deploy is done", async () => {
    const platform = startMemory();
    const run = await accepted(platform);
    await recordsOf(platform, run);
    const refused = (await cancel(platform, run))._unsafeUnwrapErr();
    expect(refused).toMatchObject({ kind: "conflict", message: "The deploy of 'app' has already ended with DONE." });
  });

  test("after traffic has moved, although the deploy has not ended yet", async () => {
    const platform = slow({ noteDeploy: 5000 });
    const run = await accepted(platform);
    await platform.clock.advance(6000);
    expect((await cancel(platform, run))._unsafeUnwrapErr().kind).toBe("conflict");
    expect((await recordsOf(platform, run)).at(-1)?.status).toBe("DONE");
  });

  test("after the deploy failed", async () => {
    const platform = startMemory({
      around: () => ({
        builder: {
          build: async function* () {
            yield { kind: "failed", failure: { reason: "no_builder", message: "nothing recognized" } };
          },
        },
      }),
    });
    const run = await accepted(platform);
    await recordsOf(platform, run);
    expect((await cancel(platform, run))._unsafeUnwrapErr()).toMatchObject({ kind: "conflict" });
  });
});

test("rejects another account's id, an unknown id and a missing id", async () => {
  const platform = slow({ build: 10_000 });
  const run = await accepted(platform);
  expect((await cancel(platform, run, "other"))._unsafeUnwrapErr().kind).toBe("forbidden");
  const { controlPlane, principal } = platform;
  expect((await controlPlane.cancelDeploy(principal(), { deploy_id: "unknown" }))._unsafeUnwrapErr().kind).toBe(
    "not_found",
  );
  expect((await controlPlane.cancelDeploy(principal(), {} as never))._unsafeUnwrapErr()).toMatchObject({
    issues: [{ path: ["deploy_id"], type: "missing" }],
  });
  expect((await recordsOf(platform, run)).at(-1)?.status).toBe("DONE");
});
