/** ECS as the platform, on the fakes: what it reports, what it keeps, who loses a race, and how many calls it makes. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { OWNER_LABEL, SERVICE_LABEL } from "../../../../adapters/cloud/deploy/labels.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { rolloutEndTests } from "../../../clouds/rollouts/ends.ts";
import { testOrigin } from "../../../contracts/support.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { ecsRollouts, type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

let run: FakeEcsPlatform;
beforeEach(async () => {
  run = await openFakeEcs();
});
afterEach(() => run.close());

rolloutEndTests(() => run, ecsRollouts, {
  unheard: "did_not_listen",
  // ECS may have started another task by then.
  logTail: expect.arrayContaining(["leaving"]),
  takeBucket: ({ gone }) => gone.add("vol-data"),
  whenTrafficMoves: async ({ clients, rollOut, template, expectedOf }, then) => {
    await rollOut(template("app"), "absent");
    const client = await clients("balancer");
    const send = client.send.bind(client) as (...args: unknown[]) => unknown;
    const telling = (...args: unknown[]) => {
      if ((args[0] as object).constructor.name === "ModifyRuleCommand") then();
      return send(...args);
    };
    Object.assign(client, { send: telling });
    return expectedOf("app");
  },
  nothingLeft: (world) => ecsRollouts.onlyServing(world, []),
});

const mounting: Partial<ServiceTemplate> = {
  mounts: [
    { path: "/data", volume: "data", bucket: "vol-data", readOnly: false },
    { path: "/old", volume: "data", bucket: "vol-data", readOnly: true, subPath: "old/one" },
    { path: "/deep", volume: "data", bucket: "vol-data", readOnly: false, subPath: "a/b/c/d/e" },
  ] as unknown as ServiceTemplate["mounts"],
};

const definitionOf = (name: string) => run.ecs.definitions().find(({ family }) => family.includes(`-${name}-`));

test("a record that Portside did not write holds the name and stays unchanged", async () => {
  for (const text of ["{", "{}", JSON.stringify({ version: "portside/v1", kind: "held" })]) {
    run.state.edit("services/theirs.json", text);
    expect((await run.platform.find(nameOf("theirs")))._unsafeUnwrap()).toEqual({ kind: "reserved", owner: "" });
    expect(await run.endOf(run.template("theirs"), "absent")).toMatchObject({
      kind: "failed",
      failure: { reason: "name_taken" },
    });
    expect(run.state.objects.get("services/theirs.json")?.bytes.toString()).toBe(text);
    const removed = await run.platform.remove(nameOf("theirs"), { etag: "any", owner: accountOf("acme") });
    expect(removed._unsafeUnwrapErr().kind).toBe("conflict");
  }
  expect((await run.platform.list(accountOf("acme")))._unsafeUnwrap()).toEqual([]);
});

test("another application's rule for the host holds the name and stays unchanged", async () => {
  const { act } = run.balancer;
  const made = act.CreateTargetGroup({ Name: "theirs", Protocol: "HTTP", Port: "80", VpcId: "vpc-1" });
  const group = made.TargetGroups[0].TargetGroupArn;
  const listener = run.config.shared.listenerArn;
  act.CreateRule({
    ListenerArn: listener,
    Priority: "7",
    Conditions: [{ Field: "host-header", Values: ["app.apps.portside.test"] }],
    Actions: [{ Type: "forward", TargetGroupArn: group }],
  });
  expect(await run.endOf(run.template("app"), "absent")).toMatchObject({ failure: { reason: "name_taken" } });
  expect(run.balancer.groupFor("app.apps.portside.test")).toBe(group);
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("free");
});

test("a deploy keeps manual settings and replaces declared ones", async () => {
  const end = await run.endOf(run.template("app", "acme", { env: { KEPT: "1", DROPPED: "1" } }), "absent");
  const revision = end?.kind === "ready" ? end.revision : "";
  const definition = definitionOf("app");
  definition.ephemeralStorage = { sizeInGiB: 50 };
  definition.containerDefinitions[0].environment.push({ name: "BY_HAND", value: "2" });
  definition.containerDefinitions[0].ulimits = [{ name: "nofile", softLimit: 10, hardLimit: 10 }];
  definition.containerDefinitions.push({ name: "sidecar", image: run.image() });
  definition.volumes.push({ name: "scratch" });
  const [group] = run.balancer.groups();
  const stored = run.balancer.groups().find(({ TargetGroupArn }) => TargetGroupArn === group?.TargetGroupArn);
  expect(stored?.HealthCheckPath).toBe("/");
  const [rule] = run.balancer.rules();
  const hosts = ["app.apps.portside.test", "www.example.com"];
  run.balancer.act.ModifyRule({
    RuleArn: rule?.RuleArn,
    Conditions: [{ Field: "host-header", HostHeaderConfig: { Values: hosts } }],
  });
  await run.rollOut(run.template("app", "acme", { env: { KEPT: "3" } }), await run.expectedOf("app"));
  const next = definitionOf("app");
  expect(next.family).not.toContain(revision);
  const env = Object.fromEntries(
    next.containerDefinitions[0].environment.map((one: { name: string; value: string }) => [one.name, one.value]),
  );
  expect(env).toEqual({ KEPT: "3", BY_HAND: "2", CRON_TOKEN: "token-of-app", PORT: "8080" });
  expect(next.ephemeralStorage).toEqual({ sizeInGiB: 50 });
  expect(next.containerDefinitions[0].ulimits).toHaveLength(1);
  expect(next.containerDefinitions[1].name).toBe("sidecar");
  expect(next.volumes).toEqual([{ name: "scratch" }]);
  expect(run.balancer.rules()[0]?.Conditions[0].HostHeaderConfig.Values).toEqual(hosts);
});

test("an environment with too many variables fails the deploy with a message", async () => {
  const env = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`V${at}`, "1"]));
  expect(await run.endOf(run.template("app", "acme", { env: env(4000) }), "absent")).toMatchObject({
    kind: "failed",
    failure: { reason: "quota_exceeded", message: expect.stringContaining("64 KB") },
  });
  expect(run.ecs.definitions()).toHaveLength(0);
  expect(await run.endOf(run.template("few", "acme", { env: env(1000) }), "absent")).toMatchObject({ kind: "ready" });
});

test("mounts use the file systems of the account's buckets, and the service's environment names them", async () => {
  await run.rollOut(run.template("app", "acme", mounting), "absent");
  const { volumes, containerDefinitions, taskRoleArn } = definitionOf("app");
  const arn = "arn:aws:s3files:eu-west-1:123456789012:file-system/vol-data";
  expect(volumes).toEqual([
    {
      name: "portside-1",
      s3filesVolumeConfiguration: { fileSystemArn: arn, accessPointArn: `${arn}/access-point/root` },
    },
    {
      name: "portside-2",
      s3filesVolumeConfiguration: { fileSystemArn: arn, accessPointArn: `${arn}/access-point/old/one` },
    },
    // Too deep for an access point.
    { name: "portside-3", s3filesVolumeConfiguration: { fileSystemArn: arn, rootDirectory: "/a/b/c/d/e" } },
  ]);
  expect(containerDefinitions[0].mountPoints).toEqual([
    { sourceVolume: "portside-1", containerPath: "/data", readOnly: false },
    { sourceVolume: "portside-2", containerPath: "/old", readOnly: true },
    { sourceVolume: "portside-3", containerPath: "/deep", readOnly: false },
  ]);
  expect(taskRoleArn).toMatch(/^arn:aws:iam::123456789012:role\/portside-[0-9a-f]{32}$/);
  const mountsVariable = containerDefinitions[0].environment.find(
    ({ name }: { name: string }) => name === "PORTSIDE_VOLUMES",
  );
  expect(JSON.parse(mountsVariable.value)).toEqual({ "/data": "vol-data", "/old": "vol-data", "/deep": "vol-data" });
});

test("a later instance pulls the image by its tag, because the first digest may be deleted", async () => {
  await run.rollOut(run.template("app"), "absent");
  const [container] = definitionOf("app").containerDefinitions;
  expect(container).toMatchObject({ image: run.image(), versionConsistency: "disabled" });
});

test("log delivery blocks a service that prints too fast, instead of dropping its lines", async () => {
  await run.rollOut(run.template("app"), "absent");
  const [container] = definitionOf("app").containerDefinitions;
  expect(container.logConfiguration).toMatchObject({ logDriver: "awslogs", options: { mode: "blocking" } });
});

test("a slow first mount does not count towards the rollout's time", async () => {
  const slow: typeof run.needs.mountable = async (bucket, options) => {
    await run.clock.sleep(15 * 60_000);
    return run.needs.mountable(bucket, options);
  };
  const by = run.replica({ mountable: slow });
  const end = (await run.rollOut(run.template("app", "acme", mounting), "absent", { by })).at(-1);
  expect(end).toMatchObject({ kind: "ready" });
});

test("the load balancer gets the settings of the template", async () => {
  const asked = { sessionAffinity: true, useHttp2: true, timeout: 61, port: 3000, concurrency: 7, maxInstances: 3 };
  await run.rollOut(run.template("app", "acme", asked), "absent");
  const [group] = run.balancer.groups();
  expect(group).toMatchObject({
    ProtocolVersion: "HTTP2",
    Port: "3000",
    TargetType: "ip",
    Matcher: { HttpCode: "200-499" },
  });
  expect(group?.attributes).toMatchObject({
    "stickiness.enabled": "true",
    "stickiness.type": "lb_cookie",
    "deregistration_delay.timeout_seconds": "61",
  });
  const [[resource, target] = []] = [...run.scaling.targets];
  expect(resource).toBe(`service/portside/${run.routed("app")}`);
  expect(target).toMatchObject({ MinCapacity: 1, MaxCapacity: 3, policy: { TargetValue: 420 } });
  expect(target.policy.PredefinedMetricSpecification.ResourceLabel).toBe(
    `app/portside/50dc6c495c0c9188/${group?.TargetGroupArn.split(":").at(-1)}`,
  );
});

test("every resource of a deploy has the tags that cost reports use", async () => {
  await run.rollOut(run.template("app"), "absent");
  const wanted = [
    [OWNER_LABEL, accountDigest(accountOf("acme"))],
    [SERVICE_LABEL, "app"],
  ];
  const ours = (tags: readonly { key?: string; Key?: string; value?: string; Value?: string }[]) =>
    tags.map(({ key, Key = key, value, Value = value }) => [Key, Value]).slice(0, wanted.length);
  const [service] = run.ecs.services();
  const made = [
    service?.tags,
    run.ecs.tagsOfTasks(service?.serviceName),
    run.ecs.tagsOf(definitionOf("app")?.taskDefinitionArn),
    run.balancer.groups()[0]?.Tags,
    run.balancer.rules()[0]?.Tags,
  ];
  expect(made.map(ours)).toEqual(made.map(() => wanted));
});

test("a revision starts with as many instances as the previous one", async () => {
  const end = await run.endOf(run.template("app", "acme", { maxInstances: 5 }), "absent");
  run.ecs.scale(end?.kind === "ready" ? end.revision : "", 9);
  await run.rollOut(run.template("app", "acme", { maxInstances: 5 }), await run.expectedOf("app"));
  expect(run.ecs.services().map(({ desiredCount }) => desiredCount)).toEqual([5]);
});

/** A control plane whose domain has a record, but at whose port nothing listens. */
const unreachable = () => {
  const { shared } = run.config;
  return run.replica({}, { ...run.config, shared: { ...shared, domain: shared.domain.replace(/:\d+$/, ":1") } });
};

