/** Releases and rollbacks: what a rollback restores, when it is refused, and how concurrent operations affect it. */
import { describe, expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { adjust, veto } from "../../../../core/index.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import {
  accepted,
  deployed,
  listed,
  type MemoryPlatform,
  recordsOf,
  recordTexts,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const rollback = (platform: MemoryPlatform, request: RawFields = {}) =>
  whileTicking(platform.clock, platform.controlPlane.rollback(platform.principal(), { name: "app", ...request }));

const rolledBack = async (platform: MemoryPlatform, request: RawFields = {}) => {
  const records = await recordsOf(platform, (await rollback(platform, request))._unsafeUnwrap());
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records;
};

const releases = async (platform: MemoryPlatform, request: RawFields = {}) =>
  (await platform.controlPlane.listReleases(platform.principal(), { name: "app", ...request }))._unsafeUnwrap();

const refused = async (platform: MemoryPlatform, request: RawFields = {}) =>
  (await rollback(platform, request))._unsafeUnwrapErr();

const volumes = async (platform: MemoryPlatform, call: "deleteVolume" | "createVolume") =>
  (await platform.controlPlane[call](platform.principal(), { name: "data" }))._unsafeUnwrap();

describe("a rollback", () => {
  test("restores image, resources, variables, mounts and schedule, and is a new release", async () => {
    const platform = startMemory();
    const first = { memory: "2Gi", port: 3000, env: { COLOUR: "red" }, volumes: { "/data": "data" }, idle: "stop" };
    await deployed(platform, { ...first, schedule: { cron: "0 9 * * *", timezone: "Europe/Paris" }, message: "First" });
    await deployed(platform, { env: { COLOUR: "blue", SIZE: "5" }, idle: null });
    const [before] = await listed(platform);
    const records = await rolledBack(platform, { message: "The colour was wrong" });
    expect(recordTexts(records)).toEqual([
      "DEPLOYING Rolling back 'app' to release 1",
      "DEPLOYING A rollback does not change the data of volumes",
      "DEPLOYING Updating 'app'",
      "DEPLOYING Starting revision app-00003",
      "DEPLOYING Scheduled: 0 9 * * * (Europe/Paris)",
      "DONE Revision app-00003 serves all traffic",
    ]);
    const [now] = await listed(platform);
    expect(now).toMatchObject({ memory: "2Gi", port: 3000, env: ["COLOUR"], idle: "stop", revision: "app-00003" });
    expect(now?.volumes).toMatchObject({ "/data": { name: "data" } });
    expect(now?.last_deploy).toMatchObject({ deploy_id: records[0]?.deploy_id, status: "DONE" });
    expect(before?.schedule).toBeNull();
    const [third, second, original] = (await releases(platform)).releases;
    expect([third, second, original].map((one) => [one?.release, one?.status, one?.rolled_back_to])).toEqual([
      [3, "serving", 1],
      [2, "replaced", null],
      [1, "replaced", null],
    ]);
    expect(third).toMatchObject({
      message: "The colour was wrong",
      image_digest: original?.image_digest,
      source_digest: original?.source_digest,
      declaration: original?.declaration,
      created_by: { kind: "embedder", id: "test", label: "" },
    });
    expect(original).toMatchObject({ message: "First" });
    const { serving } = platform.memory.snapshot().services.get("app") ?? {};
    expect(serving?.document.spec).toMatchObject({ env: [["COLOUR", "red"]] });
  });

  test("without a number takes earlier rollbacks into account: after 5 and a rollback to 4, restores 3", async () => {
    const platform = startMemory();
    for (const port of [3001, 3002, 3003, 3004, 3005]) await deployed(platform, { port });
    await rolledBack(platform, { release: 4 });
    await rolledBack(platform);
    expect((await listed(platform))[0]?.port).toBe(3003);
    expect((await releases(platform)).releases[0]).toMatchObject({ release: 7, rolled_back_to: 3 });
  });

  test("does not affect the next deploy, which keeps the restored variables", async () => {
    const platform = startMemory();
    await deployed(platform, { env: { COLOUR: "red" } });
    await deployed(platform, { env: {} });
    await rolledBack(platform);
    await deployed(platform, { port: 3000 });
    expect((await listed(platform))[0]).toMatchObject({ port: 3000, env: ["COLOUR"], revision: "app-00004" });
  });

  test("keeps the deployment's cron token", async () => {
    const platform = startMemory();
    await deployed(platform);
    await deployed(platform);
    const token = () => platform.memory.snapshot().services.get("app")?.serving?.document.spec.cronToken;
    const before = token();
    await rolledBack(platform);
    expect(token()).toBe(before);
  });

  test("announces that a mounted volume was deleted and created again", async () => {
    const platform = startMemory();
    await deployed(platform, { volumes: { "/data": "data" } });
    await deployed(platform);
    await volumes(platform, "deleteVolume");
    await volumes(platform, "createVolume");
    expect(recordTexts(await rolledBack(platform))).toContain(
      "DEPLOYING The volume 'data' was replaced after release 1 and contains different data",
    );
  });

  test("applies the current policies", async () => {
    const limited = adjust("memory", 512 * 1024 * 1024, "every service gets 512Mi");
    let rulings = [limited];
    const policy = { name: "today", judge: () => rulings };
    const platform = startMemory({ settings: { policies: [policy] } });
    rulings = [];
    await deployed(platform, { memory: "2Gi" });
    await deployed(platform);
    rulings = [limited];
    expect(recordTexts(await rolledBack(platform))).toContain("DEPLOYING every service gets 512Mi (policy 'today')");
    expect((await listed(platform))[0]?.memory).toBe("512Mi");
    rulings = [veto("memory", "must not be used")];
    expect(await refused(platform, { release: 1 })).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["memory"] }],
    });
  });

  test("applies the current quotas", async () => {
    const platform = startMemory();
    await deployed(platform, { max_instances: 20 });
    await deployed(platform);
    const { memory, clock } = platform;
    const lower = startMemory({ memory, clock, settings: { accountLimits: { instances: 10 } } });
    expect(await refused(lower)).toMatchObject({ issues: [{ path: ["max_instances"], type: "quota_exceeded" }] });
    expect((await releases(platform)).releases).toHaveLength(2);
  });
});

