/** Restarts and changes of variables: what they deploy, when they are refused, and how other deploys affect them. */
import { describe, expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { RawFields } from "../../../../core/domain/wire/fields.ts";
import { veto } from "../../../../core/index.ts";
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

type Call = "restartDeployment" | "setEnvironment";

const start = (platform: MemoryPlatform, call: Call, request: RawFields = {}) =>
  whileTicking(platform.clock, platform.controlPlane[call](platform.principal(), { name: "app", ...request }));

const done = async (platform: MemoryPlatform, call: Call, request?: RawFields) => {
  const records = await recordsOf(platform, (await start(platform, call, request))._unsafeUnwrap());
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  return records;
};

const refused = async (platform: MemoryPlatform, call: Call, request?: RawFields) =>
  (await start(platform, call, request))._unsafeUnwrapErr();

const releases = async (platform: MemoryPlatform) =>
  (await platform.controlPlane.listReleases(platform.principal(), { name: "app" }))._unsafeUnwrap().releases;

/** The environment of the serving revision, with its values. */
const environment = ({ memory }: MemoryPlatform) =>
  Object.fromEntries(memory.snapshot().services.get("app")?.serving?.document.spec.env ?? []);

describe("a restart", () => {
  test("deploys the serving release again: the same declaration and image, a new revision, and no build", async () => {
    const platform = startMemory();
    const fields = { env: { COLOUR: "red" }, volumes: { "/data": "data" }, schedule: "0 9 * * *", port: 3000 };
    await deployed(platform, fields);
    const records = await done(platform, "restartDeployment");
    expect(recordTexts(records)).toEqual([
      "DEPLOYING Restarting 'app'",
      "DEPLOYING Updating 'app'",
      "DEPLOYING Starting revision app-00002",
      "DEPLOYING Scheduled: 0 9 * * * (UTC)",
      "DONE Revision app-00002 serves all traffic",
    ]);
    const [second, first] = await releases(platform);
    expect(second).toMatchObject({
      release: 2,
      status: "serving",
      message: "Restart",
      rolled_back_to: null,
      declaration: first?.declaration,
      image_digest: first?.image_digest,
      source_digest: first?.source_digest,
    });
    expect(environment(platform)).toEqual({ COLOUR: "red" });
  });

  test("that waits for a rollout restarts the new revision", async () => {
    const platform = startMemory({
      around: ({ services }, clock) => {
        const slow = delayed(services, clock, () => 4000);
        return { services: { ...services, rollout: (...args) => slow.rollout(...args) } };
      },
    });
    await deployed(platform, { port: 3001 });
    const deploying = await accepted(platform, { port: 3002 });
    await platform.clock.advance(2000);
    const restarted = (
      await platform.controlPlane.restartDeployment(platform.principal(), { name: "app" })
    )._unsafeUnwrap();
    const [, records] = await Promise.all([recordsOf(platform, deploying), recordsOf(platform, restarted)]);
    expect(recordTexts(records)).toContain("DEPLOYING Waiting for a running rollout of 'app'");
    expect(records.at(-1)?.status).toBe("DONE");
    expect((await listed(platform))[0]).toMatchObject({ port: 3002, revision: "app-00003" });
  });

  test("applies the current policies", async () => {
    let ruling = true;
    const judge = () => (ruling ? [veto("port", "no changes today")] : []);
    const platform = startMemory({ settings: { policies: [{ name: "today", judge }] } });
    ruling = false;
    await deployed(platform);
    ruling = true;
    expect((await refused(platform, "restartDeployment")).message).toContain("no changes today");
  });

  test("is refused without a deployment, and without the capability", async () => {
    const platform = startMemory();
    expect((await refused(platform, "restartDeployment")).kind).toBe("not_found");
    const without = startMemory({ capabilities: { releases: missing("this provider keeps no releases") } });
    await deployed(without);
    for (const call of ["restartDeployment", "setEnvironment"] as const)
      expect(await refused(without, call, call === "setEnvironment" ? { set: { A: "1" } } : {})).toMatchObject({
        kind: "unsupported",
        message: "this provider keeps no releases",
      });
  });

  test("is refused if no release ever served", async () => {
    const platform = startMemory({
      around: ({ services }) => ({
        services: {
          ...services,
          rollout: async function* failing(request, options) {
            const mayServe = async () => ({ reason: "crashed", message: "It crashed." }) as const;
            yield* services.rollout({ ...request, mayServe }, options);
          },
        },
      }),
    });
    await recordsOf(platform, await accepted(platform));
    expect(await refused(platform, "restartDeployment")).toMatchObject({
      kind: "conflict",
      message: "No release of the deployment 'app' is serving. Deploy it first with 'portside deploy'.",
    });
  });
});

describe("a change of variables", () => {
  test("keeps the other variables, and is a release with the names as its message", async () => {
    const platform = startMemory();
    await deployed(platform, { env: { COLOUR: "red", SIZE: "5", OLD: "x" }, memory: "2Gi" });
    const records = await done(platform, "setEnvironment", { set: { SIZE: "6", NEW: "s3cret" }, unset: ["OLD"] });
    expect(environment(platform)).toEqual({ COLOUR: "red", SIZE: "6", NEW: "s3cret" });
    const [second, first] = await releases(platform);
    expect(second).toMatchObject({ message: "Set SIZE, NEW; Unset OLD", image_digest: first?.image_digest });
    expect(second?.declaration).toMatchObject({ memory: "2Gi", env: { COLOUR: first?.declaration.env["COLOUR"] } });
    expect(records.map(({ status }) => status)).not.toContain("BUILDING");
    expect(JSON.stringify([records, await releases(platform)])).not.toContain("s3cret");
  });

  test("that follows another one keeps its variables", async () => {
    const platform = startMemory();
    await deployed(platform);
    const set = (name: string) =>
      platform.controlPlane.setEnvironment(platform.principal(), { name: "app", set: { [name]: "1" } });
    const runs = await Promise.all([set("A"), set("B"), set("C")]);
    await Promise.all(runs.map((run) => recordsOf(platform, run._unsafeUnwrap())));
    expect(environment(platform)).toEqual({ A: "1", B: "1", C: "1" });
  });

  test("reports every issue of the request", async () => {
    const platform = startMemory({ settings: { envAliases: { OTHER_PORT: "PORT" } } });
    await deployed(platform, { env: { A: "1" } });
    const issuesOf = async (request: RawFields) => {
      const error = await refused(platform, "setEnvironment", request);
      return error.kind === "invalid_input" ? error.issues.map(({ path }) => path.join(".")) : [error.kind];
    };
    expect(await issuesOf({})).toEqual(["set"]);
    expect(await issuesOf({ set: { PORT: "1", "a-b": "2", OTHER_PORT: "3" }, unset: "A" })).toEqual([
      ...["set.PORT", "set.a-b", "unset", "set.OTHER_PORT"],
    ]);
    expect(await issuesOf({ set: { A: "2" }, unset: ["A"] })).toEqual(["unset.0"]);
    expect(await issuesOf({ unset: ["B"] })).toEqual(["unset.0"]);
    expect(await issuesOf({ set: { A: "x".repeat(40_000) } })).toEqual(["set"]);
    expect(environment(platform)).toEqual({ A: "1" });
  });

  test("must leave all variables within their total size", async () => {
    const platform = startMemory();
    await deployed(platform, { env: { A: "x".repeat(20_000) } });
    const error = await refused(platform, "setEnvironment", { set: { B: "x".repeat(20_000) } });
    expect(error).toMatchObject({ kind: "invalid_input", issues: [{ path: ["set"], type: "too_large" }] });
  });

  test("does not wait for a build, whose deploy then ends with `superseded`", async () => {
    const platform = startMemory({
      around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }),
    });
    await deployed(platform);
    const building = await accepted(platform, { port: 3001 });
    await platform.clock.advance(2000);
    await done(platform, "setEnvironment", { set: { A: "1" } });
    expect((await recordsOf(platform, building)).at(-1)).toMatchObject({ status: "ERROR", reason: "superseded" });
  });
});
