/** Rollouts succeed with each adverse behaviour of the fakes, and with all of them together. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { oneMount } from "../../../clouds/rollouts/steps.ts";
import {
  type AdverseBehavior,
  type AdverseBehaviors,
  adverseBehaviors,
  allAdverse,
  noneAdverse,
  PROPAGATION_MS,
} from "../../../fakes/gcp/adverse.ts";
import { type FakeCloudRun, openFakeCloudRun } from "../../../support/providers/cloud-run-platform.ts";

/** The maximum duration of a first deploy without adverse behaviour, including its polls. */
const SECONDS_MS = 10_000;

/** The tests of builds, logs and SQL cover these. */
const elsewhere: readonly AdverseBehavior[] = [
  ...(["build_regions_restricted", "docker_without_buildkit", "log_read_quota", "tables_behind_views"] as const),
];
const ofRollouts = (Object.keys(adverseBehaviors) as AdverseBehavior[]).filter((name) => !elsewhere.includes(name));
const each = ofRollouts.map((name): [string, AdverseBehaviors] => [name, new Set([name])]);

describe.each<[string, AdverseBehaviors]>([
  ["no adverse behaviour", noneAdverse],
  ...each,
  ["every adverse behaviour", allAdverse],
])("with %s", (_, adverse) => {
  let run: FakeCloudRun;
  beforeEach(async () => {
    run = await openFakeCloudRun({ adverse });
    run.storage.world.insertBucket({ name: "vol-data" });
  });
  afterEach(() => run.close());

  test("an account's first deploy and a redeploy succeed", async () => {
    const first = await run.endOf(run.template("app"), "absent", { listenDeadlineMs: 300_000 });
    expect(first).toMatchObject({ kind: "ready" });
    const again = await run.endOf(run.template("app", "acme", { timeout: 31 }), await run.expectedOf("app"));
    expect(again).toMatchObject({ kind: "ready" });
    const { url } = await run.serviceOf("app");
    expect((await fetch(url)).status).toBe(200);
    expect(await run.serviceOf("app")).toMatchObject({ rollingOut: null, serving: [{ template: { timeout: 31 } }] });
  });

  test("a failed rollout reports the reason, and the previous revision serves", async () => {
    const first = await run.endOf(run.template("app"), "absent");
    expect(first).toMatchObject({ kind: "ready" });
    const crash = run.template("app", "acme", { image: run.image("exits:7") });
    const health = { path: "/healthz", interval: 10, timeout: 5, failures: 3 };
    for (const template of [crash, { ...crash, health }])
      expect(await run.endOf(template, await run.expectedOf("app"))).toMatchObject({
        kind: "failed",
        failure: { reason: "crashed", exitCode: 7, logTail: ["leaving"] },
      });
    const { serving, url } = await run.serviceOf("app");
    expect(serving.map(({ id }) => id)).toEqual([first?.kind === "ready" && first.revision]);
    expect((await fetch(url)).status).toBe(200);
  });

  test("a revision that hangs does not take the traffic of the previous one", async () => {
    const first = await run.endOf(run.template("app"), "absent");
    const hanging = run.template("app", "acme", { image: run.image("hangs") });
    expect(await run.endOf(hanging, await run.expectedOf("app"))).toMatchObject({ kind: "failed" });
    const { serving } = await run.serviceOf("app");
    expect(serving.map(({ id }) => id)).toEqual([first?.kind === "ready" && first.revision]);
    const crash = run.template("app", "acme", { image: run.image("exits:7") });
    expect(await run.endOf(crash, await run.expectedOf("app"))).toMatchObject({ kind: "failed" });
    expect((await fetch((await run.serviceOf("app")).url)).status).toBe(200);
  });

  test("a first deploy takes at most 1.1 times the delays, plus ten seconds", async () => {
    const begun = millisOf(run.clock.now());
    expect(await run.endOf(run.template("app"), "absent")).toMatchObject({ kind: "ready" });
    // The delay of public access begins after the delay of the identity. Everything else takes seconds.
    const delays = (["identity_late", "public_access_late"] as const).filter((name) => adverse.has(name)).length;
    const waited = millisOf(run.clock.now()) - begun;
    expect(waited).toBeLessThanOrEqual(delays * PROPAGATION_MS * 1.1 + SECONDS_MS);
  });

  test("mounts a volume on the first attempt", async () => {
    const template = run.template("app", "acme", { mounts: oneMount, memory: 2 ** 30 });
    expect(await run.endOf(template, "absent")).toMatchObject({ kind: "ready" });
  });
});