describe("refuses with a conflict", () => {
  test("without an earlier release", async () => {
    const platform = startMemory();
    await deployed(platform);
    expect(await refused(platform)).toMatchObject({
      kind: "conflict",
      message: expect.stringContaining("has no earlier release to restore"),
    });
  });

  test("if the image was pruned", async () => {
    const platform = startMemory();
    for (let port = 3001; port <= 3012; port++) await deployed(platform, { port });
    const all = (await releases(platform)).releases;
    expect(all.map(({ status }) => status)).toEqual(["serving", ...Array(9).fill("replaced"), "pruned", "pruned"]);
    expect(await refused(platform, { release: 2 })).toMatchObject({
      kind: "conflict",
      message: "The image of release 2 was pruned. Roll back to release 3, or deploy the source of release 2 again.",
    });
    await rolledBack(platform, { release: 3 });
  });

  test("if a mounted volume is in the trash, with the command that restores it", async () => {
    const platform = startMemory();
    await deployed(platform, { volumes: { "/data": "data" } });
    await deployed(platform);
    await volumes(platform, "deleteVolume");
    expect(await refused(platform)).toMatchObject({
      kind: "conflict",
      message: expect.stringMatching(/'data', which is in the trash\. Restore it with 'portside volume restore data'/),
    });
    expect((await platform.controlPlane.listVolumes(platform.principal()))._unsafeUnwrap()).toEqual([]);
  });
});

test("a release that does not exist is not found", async () => {
  const platform = startMemory();
  await deployed(platform);
  expect(await refused(platform, { release: 7 })).toMatchObject({
    kind: "not_found",
    message: "The deployment 'app' has no release 7. Run 'portside releases app' to list them.",
  });
  expect(await refused(platform, { name: "none" })).toMatchObject({ kind: "not_found" });
});

