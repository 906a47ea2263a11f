/** Cloud Run as the platform, on the fake: events, interruptions, conflicts, and the number of calls. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { DeployOutcome } from "../../../../core/domain/deploy/events.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import { rolloutEndTests } from "../../../clouds/rollouts/ends.ts";
import { templateFor, testOrigin } from "../../../contracts/support.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { type FakeCloudRun, openFakeCloudRun, runRollouts } from "../../../support/providers/cloud-run-platform.ts";

let run: FakeCloudRun;
beforeEach(async () => {
  run = await openFakeCloudRun();
});
afterEach(() => run.close());

rolloutEndTests(() => run, runRollouts, {
  unheard: "rollout_timeout",
  logTail: ["leaving"],
  takeBucket: ({ storage }) => storage.world.live.delete("vol-data"),
  whenTrafficMoves: async ({ clients }, then) => {
    const client = await clients("services");
    const update = client.updateService.bind(client) as (...args: unknown[]) => Promise<unknown>;
    // A first deploy creates the service with one write, and moves the traffic with the next.
    const telling = async (...args: unknown[]) => {
      const moved = await update(...args);
      then();
      return moved;
    };
    Object.assign(client, { updateService: telling });
    return "absent";
  },
  // The service remains, but nothing serves.
  nothingLeft: ({ made }) => expect([...made.serving]).toEqual([]),
});

const mounting = (memory: number): Partial<ServiceTemplate> => ({
  memory,
  mounts: [
    { path: "/data", volume: "data", bucket: "vol-data", readOnly: false },
    { path: "/old", volume: "data", bucket: "vol-data", readOnly: true, subPath: "old/one" },
  ] as unknown as ServiceTemplate["mounts"],
});

test("a service that Portside does not own holds the name and stays unchanged", async () => {
  const client = await run.clients("services");
  const parent = "projects/test-project/locations/europe-west1";
  const service = { template: { containers: [{ image: run.image() }] } };
  await client.createService({ parent, serviceId: "theirs", service });
  expect((await run.platform.find(nameOf("theirs")))._unsafeUnwrap().kind).toBe("reserved");
  expect(await run.endOf(run.template("theirs"), "absent")).toMatchObject({
    kind: "failed",
    failure: { reason: "name_taken" },
  });
  expect(run.run.stored("theirs")?.annotations).toEqual({});
  const removed = await run.platform.remove(nameOf("theirs"), { etag: "any", owner: accountOf("acme") });
  expect(removed._unsafeUnwrapErr().kind).toBe("conflict");
  expect((await run.platform.list(accountOf("acme")))._unsafeUnwrap()).toEqual([]);
});

test("more instances than the region's quota allows fail with quota_exceeded and the allowed number", async () => {
  run.run.quota = { cpu: 20_000, memory: 40 * 1024 ** 3 };
  const over = run.template("app", "acme", { cpu: 4, memory: 2 * 1024 ** 3, maxInstances: 15 });
  expect(await run.endOf(over, "absent")).toMatchObject({
    kind: "failed",
    failure: {
      reason: "quota_exceeded",
      message: expect.stringContaining("(60 CPU requested, 20 CPU allowed). Declare max_instances 5 or less, or less"),
    },
  });
  expect(await run.endOf({ ...over, maxInstances: 5 }, "absent")).toMatchObject({ kind: "ready" });
  const unlimited = run.template("other", "acme", { maxInstances: 0 });
  expect(await run.endOf(unlimited, "absent")).toMatchObject({ kind: "ready" });
});

test("a deploy keeps manual settings and replaces declared ones", async () => {
  await run.rollOut(run.template("app", "acme", { env: { KEPT: "1", DROPPED: "1" } }), "absent");
  await run.run.edit("app", (wanted) => {
    wanted.annotations["example.com/team"] = "blue";
    wanted.labels.team = "blue";
    wanted.template.revision = "app-by-hand";
    wanted.template.vpcAccess = { connector: "projects/p/locations/r/connectors/c" };
    wanted.template.containers[0].env.push({ name: "BY_HAND", value: "2" });
    wanted.template.containers.push({ name: "sidecar", image: run.image() });
    wanted.template.volumes.push({ name: "scratch", emptyDir: { medium: "MEMORY" } });
  });
  await run.rollOut(run.template("app", "acme", { env: { KEPT: "3" } }), await run.expectedOf("app"));
  const stored = run.run.stored("app");
  const [container, sidecar] = stored?.template.containers ?? [];
  const env = Object.fromEntries(container.env.map((one: { name: string; value: string }) => [one.name, one.value]));
  expect(env).toEqual({ KEPT: "3", BY_HAND: "2", CRON_TOKEN: "token-of-app", PORTSIDE_VOLUMES: "{}" });
  expect(stored?.annotations["example.com/team"]).toBe("blue");
  expect(stored?.labels.team).toBe("blue");
  expect(stored?.template.vpcAccess.connector).toBe("projects/p/locations/r/connectors/c");
  expect(sidecar.name).toBe("sidecar");
  expect(stored?.template.volumes.map(({ name }: { name: string }) => name)).toEqual(["scratch"]);
});

test("mounts use the account's buckets and the second generation, grant access, and warn about little memory", async () => {
  run.storage.world.insertBucket({ name: "vol-data" });
  const events = await run.rollOut(run.template("app", "acme", mounting(256 * 1024 ** 2)), "absent");
  expect(events.at(-1)?.kind).toBe("ready");
  const messages = events.flatMap((event) => (event.kind === "progress" ? [event.message] : []));
  expect(messages.some((line) => line.startsWith("Memory raised to 512Mi"))).toBe(true);
  expect(messages.some((line) => line.includes("of memory may be too little"))).toBe(true);
  const { template } = run.run.stored("app") ?? {};
  expect(template.executionEnvironment).toBe("EXECUTION_ENVIRONMENT_GEN2");
  expect(template.containers[0].resources.limits.memory).toBe("512Mi");
  expect(template.volumes).toHaveLength(2);
  const member = `serviceAccount:${template.serviceAccount}`;
  expect(run.storage.world.bucket("vol-data").policy.bindings).toEqual([
    { role: "roles/storage.objectUser", members: [member] },
  ]);
  // As declared: a client that reads the declaration and deploys it again must not change it.
  expect((await run.serviceOf("app")).serving[0]?.template.memory).toBe(256 * 1024 ** 2);
});

test("a service with enough memory for its mounts gets no warning", async () => {
  run.storage.world.insertBucket({ name: "vol-data" });
  const events = await run.rollOut(run.template("app", "acme", mounting(2 * 1024 ** 3)), "absent");
  expect(events.some((event) => event.kind === "progress" && event.message.includes("memory"))).toBe(false);
});

const health = { path: "/healthz", interval: 20, timeout: 5, failures: 2 };

test("a revision that fails its health check gets no traffic, and its failure is unhealthy", async () => {
  await run.rollOut(run.template("app"), "absent");
  const before = run.routed("app");
  const sick = { ...run.template("app", "acme", { health }), image: run.image("unhealthy") };
  expect(await run.endOf(sick, await run.expectedOf("app"))).toMatchObject({
    kind: "failed",
    failure: { reason: "unhealthy", message: expect.stringContaining("GET /healthz did not pass") },
  });
  expect(run.routed("app")).toBe(before);
  expect((await run.serviceOf("app")).lastDeploy).toMatchObject({ status: "ERROR", reason: "unhealthy" });
  const silent = { ...sick, image: run.image("silent") };
  expect(await run.endOf(silent, await run.expectedOf("app"))).toMatchObject({
    failure: { reason: "did_not_listen" },
  });
});

test("the minimum of instances changes with the traffic, and a failed rollout leaves it unchanged", async () => {
  const minimum = () => run.run.stored("app")?.scaling?.minInstanceCount;
  const deploy = async (minInstances: number | undefined, image = run.image()) => {
    const more = minInstances === undefined ? {} : { minInstances };
    const template = { ...run.template("app", "acme", more), image };
    const expected = run.run.stored("app") === undefined ? "absent" : await run.expectedOf("app");
    return (await run.rollOut(template, expected)).at(-1)?.kind;
  };
  await deploy(undefined);
  await run.run.edit("app", (wanted) => {
    wanted.scaling = { minInstanceCount: 5 };
  });
  await deploy(undefined);
  expect(minimum()).toBe(5);
  expect(await deploy(2)).toBe("ready");
  expect(minimum()).toBe(2);
  expect(await deploy(3, run.image("exits:1"))).toBe("failed");
  expect(minimum()).toBe(2);
  expect(await deploy(undefined)).toBe("ready");
  expect(minimum()).toBe(0);
  // A minimum of the revision would keep instances of a revision without traffic.
  expect(run.run.stored("app")?.template.scaling.minInstanceCount).toBe(0);
});

test("a service with a fraction of a CPU uses the first generation", async () => {
  const small = run.template("app", "acme", { cpu: 0.25, memory: 512 * 1024 ** 2, concurrency: 1 });
  expect(await run.endOf(small, "absent")).toMatchObject({ kind: "ready" });
  expect(run.run.stored("app")?.template).toMatchObject({
    executionEnvironment: "EXECUTION_ENVIRONMENT_GEN1",
    containers: [{ resources: { limits: { cpu: "0.25" } } }],
  });
  // The next declaration does not keep the generation, because only the fraction of a CPU required it.
  const whole = run.template("app", "acme", { cpu: 1, memory: 1024 ** 3 });
  expect(await run.endOf(whole, await run.expectedOf("app"))).toMatchObject({ kind: "ready" });
  expect(run.run.stored("app")?.template.executionEnvironment).toBe("EXECUTION_ENVIRONMENT_UNSPECIFIED");
});

test("each account's services run with the account's own identity", async () => {
  await run.rollOut(run.template("one", "acme"), "absent");
  await run.rollOut(run.template("two", "acme"), "absent");
  await run.rollOut(run.template("three", "globex"), "absent");
  const of = (name: string) => run.run.stored(name)?.template.serviceAccount;
  expect(of("one")).toMatch(/^portside-[0-9a-f]{21}@test-project\.iam\.gserviceaccount\.com$/);
  expect(of("two")).toBe(of("one"));
  expect(of("three")).not.toBe(of("one"));
  expect([...run.iam.accounts.keys()]).toEqual([of("one"), of("three")]);
});

test("reports an organization policy against public services, and nothing serves", async () => {
  await run.close();
  run = await openFakeCloudRun({ adverse: new Set(["all_users_forbidden", "invoker_check_required"]) });
  const end = await run.endOf(run.template("app"), "absent");
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
  expect(end?.kind === "failed" && end.failure.message).toContain("iam.allowedPolicyMemberDomains");
  expect(await run.serviceOf("app")).toMatchObject({ serving: [], rollingOut: null });
});

test("a list takes one call per hundred services of any owner", async () => {
  const client = await run.clients("services");
  const parent = "projects/test-project/locations/europe-west1";
  const service = { template: { containers: [{ image: run.image() }] } };
  for (let index = 0; index < 250; index++) await client.createService({ parent, serviceId: `s${index}`, service });
  for (const name of ["b-app", "a-app"]) await run.rollOut(run.template(name), "absent");
  run.run.faults.clear();
  const listed = (await run.platform.list(accountOf("acme")))._unsafeUnwrap();
  expect(listed.map(({ name }) => name)).toEqual(["a-app", "b-app"]);
  expect(run.run.faults.log).toEqual(Array.from({ length: 3 }, () => "Services.ListServices"));
});

const WRITES = ["Services.CreateService", "Services.UpdateService", "Services.DeleteService"];
const LIST = "Services.ListServices";

/** Returns Cloud Run's methods that `work` calls. */
const callsOf = async (work: () => PromiseLike<unknown>): Promise<string[]> => {
  run.run.faults.clear();
  await work();
  return [...run.run.faults.log];
};

