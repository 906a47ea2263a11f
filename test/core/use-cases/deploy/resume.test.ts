/** Following a deploy: a client that disconnected can resume after any record, and misses none. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

/** A platform whose builds print `lines` lines, one a second. */
const chatty = (lines: number): MemoryPlatform =>
  startMemory({
    around: ({ builder }, clock) => ({
      builder: {
        build: async function* (request, options) {
          for (let line = 1; line <= lines; line++) {
            await clock.sleep(1000);
            yield { kind: "progress", message: `line ${line}` };
          }
          yield* builder.build(request, options);
        },
      },
    }),
  });

const resumed = (platform: MemoryPlatform, deployId: string, after?: unknown) =>
  platform.controlPlane.resumeDeploy(platform.principal(), {
    deploy_id: deployId,
    ...(after === undefined ? {} : { after: after as number }),
  });

test("from any record, at any moment, returns every later record exactly once and in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat({ max: 12 }),
      fc.nat({ max: 15 }),
      fc.nat({ max: 15_000 }),
      async (lines, after, moment) => {
        const platform = chatty(lines);
        const run = await accepted(platform);
        const whole = Array.fromAsync(run.follow());
        await platform.clock.advance(moment);
        const found = (await resumed(platform, run.deployId, String(after)))._unsafeUnwrap();
        expect(found.after).toBe(after);
        const rest = await whileTicking(platform.clock, Array.fromAsync(found.run.follow(found.after)));
        expect(rest).toEqual((await whole).slice(after));
      },
    ),
    runs(100),
  );
});

test("several clients may follow; one that leaves affects neither the others nor the deploy", async () => {
  const platform = chatty(10);
  const run = await accepted(platform);
  const gone = new AbortController();
  const seen: DeployEvent[] = [];
  const leaving = (async () => {
    for await (const record of run.follow(0, gone.signal)) seen.push(record);
  })();
  const staying = [Array.fromAsync(run.follow()), Array.fromAsync(run.follow())];
  await platform.clock.advance(3500);
  gone.abort();
  await leaving;
  expect(seen.at(-1)?.message).toBe(`line ${seen.length - 1}`);
  expect(seen.length).toBeLessThan(6);
  const [one, other] = await whileTicking(platform.clock, Promise.all(staying));
  expect(one).toEqual(other);
  expect(one?.at(-1)?.status).toBe("DONE");
});

test("a deploy without a follower completes", async () => {
  const platform = chatty(3);
  const run = await accepted(platform);
  await platform.clock.advance(10_000);
  expect((await recordsOf(platform, run)).at(-1)?.status).toBe("DONE");
});

describe("retention", () => {
  test("an ended deploy can be read for an hour", async () => {
    const platform = startMemory();
    const [record] = await deployed(platform);
    const deployId = record?.deploy_id ?? "";
    await platform.clock.advance(59 * 60_000);
    expect((await resumed(platform, deployId)).isOk()).toBe(true);
    await platform.clock.advance(60_000);
    expect((await resumed(platform, deployId))._unsafeUnwrapErr().kind).toBe("not_found");
  });

  test("a running deploy is never dropped, however long it takes", async () => {
    const platform = startMemory({
      settings: { deployLimits: { buildDeadlineMs: 3 * 3_600_000 } },
      around: ({ builder }, clock) => ({
        builder: {
          build: async function* (request, options) {
            await clock.sleep(request.name === "app" ? 2 * 3_600_000 : 0);
            yield* builder.build(request, options);
          },
        },
      }),
    });
    const run = await accepted(platform);
    await platform.clock.advance(3_700_000);
    await deployed(platform, { function_name: "other" });
    expect((await resumed(platform, run.deployId)).isOk()).toBe(true);
  });
});

describe("errors", () => {
  test("rejects an unknown deploy, another account's deploy and an invalid seq", async () => {
    const platform = startMemory();
    const [record] = await deployed(platform);
    const deployId = record?.deploy_id ?? "";
    expect((await resumed(platform, "unknown"))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: expect.stringContaining("only on the server that runs it"),
    });
    const others = await platform.controlPlane.resumeDeploy(platform.principal("other"), { deploy_id: deployId });
    expect(others._unsafeUnwrapErr().kind).toBe("forbidden");
    expect((await resumed(platform, deployId, "-1"))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["after"] }],
    });
    expect((await resumed(platform, deployId, "x"))._unsafeUnwrapErr()).toMatchObject({
      issues: [{ path: ["after"] }],
    });
  });

  test("the stream after the last record is empty", async () => {
    const platform = startMemory();
    const records = await deployed(platform);
    const found = (await resumed(platform, records[0]?.deploy_id ?? "", 1000))._unsafeUnwrap();
    expect(await Array.fromAsync(found.run.follow(found.after))).toEqual([]);
  });
});
