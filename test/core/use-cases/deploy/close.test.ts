/** Closing a control plane ends every deploy with `interrupted` and releases its resources. */
import { expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { accepted, deployed, listed, recordsOf, startMemory } from "../../../support/providers/memory-platform.ts";

const slow = (find = 0) =>
  startMemory({
    around: ({ builder, services }, clock) => ({
      builder: delayed(builder, clock, () => 10_000),
      services: delayed(services, clock, ({ method }) => (method === "find" ? find : 0)),
    }),
  });

test("ends running and waiting deploys of every account with `interrupted`", async () => {
  const platform = slow();
  const runs = [
    await accepted(platform),
    await accepted(platform),
    await accepted(platform, { function_name: "other" }, "other"),
  ];
  await whileTicking(platform.clock, platform.controlPlane.close());
  for (const run of runs) {
    const records = await Array.fromAsync(run.follow());
    expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  }
  expect(platform.kept.size).toBe(0);
});

test("closes immediately if nothing runs, any number of times", async () => {
  const { controlPlane } = startMemory();
  await controlPlane.close();
  await controlPlane.close();
});

test("services keep running", async () => {
  const platform = slow();
  await deployed(platform, { port: 3000 });
  await accepted(platform, { port: 4000 });
  await whileTicking(platform.clock, platform.controlPlane.close());
  expect(await listed(platform)).toMatchObject([
    { status: "READY", port: 3000, last_deploy: { reason: "interrupted" } },
  ]);
});

test("interrupts a deploy that is still being validated", async () => {
  const platform = slow(5000);
  const pending = platform.submit();
  await platform.clock.advance(1000);
  await platform.controlPlane.close();
  const run = (await whileTicking(platform.clock, pending))._unsafeUnwrap();
  expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
});

test("settle waits for running deploys and for deploys that begin meanwhile, and interrupts none", async () => {
  const platform = slow();
  const first = await accepted(platform);
  let isSettled = false;
  const settled = platform.controlPlane.settle().then(() => {
    isSettled = true;
  });
  await platform.clock.advance(9000);
  const second = await accepted(platform, { function_name: "other" }, "other");
  expect((await recordsOf(platform, first)).at(-1)).toMatchObject({ status: "DONE" });
  expect(isSettled).toBe(false);
  await whileTicking(platform.clock, settled);
  expect((await Array.fromAsync(second.follow())).at(-1)).toMatchObject({ status: "DONE" });
});

test("settle resolves immediately if nothing runs", async () => {
  await startMemory().controlPlane.settle();
});