const noteOf = (template: ServiceTemplate, end: Partial<DeployOutcome>) =>
  run.platform
    .noteDeploy(template, { deployId: template.deployId, status: "DONE", reason: null, finishedAt: null, ...end })
    .then((noted) => noted._unsafeUnwrap());

/** Deploys as the control plane does: a status before and after. */
const deployNoted = async (template: ServiceTemplate, expected: Expected, end: Partial<DeployOutcome>) => {
  await noteOf(template, { status: "BUILDING" });
  await run.rollOut(template, expected);
  await noteOf(template, { finishedAt: timestampOf(run.clock.now()), ...end });
};

test("a deploy takes two writes, which store its status, and a failed build takes one", async () => {
  const writesOf = async (work: () => PromiseLike<unknown>) =>
    (await callsOf(work)).filter((method) => WRITES.includes(method)).length;
  const elsewhere = run.replica();
  const seenElsewhere = async () => (await elsewhere.list(accountOf("acme")))._unsafeUnwrap()[0]?.lastDeploy;
  expect(await writesOf(() => deployNoted(run.template("app"), "absent", {}))).toBe(2);
  const { etag } = await run.serviceOf("app");
  const update = run.template("app", "acme", { timeout: 20, deployId: "update" });
  expect(await writesOf(async () => deployNoted(update, await run.expectedOf("app"), {}))).toBe(2);
  expect(await seenElsewhere()).toMatchObject({ deployId: "update", status: "DONE", reason: null });
  expect((await run.serviceOf("app")).etag).not.toBe(etag);

  const sick = run.template("app", "acme", { image: run.image("leaving"), deployId: "sick" });
  const failing = async () => deployNoted(sick, await run.expectedOf("app"), { status: "ERROR", reason: "exited" });
  const failed = await callsOf(failing);
  const stored = await seenElsewhere();
  expect(stored).toMatchObject({ deployId: "sick", status: "ERROR", finishedAt: expect.any(String) });
  expect(failed.filter((method) => WRITES.includes(method)).length).toBeLessThanOrEqual(3);

  const unbuilt = run.template("app", "acme", { deployId: "unbuilt" });
  await noteOf(unbuilt, { status: "BUILDING" });
  expect((await run.serviceOf("app")).lastDeploy).toMatchObject({ deployId: "unbuilt", status: "BUILDING" });
  expect(await seenElsewhere()).toEqual(stored);
  const end = { status: "ERROR", reason: "build_failed", finishedAt: timestampOf(run.clock.now()) } as const;
  expect(await writesOf(() => noteOf(unbuilt, end))).toBe(1);
  expect(await seenElsewhere()).toEqual({ deployId: "unbuilt", ...end });
});

