/** Closing a control plane: every deploy ends with `interrupted`, and nothing of it is left. */
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

test("running and waiting deploys end with `interrupted`, of every account", async () => {
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

test("nothing runs: it is closed at once, again and again", async () => {
  const { controlPlane } = startMemory();
  await controlPlane.close();
  await controlPlane.close();
});

test("what served before serves on", async () => {
  const platform = slow();
  await deployed(platform, { port: 3000 });
  await accepted(platform, { port: 4000 });
  await whileTicking(platform.clock, platform.controlPlane.close());
  expect(await listed(platform)).toMatchObject([
    { status: "READY", port: 3000, last_deploy: { reason: "interrupted" } },
  ]);
});

test("a deploy that was being checked when it closed is interrupted, too", async () => {
  const platform = slow(5000);
  const pending = platform.submit();
  await platform.clock.advance(1000);
  await platform.controlPlane.close();
  const run = (await whileTicking(platform.clock, pending))._unsafeUnwrap();
  expect((await recordsOf(platform, run)).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
});
