/** A deploy discards its source as soon as nothing needs it any more, however the deploy ends. */
import { expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  type MemoryPlatform,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const slowBuilds = () =>
  startMemory({
    settings: { accountLimits: { deployments: 1 }, deployLimits: { queuedPerName: 1 } },
    around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }),
  });

const deleteApp = (platform: MemoryPlatform) =>
  whileTicking(platform.clock, platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" }));

const paths: Readonly<Record<string, (platform: MemoryPlatform) => Promise<unknown>>> = {
  "the deploy is done": deployed,
  "the request is invalid": (platform) => platform.submit({ port: 0 }),
  "the name belongs to another account": async (platform) => {
    await deployed(platform);
    expect((await platform.submit({}, "other")).isErr()).toBe(true);
  },
  "the account's quota is used up": async (platform) => {
    await deployed(platform);
    expect((await platform.submit({ function_name: "second" })).isErr()).toBe(true);
  },
  "the queue is full": async (platform) => {
    const [first, second] = [await accepted(platform), await accepted(platform)];
    expect((await platform.submit()).isErr()).toBe(true);
    await recordsOf(platform, first);
    await recordsOf(platform, second);
  },
  "the deploy is cancelled in the build": async (platform) => {
    const run = await accepted(platform);
    await platform.clock.advance(1000);
    const cancelled = platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: run.deployId });
    expect((await whileTicking(platform.clock, cancelled)).isOk()).toBe(true);
  },
  "the deployment is deleted while the deploy waits": async (platform) => {
    await accepted(platform);
    await accepted(platform);
    expect((await deleteApp(platform)).isOk()).toBe(true);
  },
  "the control plane is closed": async (platform) => {
    await accepted(platform);
    await accepted(platform);
    await whileTicking(platform.clock, platform.controlPlane.close());
  },
};

test.each(Object.entries(paths))("%s", async (_path, walk) => {
  const platform = slowBuilds();
  await walk(platform);
  await platform.clock.advance(0);
  expect(platform.kept.size).toBe(0);
});

test("a source is kept while its deploy waits and until its build has read it", async () => {
  const platform = slowBuilds();
  const [first, second] = [await accepted(platform), await accepted(platform)];
  await platform.clock.advance(1000);
  expect(platform.kept.size).toBe(2);
  await recordsOf(platform, first);
  await platform.clock.advance(0);
  expect(platform.kept.size).toBe(1);
  await recordsOf(platform, second);
  await platform.clock.advance(0);
  expect(platform.kept.size).toBe(0);
});

test("a plan does not discard the source", async () => {
  const platform = slowBuilds();
  let discarded = 0;
  const source: Source = {
    digest: "sha256:0",
    bytes: 1,
    open: async function* () {},
    discard: async () => void discarded++,
  };
  const archive = { kind: "accepted", source } as const;
  const request = { fields: { function_name: "app", volumes: {} }, archive };
  expect((await platform.controlPlane.plan(platform.principal(), request)).isOk()).toBe(true);
  expect(discarded).toBe(0);
});