test("stores the end of a deploy, even if it differs from the rollout's", async () => {
  const template = run.template("app", "acme", { deployId: "one" });
  await run.rollOut(template, "absent");
  for (const end of [
    { status: "ERROR", reason: "schedule_failed" },
    { status: "ERROR", reason: "interrupted" },
    { status: "DONE", reason: null },
  ] as const) {
    await noteOf(template, { ...end, finishedAt: "2026-01-01T00:00:00+00:00" });
    expect((await run.serviceOf("app")).lastDeploy).toMatchObject({ deployId: "one", ...end });
  }
});

test("a rollout does not replace the status of a newer deploy", async () => {
  const newer = { deployId: "newer", status: "ERROR", reason: "build_failed", finishedAt: "2026-01-01T00:00:00+00:00" };
  const template = run.template("app");
  const mayServe = async () => {
    await noteOf(template, newer as DeployOutcome);
    return undefined;
  };
  expect(await run.endOf(template, "absent", { mayServe })).toMatchObject({ kind: "ready" });
  expect((await run.serviceOf("app")).lastDeploy).toEqual(newer);
});

test("shows the status of a running deploy to its account until the deploy ends", async () => {
  const template = run.template("app", "acme", { deployId: "one" });
  await run.rollOut(template, "absent");
  const lastDeploy = async () => (await run.serviceOf("app")).lastDeploy;
  const stored = await lastDeploy();
  const foreign = { ...template, owner: accountOf("other") };
  await noteOf(foreign, { deployId: "foreign", status: "BUILDING" });
  expect(await lastDeploy()).toEqual(stored);

  await noteOf(template, { deployId: "two", status: "BUILDING" });
  expect(await lastDeploy()).toMatchObject({ deployId: "two", status: "BUILDING" });
  const end = { status: "ERROR", reason: "build_failed", finishedAt: "2026-01-01T00:00:00+00:00" } as const;
  await noteOf(template, { deployId: "two", ...end });
  const later = { deployId: "three", ...end };
  (await run.replica().noteDeploy(template, later))._unsafeUnwrap();
  expect(await lastDeploy()).toEqual(later);

  await noteOf(template, { deployId: "four", status: "BUILDING" });
  for (let nth = 1; nth <= 500; nth++) run.run.faults.inject({ nth, kind: "unavailable" });
  expect((await run.platform.noteDeploy(template, { deployId: "four", ...end })).isErr()).toBe(true);
  run.run.faults.clear();
  expect(await lastDeploy()).toEqual(later);
});