test("a rollout fails before traffic moves if the deployment's URL does not accept connections", async () => {
  await run.rollOut(run.template("app"), "absent");
  const served = run.routed("app");
  const failed = await run.endOf(run.template("app"), await run.expectedOf("app"), { by: unreachable() });
  expect(failed).toMatchObject({
    kind: "failed",
    failure: { reason: "rollout_timeout", message: expect.stringContaining(":1 does not accept connections") },
  });
  expect(run.routed("app")).toBe(served);
  ecsRollouts.onlyServing(run, ["app"]);
});

test("an abort ends the wait for the deployment's URL within 10 seconds", async () => {
  const aborting = new AbortController();
  const request = {
    template: run.template("app"),
    expected: "absent",
    origin: testOrigin,
    listenDeadlineMs: 60_000,
  } as const;
  let abortedAt = Number.NaN;
  let last: RolloutEvent | undefined;
  for await (const event of unreachable().rollout(request, { signal: aborting.signal })) {
    last = event;
    if (event.kind !== "progress" || event.message !== "The revision is ready") continue;
    abortedAt = millisOf(run.clock.now());
    aborting.abort();
  }
  expect(last).toMatchObject({ kind: "failed", failure: { reason: "interrupted" } });
  expect(millisOf(run.clock.now()) - abortedAt).toBeLessThan(10_000);
});