describe("concurrent operations", () => {
  const slowBuilds = () =>
    startMemory({ around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }) });

  test("a rollback does not wait for a running build, whose deploy ends with `superseded`", async () => {
    const platform = slowBuilds();
    for (const port of [3001, 3002]) await deployed(platform, { port });
    const building = await accepted(platform, { port: 3003, volumes: { "/data": "data" } });
    await platform.clock.advance(2000);
    const began = platform.clock.now();
    await rolledBack(platform);
    expect(platform.clock.now() - began).toBeLessThan(5_000_000_000n);
    expect((await recordsOf(platform, building)).at(-1)).toMatchObject({ status: "ERROR", reason: "superseded" });
    expect((await listed(platform))[0]).toMatchObject({ port: 3001, last_deploy: { status: "DONE" } });
    expect((await platform.controlPlane.listVolumes(platform.principal()))._unsafeUnwrap()).toEqual([]);
  });

  test("a deploy that waits for the build replaces the rollback's revision", async () => {
    const platform = slowBuilds();
    for (const port of [3001, 3002]) await deployed(platform, { port });
    const [first, second] = [await accepted(platform, { port: 3003 }), await accepted(platform, { port: 3004 })];
    await platform.clock.advance(2000);
    await rolledBack(platform);
    expect((await recordsOf(platform, first)).at(-1)).toMatchObject({ reason: "superseded" });
    expect((await recordsOf(platform, second)).at(-1)).toMatchObject({ status: "DONE" });
    expect((await listed(platform))[0]?.port).toBe(3004);
  });

  const slowRollouts = () =>
    startMemory({
      around: ({ services }, clock) => {
        const slow = delayed(services, clock, () => 4000);
        return { services: { ...services, rollout: (...args) => slow.rollout(...args) } };
      },
    });

  test("two rollbacks run one after the other", async () => {
    const platform = slowRollouts();
    for (const port of [3001, 3002]) await deployed(platform, { port });
    const start = (release: number) => platform.controlPlane.rollback(platform.principal(), { name: "app", release });
    const runs = [await start(1), await start(2)];
    const streams = await Promise.all(runs.map((run) => recordsOf(platform, run._unsafeUnwrap())));
    expect(streams.map((records) => records.at(-1)?.status)).toEqual(["DONE", "DONE"]);
    expect(recordTexts(streams[1] ?? [])).toContain("DEPLOYING Waiting for a running rollout of 'app'");
    expect((await releases(platform)).releases.map(({ release }) => release)).toEqual([4, 3, 2, 1]);
  });

  test("too many waiting rollbacks are refused", async () => {
    const platform = slowRollouts();
    await deployed(platform);
    const request = { name: "app", release: 1 };
    const start = () => platform.controlPlane.rollback(platform.principal(), request);
    const runs = [];
    for (let count = 0; count < 6; count++) runs.push((await start())._unsafeUnwrap());
    expect((await start())._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", retryAfterSeconds: 10 });
    for (const run of runs) expect((await recordsOf(platform, run)).at(-1)?.status).toBe("DONE");
  });

  test("a delete ends the rollback with `deleted`", async () => {
    const platform = slowRollouts();
    for (const port of [3001, 3002]) await deployed(platform, { port });
    const running = (await platform.controlPlane.rollback(platform.principal(), { name: "app" }))._unsafeUnwrap();
    const removed = platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" });
    expect((await whileTicking(platform.clock, removed)).isOk()).toBe(true);
    expect((await recordsOf(platform, running)).at(-1)).toMatchObject({ status: "ERROR", reason: "deleted" });
    expect(await listed(platform)).toEqual([]);
  });

  test("a cancelled rollback changes nothing", async () => {
    const platform = slowRollouts();
    for (const port of [3001, 3002]) await deployed(platform, { port });
    const { controlPlane, principal } = platform;
    const { deployId } = (await controlPlane.rollback(principal(), { name: "app" }))._unsafeUnwrap();
    const cancelled = platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: deployId });
    expect((await whileTicking(platform.clock, cancelled)).isOk()).toBe(true);
    expect((await listed(platform))[0]?.port).toBe(3002);
    expect((await releases(platform)).releases).toHaveLength(2);
  });
});

describe("the plan of a rollback", () => {
  test("shows the changes, and changes nothing", async () => {
    const platform = startMemory();
    await deployed(platform, { port: 3000 });
    await deployed(platform);
    const before = platform.memory.snapshot();
    const { controlPlane, principal } = platform;
    const plan = (await controlPlane.planRollback(principal(), { name: "app" }))._unsafeUnwrap();
    expect(plan).toMatchObject({
      action: "update",
      release: 1,
      changes: [{ field: "port", from: 8080, to: 3000 }],
      summary: expect.arrayContaining(["Roll back to release 1", "Replace port: 8080 → 3000"]),
    });
    expect(platform.memory.snapshot()).toEqual(before);
    expect((await controlPlane.planRollback(principal(), { name: "app", release: 9 }))._unsafeUnwrapErr().kind).toBe(
      "not_found",
    );
  });
});