test("shows a deploy as DONE once its revision has all traffic", async () => {
  await run.rollOut(run.template("app"), "absent");
  const update = run.template("app", "acme", { timeout: 20, deployId: "update" });
  const seen = new Set<string>();
  for await (const _ of run.platform.rollout({
    template: update,
    expected: await run.expectedOf("app"),
    origin: testOrigin,
    listenDeadlineMs: 60_000,
  })) {
    const { lastDeploy, rollingOut } = await run.serviceOf("app");
    if (rollingOut !== null) expect(lastDeploy).toMatchObject({ deployId: "update", status: "DEPLOYING" });
    seen.add(lastDeploy?.status ?? "");
  }
  expect([...seen]).toEqual(["DEPLOYING", "DONE"]);
});

test("two lists within the maximum age take one call, unless a write happens between them", async () => {
  const list = async (maxAgeMs?: number) => {
    const listed = await run.platform.list(accountOf("acme"), maxAgeMs === undefined ? {} : { maxAgeMs });
    return listed._unsafeUnwrap().map(({ name }) => name);
  };
  await run.rollOut(run.template("a-app"), "absent");
  const lists = async (work: () => Promise<unknown>) => (await callsOf(work)).filter((method) => method === LIST);
  const twice = async () => {
    for (const _ of [1, 2]) expect(await list(5000)).toEqual(["a-app"]);
  };
  expect(await lists(twice)).toEqual([LIST]);
  expect(await lists(list)).toEqual([LIST]);
  await run.clock.sleep(5000);
  expect(await lists(() => list(5000))).toEqual([LIST]);

  await run.rollOut(run.template("b-app"), "absent");
  expect(await list(5000)).toEqual(["a-app", "b-app"]);
  (await run.platform.remove(nameOf("a-app"), await run.expectedOf("a-app")))._unsafeUnwrap();
  expect(await list(5000)).toEqual(["b-app"]);
});

