import { expect, test } from "vitest";
import { openPretendedEcs } from "../../../support/ecs-platform.ts";
test("thin", async () => {
  const run = await openPretendedEcs();
  const events = await run.rollOut(run.template("app"), "absent");
  console.log(JSON.stringify(events), run.said, run.state.faults.log, run.ecs.faults.log, run.balancer.faults.log);
  expect(events.at(-1)?.kind).toBe("ready");
  const again = await run.rollOut(run.template("app", "acme", { timeout: 77 }), await run.expectedOf("app"));
  console.log(JSON.stringify(again), run.said);
  expect(again.at(-1)?.kind).toBe("ready");
  expect((await run.platform.remove("app" as never, await run.expectedOf("app"))).isOk()).toBe(true);
  console.log(run.ecs.services(), run.balancer.rules(), run.balancer.groups(), run.ecs.definitions(), run.scaling.targets);
  await run.close();
});