describe("the list of releases", () => {
  test("has pages, newest first", async () => {
    const platform = startMemory();
    for (let port = 3001; port <= 3005; port++) await deployed(platform, { port });
    const seen: number[] = [];
    let token: string | null = null;
    do {
      const page = await releases(platform, { limit: 2, page_token: token });
      seen.push(...page.releases.map(({ release }) => release));
      token = page.next_page_token;
    } while (token !== null);
    expect(seen).toEqual([5, 4, 3, 2, 1]);
  });

  test("continues the numbers of a deleted deployment for a week, then starts at 1 with a different uid", async () => {
    const platform = startMemory();
    const newest = async () => {
      const { release, uid } = (await releases(platform)).releases[0] ?? {};
      return { release, uid };
    };
    const remove = async () =>
      (await platform.controlPlane.deleteDeployment(platform.principal(), { name: "app" }))._unsafeUnwrap();
    await deployed(platform);
    const first = await newest();
    await remove();
    await deployed(platform);
    expect(await newest()).toEqual({ release: 2, uid: first.uid });
    await remove();
    await platform.clock.advance(7 * 86_400_000 + 1);
    await deployed(platform);
    const again = await newest();
    expect(again.release).toBe(1);
    expect(again.uid).not.toBe(first.uid);
  });

  test("keeps the records of the last hundred releases", async () => {
    const platform = startMemory();
    for (let count = 0; count < 103; count++) await deployed(platform);
    const all = (await releases(platform, { limit: 100 })).releases;
    expect([all.length, all[0]?.release, all.at(-1)?.release]).toEqual([100, 103, 4]);
  });

  test("names the key that created a release", async () => {
    const platform = startMemory();
    const { controlPlane, principal } = platform;
    const { key, id } = (await controlPlane.createKey(principal(), { label: "laptop" }))._unsafeUnwrap();
    const caller = (await controlPlane.authenticate({ apiKey: key }))._unsafeUnwrap();
    await deployed(platform);
    const run = (await controlPlane.rollback(caller, { name: "app", release: 1 }))._unsafeUnwrap();
    await recordsOf(platform, run);
    expect((await releases(platform)).releases[0]?.created_by).toEqual({ kind: "key", id, label: "laptop" });
  });
});

describe("a comparison of releases", () => {
  const compare = async (platform: MemoryPlatform, request: RawFields = {}) =>
    platform.controlPlane.compareReleases(platform.principal(), { name: "app", ...request });

  test("shows the newest change by default, without values of variables", async () => {
    const platform = startMemory();
    await deployed(platform, { env: { KEPT: "k3pt", GONE: "g0ne", TURNED: "s3cret" } });
    await deployed(platform, { env: { KEPT: "k3pt", TURNED: "an0ther", NEW: "n3w" }, port: 3000 });
    const found = (await compare(platform))._unsafeUnwrap();
    expect(found).toMatchObject({ from: 1, to: 2, source_changed: true });
    expect(found.changes.map(({ field, change }) => [field, change])).toEqual([
      ["port", "changed"],
      ["env.GONE", "removed"],
      ["env.NEW", "added"],
      ["env.TURNED", "changed"],
    ]);
    expect(JSON.stringify(found)).not.toMatch(/k3pt|g0ne|s3cret|an0ther|n3w/);
    expect((await compare(platform, { from: 2, to: 1 }))._unsafeUnwrap().changes).toHaveLength(4);
  });

  test("fails without two releases", async () => {
    const platform = startMemory();
    await deployed(platform);
    expect((await compare(platform))._unsafeUnwrapErr()).toMatchObject({
      kind: "not_found",
      message: expect.stringContaining("no release before 1"),
    });
    expect((await compare(platform, { from: 9 }))._unsafeUnwrapErr().kind).toBe("not_found");
  });
});

test("without the capability, calls fail with the provider's reason, and a deploy must omit the message", async () => {
  const reason = "no releases here";
  const platform = startMemory({ capabilities: { releases: missing(reason) } });
  const { controlPlane, principal } = platform;
  await deployed(platform);
  const calls = [controlPlane.listReleases, controlPlane.compareReleases, controlPlane.planRollback];
  for (const call of [...calls, controlPlane.rollback])
    expect((await call(principal(), { name: "app" }))._unsafeUnwrapErr()).toMatchObject({
      kind: "unsupported",
      message: reason,
    });
  expect((await platform.submit({ message: "First" }))._unsafeUnwrapErr()).toMatchObject({
    issues: [{ path: ["message"], type: "unsupported", message: `${reason}; omit message` }],
  });
});
