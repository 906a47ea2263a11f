/** Control plane replicas on one project: the races of every cloud, Cloud Run's etags, and manual edits. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { raceTests } from "../../../clouds/rollouts/races.ts";
import { type FakeCloudRun, openFakeCloudRun, runRollouts } from "../../../support/providers/cloud-run-platform.ts";

let run: FakeCloudRun;
beforeEach(async () => {
  run = await openFakeCloudRun();
});
afterEach(() => run.close());

raceTests(() => run, runRollouts);

test("keeps a manual change between a rollout's read and its write", async () => {
  await run.rollOut(run.template("app"), "absent");
  const client = await run.clients("services");
  const update = client.updateService.bind(client);
  let edits = 0;
  const meddling = async (...args: Parameters<typeof update>) => {
    if (edits < 2) {
      edits += 1;
      await run.run.edit("app", (wanted) => {
        wanted.annotations[`example.com/edit-${edits}`] = "1";
      });
    }
    return update(...args);
  };
  Object.assign(client, { updateService: meddling });
  const end = (await run.rollOut(run.template("app", "acme", { timeout: 44 }), await run.expectedOf("app"))).at(-1);
  expect(end?.kind).toBe("ready");
  expect(run.run.stored("app")?.annotations).toMatchObject({ "example.com/edit-1": "1", "example.com/edit-2": "1" });
});
