/**
 * Control plane replicas on one cloud account: one wins and the others change nothing. Notes about deploys do not
 * affect which one wins.
 */
import { expect, test } from "vitest";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import type { DeployOutcome } from "../../../core/domain/deploy/events.ts";
import { accountOf, nameOf } from "../../support/http/brands.ts";
import type { FakePlatform, RolloutCloud } from "./steps.ts";

const noted = (deployId: string): DeployOutcome => ({
  deployId,
  status: "ERROR",
  reason: "build_failed",
  finishedAt: "2026-01-01T00:00:00+00:00",
});

/** @param now returns the running test's platform */
export const raceTests = <W extends FakePlatform>(
  now: () => W,
  { open, freed, onlyServing }: RolloutCloud<W>,
): void => {
  test("of replicas that create one name concurrently, one wins; a loser of another account gets name_taken", async () => {
    const run = now();
    const names = [0, 1, 2, 3, 4].map((round) => `app-${round}`);
    for (const name of names) {
      const owners = ["acme", "acme", "globex"];
      const ends = await Promise.all(
        owners.map((owner, index) =>
          run.endOf(run.template(name, owner, { timeout: 10 + index }), "absent", { by: run.replica() }),
        ),
      );
      const won = ends.findIndex((end) => end?.kind === "ready");
      expect(ends.filter((end) => end?.kind === "ready")).toHaveLength(1);
      const service = await run.serviceOf(name);
      expect(service).toMatchObject({ owner: owners[won], serving: [{ template: { timeout: 10 + won } }] });
      expect(run.routed(name)).toBe(service.serving[0]?.id);
      for (const [index, end] of ends.entries()) {
        const reason = owners[index] === owners[won] ? "superseded" : "name_taken";
        if (index !== won) expect(end).toMatchObject({ kind: "failed", failure: { reason } });
      }
    }
    onlyServing(run, names);
  });

  test("of replicas that update from one version, one wins and the others are superseded", async () => {
    const run = now();
    await run.rollOut(run.template("app"), "absent");
    for (let round = 0; round < 5; round++) {
      const expected = await run.expectedOf("app");
      const ends = await Promise.all(
        [1, 2, 3].map((index) =>
          run.endOf(run.template("app", "acme", { timeout: round * 10 + index }), expected, { by: run.replica() }),
        ),
      );
      const reasons = ends.map((end) => (end?.kind === "failed" ? end.failure.reason : end?.kind)).sort();
      expect(reasons).toEqual(["ready", "superseded", "superseded"]);
      const won = ends.findIndex((end) => end?.kind === "ready");
      const service = await run.serviceOf("app");
      expect(service.serving[0]?.template.timeout).toBe(round * 10 + won + 1);
      expect(run.routed("app")).toBe(service.serving[0]?.id);
    }
    onlyServing(run, ["app"]);
  });

  test("concurrent new deployments do not interfere", async () => {
    const run = now();
    const names = Array.from({ length: 12 }, (_, index) => `app-${index}`);
    const ends = await Promise.all(
      names.map(async (name) => (await run.endOf(run.template(name), "absent", { by: run.replica() }))?.kind),
    );
    expect(new Set(ends)).toEqual(new Set(["ready"]));
    for (const name of names) expect(run.routed(name)).toBe((await run.serviceOf(name)).serving[0]?.id);
    onlyServing(run, names);
  });

  test("concurrent notes do not make a deploy fail, and no note is lost", async () => {
    // Real time: each note waits for a write, so a virtual deadline would pass after a few reads.
    const run = await open(createSystemClock());
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
    const mayServe = async () => {
      const before = notes;
      while (notes < before + 3) await run.clock.sleep(5);
      return undefined;
    };
    const template = run.template("app", "acme", { timeout: 99 });
    const end = await run.endOf(template, await run.expectedOf("app"), { mayServe });
    stop = true;
    await noting;
    expect(end?.kind).toBe("ready");
    expect(notes).toBeGreaterThan(2);
    const service = await run.serviceOf("app");
    expect(service.serving[0]?.template.timeout).toBe(99);
    expect(service.lastDeploy?.deployId).toBe(`d${notes}`);
    await run.close();
  });

  test("a newer deploy that begins meanwhile wins, and the older one does not change it", async () => {
    const run = now();
    const first = await run.endOf(run.template("app"), "absent");
    const newer = async () => {
      const template = run.template("app", "acme", { timeout: 77 });
      const end = await run.endOf(template, await run.expectedOf("app"), { by: run.replica() });
      expect(end?.kind).toBe("ready");
      return undefined;
    };
    const older = run.template("app", "acme", { timeout: 66 });
    const end = await run.endOf(older, await run.expectedOf("app"), { mayServe: newer });
    expect(end).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
    const service = await run.serviceOf("app");
    expect(service).toMatchObject({ rollingOut: null, serving: [{ template: { timeout: 77 } }] });
    expect(service.serving[0]?.id).not.toBe(first?.kind === "ready" ? first.revision : "");
    expect(run.routed("app")).toBe(service.serving[0]?.id);
    onlyServing(run, ["app"]);
  });

  test("a concurrent delete ends the deploy with deleted, and the service stays deleted", async () => {
    const run = now();
    await run.rollOut(run.template("app"), "absent");
    const deleting = async () => {
      (await run.replica().remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
      return undefined;
    };
    const template = run.template("app", "acme", { timeout: 66 });
    const end = await run.endOf(template, await run.expectedOf("app"), { mayServe: deleting });
    expect(end).toMatchObject({ kind: "failed", failure: { reason: "deleted" } });
    expect((await run.stateOf("app")).kind).toBe(freed);
    onlyServing(run, []);
  });
};