test("reports an exhausted rule quota of the load balancer", async () => {
  await run.close();
  run = await openFakeEcs({ rules: 2 });
  expect((await run.endOf(run.template("one"), "absent"))?.kind).toBe("ready");
  expect(await run.endOf(run.template("two"), "absent")).toMatchObject({
    failure: { reason: "quota_exceeded" },
  });
  expect(await run.serviceOf("two")).toMatchObject({ serving: [], rollingOut: null });
  expect((await run.endOf(run.template("one", "acme", { timeout: 9 }), await run.expectedOf("one")))?.kind).toBe(
    "ready",
  );
});

test("waits for a new service that appears late", async () => {
  run.ecs.settings.looksUntilVisible = 3;
  expect((await run.endOf(run.template("app"), "absent"))?.kind).toBe("ready");
});

test("reserves a freed name for seven days, and tags its record for the bucket's lifecycle", async () => {
  await run.rollOut(run.template("app"), "absent");
  (await run.platform.remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap()).toEqual({ kind: "reserved", owner: "acme" });
  expect(run.state.objects.get("services/app.json")?.tags).toBe("portside-state=freed");
  await run.clock.sleep(7 * 86_400_000 + 1000);
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap()).toEqual({ kind: "free" });
  expect((await run.endOf(run.template("app", "globex"), "absent"))?.kind).toBe("ready");
  expect(run.state.objects.get("services/app.json")?.tags).toBe("");
});

