/** Replicas of the control plane over one Cloud Run: one wins by etag, the other changes nothing; a note never decides. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSystemClock } from "../../../../adapters/shared/system.ts";
import type { DeployOutcome } from "../../../../core/domain/deploy-events.ts";
import { accountOf, nameOf } from "../../../support/brands.ts";
import { openPretendedRun, type PretendedRun } from "../../../support/run-platform.ts";

let run: PretendedRun;
beforeEach(async () => {
  run = await openPretendedRun();
});
afterEach(() => run.close());

const noted = (deployId: string): DeployOutcome => ({ deployId, status: "BUILDING", reason: null, finishedAt: null });

test("of replicas that create one name at once, one wins; of another account the loser hears name_taken", async () => {
  for (let round = 0; round < 5; round++) {
    const name = `app-${round}`;
    const owners = ["acme", "acme", "globex"];
    const ends = await Promise.all(
      owners.map(async (owner, index) => {
        const template = run.template(name, owner, { timeout: 10 + index });
        return (await run.rollOut(template, "absent", { by: run.replica() })).at(-1);
      }),
    );
    const won = ends.findIndex((end) => end?.kind === "ready");
    expect(ends.filter((end) => end?.kind === "ready")).toHaveLength(1);
    const service = await run.serviceOf(name);
    expect(service).toMatchObject({ owner: owners[won], serving: [{ template: { timeout: 10 + won } }] });
    for (const [index, end] of ends.entries()) {
      const reason = owners[index] === owners[won] ? "superseded" : "name_taken";
      if (index !== won) expect(end).toMatchObject({ kind: "failed", failure: { reason } });
    }
  }
});

test("of replicas that update from one version, one wins and the others are superseded", async () => {
  await run.rollOut(run.template("app"), "absent");
  for (let round = 0; round < 5; round++) {
    const expected = await run.expectedOf("app");
    const ends = await Promise.all(
      [1, 2, 3].map(async (index) => {
        const template = run.template("app", "acme", { timeout: round * 10 + index });
        return (await run.rollOut(template, expected, { by: run.replica() })).at(-1);
      }),
    );
    const reasons = ends.map((end) => (end?.kind === "failed" ? end.failure.reason : end?.kind)).sort();
    expect(reasons).toEqual(["ready", "superseded", "superseded"]);
    const won = ends.findIndex((end) => end?.kind === "ready");
    expect((await run.serviceOf("app")).serving[0]?.template.timeout).toBe(round * 10 + won + 1);
  }
});

test("notes that come in between make no deploy lose, and none is lost", async () => {
  await run.close();
  // Real time: a virtual deadline would be over after a few looks, because every note is a write to be waited for.
  run = await openPretendedRun({}, createSystemClock());
  await run.rollOut(run.template("app"), "absent");
  const app = { name: nameOf("app"), owner: accountOf("acme") };
  let stop = false;
  let notes = 0;
  const note = async () => {
    while (!stop) {
      (await run.replica().noteDeploy(app, noted(`d${++notes}`)))._unsafeUnwrap();
      await run.clock.sleep(5);
    }
  };
  const noting = note();
  const end = (await run.rollOut(run.template("app", "acme", { timeout: 99 }), await run.expectedOf("app"))).at(-1);
  stop = true;
  await noting;
  expect(end?.kind).toBe("ready");
  expect(notes).toBeGreaterThan(2);
  const service = await run.serviceOf("app");
  expect(service.serving[0]?.template.timeout).toBe(99);
  expect(service.lastDeploy?.deployId).toBe(`d${notes}`);
});

test("a newer deploy that begins meanwhile wins, and the older one leaves it alone", async () => {
  const first = (await run.rollOut(run.template("app"), "absent")).at(-1);
  const newer = async () => {
    const template = run.template("app", "acme", { timeout: 77 });
    const end = await run.rollOut(template, await run.expectedOf("app"), { by: run.replica() });
    expect(end.at(-1)?.kind).toBe("ready");
    return undefined;
  };
  const older = run.template("app", "acme", { timeout: 66 });
  const end = (await run.rollOut(older, await run.expectedOf("app"), { mayServe: newer })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
  const service = await run.serviceOf("app");
  expect(service).toMatchObject({ rollingOut: null, serving: [{ template: { timeout: 77 } }] });
  expect(service.serving[0]?.id).not.toBe(first?.kind === "ready" ? first.revision : "");
});

test("a delete that comes in between ends the deploy with deleted, and nothing comes back", async () => {
  await run.rollOut(run.template("app"), "absent");
  const deleting = async () => {
    (await run.replica().remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
    return undefined;
  };
  const template = run.template("app", "acme", { timeout: 66 });
  const end = (await run.rollOut(template, await run.expectedOf("app"), { mayServe: deleting })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("free");
});

test("what somebody sets by hand between a rollout's look and its write is not undone", async () => {
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
