/** Queues and limits: deploys of one name, builds and uploads of one account, quotas, request rates. */
import { describe, expect, test } from "vitest";
import { delayed } from "../../../../adapters/memory/index.ts";
import { deploymentSchema } from "../../../../core/domain/deploy/deployment.ts";
import type { SettingsInput } from "../../../../core/use-cases/pipeline/context.ts";
import { bytesOf, helloServer, nodeSource } from "../../../support/archives/archives.ts";
import {
  accepted,
  deployed,
  ended,
  listed,
  recordsOf,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const slowBuilds = (settings: SettingsInput = {}) =>
  startMemory({ settings, around: ({ builder }, clock) => ({ builder: delayed(builder, clock, () => 10_000) }) });

describe("deploys of one name", () => {
  test("run one after the other, in the order of acceptance", async () => {
    const platform = slowBuilds();
    const ports = [3001, 3002, 3003];
    const runs = [];
    for (const port of ports) runs.push(await accepted(platform, { port }));
    const streams = await Promise.all(runs.map((run) => recordsOf(platform, run)));
    for (const [index, records] of streams.entries()) {
      expect(records.at(-1)?.status).toBe("DONE");
      expect(records[1]?.message === "Waiting for an earlier deploy of 'app'").toBe(index > 0);
      const begun = records.find(({ message }) => message === "Reading the source")?.time ?? "";
      expect(begun >= (streams[index - 1]?.at(-1)?.time ?? "")).toBe(true);
    }
    expect(await listed(platform)).toMatchObject([{ port: 3003, revision: "app-00003" }]);
  });

  test("the list shows the running deploy, not the waiting ones", async () => {
    const platform = slowBuilds();
    await deployed(platform);
    const [first, second] = [await accepted(platform), await accepted(platform)];
    const lastDeploy = async () => (await listed(platform))[0]?.last_deploy;
    await platform.clock.advance(1000);
    expect(await lastDeploy()).toMatchObject({ deploy_id: first.deployId, status: "BUILDING", finished_at: null });
    await recordsOf(platform, first);
    await platform.clock.advance(1000);
    expect(await lastDeploy()).toMatchObject({ deploy_id: second.deployId, status: "BUILDING", finished_at: null });
  });

  test("five wait; the next one fails with unavailable, and its source is discarded", async () => {
    const platform = slowBuilds();
    const runs = [];
    for (let count = 0; count < 6; count++) runs.push(await accepted(platform));
    const refused = (await platform.submit())._unsafeUnwrapErr();
    expect(refused).toMatchObject({ kind: "unavailable", retryAfterSeconds: 10 });
    expect(platform.kept.size).toBe(6);
    expect((await platform.submit({ function_name: "other" })).isOk()).toBe(true);
    await recordsOf(platform, runs[0] ?? (await accepted(platform)));
    expect((await platform.submit()).isOk()).toBe(true);
  });

  test("the bound is a setting", async () => {
    const platform = slowBuilds({ deployLimits: { queuedPerName: 0 } });
    expect((await platform.submit()).isErr()).toBe(true);
  });
});

describe("builds of one account", () => {
  test("two run concurrently; the third reports that it waits, and another account does not wait", async () => {
    const platform = slowBuilds();
    const [one, two, three] = [
      await accepted(platform, { function_name: "one" }),
      await accepted(platform, { function_name: "two" }),
      await accepted(platform, { function_name: "three" }),
    ];
    const others = await accepted(platform, { function_name: "four" }, "other");
    const [first, second, third, fourth] = await Promise.all(
      [one, two, three, others].map((run) => recordsOf(platform, run)),
    );
    const waits = (records: typeof first) =>
      records?.some(({ message }) => message.startsWith("Waiting for another build of your account"));
    expect([first, second, third, fourth].map(waits)).toEqual([false, false, true, false]);
    expect(third?.at(-1)?.status).toBe("DONE");
    expect((third?.at(-1)?.time ?? "") > (first?.at(-1)?.time ?? "")).toBe(true);
  });

  test("a rollout is not a build: the next build runs during it", async () => {
    const platform = startMemory({
      settings: { accountLimits: { buildsAtOnce: 1 } },
      around: ({ services }, clock) => ({
        services: delayed(services, clock, ({ method }) => (method === "rollout" ? 60_000 : 0)),
      }),
    });
    const first = await accepted(platform, { function_name: "one" });
    const second = await accepted(platform, { function_name: "two" });
    const built = (await recordsOf(platform, second)).find(({ message }) => message === "Reading the source");
    const rolledOut = (await recordsOf(platform, first)).at(-1);
    expect((built?.time ?? "~") < (rolledOut?.time ?? "")).toBe(true);
  });

  test("a failed build frees its slot", async () => {
    let builds = 0;
    const platform = startMemory({
      settings: { accountLimits: { buildsAtOnce: 1 } },
      around: ({ builder }) => ({
        builder: {
          build: async function* (request, options) {
            if (++builds === 1) yield { kind: "failed", failure: { reason: "build_failed", message: "no" } };
            else yield* builder.build(request, options);
          },
        },
      }),
    });
    expect((await ended(platform)).at(-1)?.status).toBe("ERROR");
    expect((await ended(platform)).at(-1)?.status).toBe("DONE");
  });
});

describe("deployments of one account", () => {
  const full = async () => {
    const platform = startMemory({ settings: { accountLimits: { deployments: 2 } } });
    await deployed(platform, { function_name: "one" });
    await deployed(platform, { function_name: "two" });
    return platform;
  };

  test("at the quota, a new name is rejected on its field; existing deployments can be deployed again", async () => {
    const platform = await full();
    expect((await platform.submit({ function_name: "three" }))._unsafeUnwrapErr()).toMatchObject({
      kind: "invalid_input",
      issues: [{ path: ["function_name"], type: "quota_exceeded" }],
    });
    await deployed(platform, { function_name: "two" });
    await deployed(platform, { function_name: "three" }, "other");
    expect(platform.kept.size).toBe(0);
  });

  test("deleting one makes room", async () => {
    const platform = await full();
    const removed = await platform.controlPlane.deleteDeployment(platform.principal(), { name: "one" });
    expect(removed.isOk()).toBe(true);
    await deployed(platform, { function_name: "three" });
  });

  test("if the quota is used up while a deploy waits, its stream ends with the error", async () => {
    const platform = slowBuilds({ accountLimits: { deployments: 1, buildsAtOnce: 1 } });
    const [first, second] = [
      await accepted(platform, { function_name: "one" }),
      await accepted(platform, { function_name: "two" }),
    ];
    expect((await recordsOf(platform, first)).at(-1)?.status).toBe("DONE");
    expect((await recordsOf(platform, second)).at(-1)).toMatchObject({ status: "ERROR", reason: "quota_exceeded" });
  });
});

describe("uploads of one account", () => {
  test("accepts two concurrently, and rejects the third; an upload that ends or fails makes room", async () => {
    const { controlPlane, principal } = startMemory();
    const source = nodeSource(helloServer());
    const hold = Promise.withResolvers<void>();
    const held = async function* () {
      await hold.promise;
      yield* bytesOf(source);
    };
    const broken = async function* () {
      await hold.promise;
      yield* bytesOf(source.subarray(0, 10));
      throw new Error("the client went away");
    };
    const first = controlPlane.receiveSource(principal(), held());
    const second = controlPlane.receiveSource(principal(), broken());
    expect((await controlPlane.receiveSource(principal(), bytesOf(source)))._unsafeUnwrapErr()).toMatchObject({
      kind: "rate_limited",
      retryAfterSeconds: 5,
    });
    expect((await controlPlane.receiveSource(principal("other"), bytesOf(source))).isOk()).toBe(true);
    hold.resolve();
    expect((await first)._unsafeUnwrap().kind).toBe("accepted");
    expect((await second)._unsafeUnwrapErr().kind).toBe("unavailable");
    const again = [
      controlPlane.receiveSource(principal(), bytesOf(source)),
      controlPlane.receiveSource(principal(), bytesOf(source)),
    ];
    expect((await Promise.all(again)).map((one) => one.isOk())).toEqual([true, true]);
  });

  test("an invalid archive is a value, so that it is reported with all other issues", async () => {
    const { controlPlane, principal } = startMemory();
    const received = await controlPlane.receiveSource(principal(), bytesOf(Buffer.from("not a gzip")));
    expect(received._unsafeUnwrap()).toMatchObject({ kind: "rejected", issues: [{ type: "archive_invalid" }] });
  });
});

test("limits the requests per minute of each account", async () => {
  const { controlPlane, principal, clock } = startMemory({ settings: { accountLimits: { requestsPerMinute: 3 } } });
  const counted = (account?: string) => controlPlane.countRequest(principal(account)).isOk();
  expect([counted(), counted(), counted(), counted()]).toEqual([true, true, true, false]);
  expect(controlPlane.countRequest(principal())._unsafeUnwrapErr()).toMatchObject({
    kind: "rate_limited",
    retryAfterSeconds: 20,
  });
  expect(counted("other")).toBe(true);
  await clock.advance(20_000);
  expect([counted(), counted()]).toEqual([true, false]);
});

describe("a first deploy", () => {
  test("is listed without a URL, with its declared fields, until the provider lists it", async () => {
    const platform = slowBuilds();
    await deployed(platform, { function_name: "zed" });
    const run = await accepted(platform, { function_name: "app", port: 3000, memory: "512Mi", env: { A: "secret" } });
    await accepted(platform, { function_name: "app", port: 4000 });
    await platform.clock.advance(1000);
    const rows = await listed(platform);
    expect(rows.map(({ name, status, url }) => [name, status, url])).toEqual([
      ["app", "DEPLOYING", ""],
      ["zed", "READY", "https://zed.memory.invalid"],
    ]);
    expect(deploymentSchema.parse(rows[0])).toMatchObject({
      port: 3000,
      memory: "512Mi",
      env: ["A"],
      revision: null,
      region: "memory",
      last_deploy: { deploy_id: run.deployId, status: "BUILDING", reason: null, finished_at: null },
    });
    expect((await platform.controlPlane.listDeployments(platform.principal("other")))._unsafeUnwrap()).toEqual([]);
    await recordsOf(platform, run);
    expect((await listed(platform))[0]).toMatchObject({ name: "app", status: "READY", port: 3000 });
  });

  test("is listed in the order of names", async () => {
    const platform = slowBuilds();
    await deployed(platform, { function_name: "mid" });
    for (const name of ["zed", "app"]) await accepted(platform, { function_name: name });
    expect((await listed(platform)).map(({ name }) => name)).toEqual(["app", "mid", "zed"]);
  });

  test("is not listed after it was cancelled", async () => {
    const platform = slowBuilds();
    const run = await accepted(platform);
    expect(await listed(platform)).toHaveLength(1);
    const cancelled = platform.controlPlane.cancelDeploy(platform.principal(), { deploy_id: run.deployId });
    await recordsOf(platform, run);
    (await cancelled)._unsafeUnwrap();
    expect(await listed(platform)).toEqual([]);
  });
});