test("a list takes three calls for any number of deployments, plus one per changed deployment", async () => {
  for (const name of ["b-app", "a-app", "c-app"]) await run.rollOut(run.template(name), "absent");
  await run.rollOut(run.template("theirs", "globex"), "absent");
  const names = async () => (await run.replica().list(accountOf("acme")))._unsafeUnwrap().map(({ name }) => name);
  run.state.faults.clear();
  expect(await names()).toEqual(["a-app", "b-app", "c-app"]);
  expect(run.state.faults.count("GetObject")).toBe(4);
  // Another replica uses the cache in the bucket too.
  run.state.faults.clear();
  expect(await names()).toEqual(["a-app", "b-app", "c-app"]);
  expect([...run.state.faults.log].sort()).toEqual(["GetObject", "ListObjectsV2", "ListObjectsV2"]);
  await run.rollOut(run.template("a-app", "acme", { timeout: 9 }), await run.expectedOf("a-app"));
  run.state.faults.clear();
  const [first] = (await run.platform.list(accountOf("acme")))._unsafeUnwrap();
  expect(first?.serving[0]?.template.timeout).toBe(9);
  expect(run.state.faults.count("GetObject")).toBe(2);
  run.ecs.faults.clear();
  run.balancer.faults.clear();
  await names();
  expect([...run.ecs.faults.log, ...run.balancer.faults.log]).toEqual([]);
});

test("a list takes one call per thousand names of any owner", async () => {
  await run.rollOut(run.template("app"), "absent");
  for (let index = 0; index < 2100; index++) run.state.edit(`services/other-${index}.json`, "{}");
  (await run.platform.list(accountOf("acme")))._unsafeUnwrap();
  run.state.faults.clear();
  expect((await run.platform.list(accountOf("acme")))._unsafeUnwrap()).toHaveLength(1);
  expect(run.state.faults.count("ListObjectsV2")).toBe(4);
  expect(run.state.faults.count("GetObject")).toBe(1);
});

test("an invalid cached list is ignored", async () => {
  await run.rollOut(run.template("app"), "absent");
  (await run.platform.list(accountOf("acme")))._unsafeUnwrap();
  const key = [...run.state.objects.keys()].find((one) => one.startsWith("lists/")) ?? "";
  run.state.edit(key, "[[1]]");
  expect((await run.platform.list(accountOf("acme")))._unsafeUnwrap()).toHaveLength(1);
});

test("a Fargate quota that an ECS event reports ends the rollout", async () => {
  const hanging = run.template("app", "acme", { image: run.image("hangs") });
  const client = await run.clients("ecs");
  const send = client.send.bind(client) as (...args: unknown[]) => unknown;
  const sendAndReport = (...args: unknown[]) => {
    const [service] = run.ecs.services();
    if (service !== undefined)
      run.ecs.say(service.serviceName, "You've reached the limit on the number of vCPUs you can run concurrently.");
    return send(...args);
  };
  Object.assign(client, { send: sendAndReport });
  expect(await run.endOf(hanging, "absent")).toMatchObject({ failure: { reason: "quota_exceeded" } });
});
