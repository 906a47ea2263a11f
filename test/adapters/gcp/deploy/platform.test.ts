/** Cloud Run as the platform, on the fake: events, interruptions, conflicts, and the number of calls. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { rolloutEndTests } from "../../../clouds/rollouts/ends.ts";
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
    // A first deploy is created with one write, and its traffic moves with the next.
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

test("more instances than the region's quota allows is quota_exceeded, with the number that it allows", async () => {
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

test("mounts use the account's buckets and the second generation, with access and a warning", async () => {
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

test("enough memory, or a read-only volume, causes no warning", async () => {
  run.storage.world.insertBucket({ name: "vol-data" });
  const events = await run.rollOut(run.template("app", "acme", mounting(2 * 1024 ** 3)), "absent");
  expect(events.some((event) => event.kind === "progress" && event.message.includes("memory"))).toBe(false);
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
  run = await openFakeCloudRun({ mean: new Set(["all_users_forbidden", "invoker_check_required"]) });
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