describe("a list with a maximum age", () => {
  const shown = async () => {
    const [service] = (await run.platform.list(accountOf("acme"), { maxAgeMs: 3_600_000 }))._unsafeUnwrap();
    return service && [service.rollingOut?.timeout, service.serving[0]?.template.timeout];
  };
  const { timeout } = templateFor(accountOf("acme"), nameOf("app"), "image");

  /**
   * Lists during the first read of a service after the `nth` call of `write`. Cloud Run then returns an earlier list,
   * as if it had not yet completed the change. Returns a function that returns what this list showed.
   */
  const listAfter = async (write: "updateService" | "deleteService", nth: number) => {
    const client = await run.clients("services");
    const real = { get: client.getService.bind(client), list: client.listServices.bind(client) };
    const change = client[write].bind(client) as (...args: unknown[]) => Promise<unknown>;
    const earlier = await real.list({ parent: "projects/test-project/locations/europe-west1" });
    let calls = 0;
    let listed: unknown = "not listed";
    const getService = async (...args: Parameters<typeof real.get>) => {
      if (calls === nth && listed === "not listed") {
        Object.assign(client, { listServices: async () => earlier });
        listed = await shown();
        Object.assign(client, { listServices: real.list });
      }
      return real.get(...args);
    };
    Object.assign(client, { getService, [write]: (...args: unknown[]) => change(...args).finally(() => calls++) });
    return () => listed;
  };

  test("shows the start and the end of a rollout", async () => {
    await run.rollOut(run.template("app"), "absent");
    expect(await shown()).toEqual([undefined, timeout]);
    const listed = await listAfter("updateService", 2);
    const seen: unknown[] = [];
    const mayServe = async () => void seen.push(await shown());
    await run.rollOut(run.template("app", "acme", { timeout: 31 }), await run.expectedOf("app"), { mayServe });
    expect(seen).toEqual([[31, timeout]]);
    expect(listed()).toEqual([undefined, timeout]);
    expect(await shown()).toEqual([undefined, 31]);
  });

  test("shows that a deletion is complete", async () => {
    await run.rollOut(run.template("app"), "absent");
    const listed = await listAfter("deleteService", 1);
    (await run.platform.remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
    expect(listed()).toEqual([undefined, timeout]);
    expect(await shown()).toBeUndefined();
  });

  test("does not keep a list that began before a change", async () => {
    await run.rollOut(run.template("app"), "absent");
    const client = await run.clients("services");
    const list = client.listServices.bind(client);
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waiting = async (...args: Parameters<typeof list>) => {
      const response = await list(...args);
      asked.resolve();
      await answer.promise;
      return response;
    };
    Object.assign(client, { listServices: waiting });
    const early = shown();
    await asked.promise;
    Object.assign(client, { listServices: list });
    await run.rollOut(run.template("app", "acme", { timeout: 31 }), await run.expectedOf("app"));
    answer.resolve();
    expect(await early).toEqual([undefined, timeout]);
    expect(await shown()).toEqual([undefined, 31]);
  });
});
