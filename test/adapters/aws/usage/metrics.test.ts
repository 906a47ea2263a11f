/** Metrics on a fake CloudWatch: the contract, the conversion of the metrics, revisions, and limits of the calls. */
import { CreateTargetGroupCommand } from "@aws-sdk/client-elastic-load-balancing-v2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { awsCalls } from "../../../../adapters/aws/call-policy.ts";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import { targetGroupNameOf } from "../../../../adapters/aws/deploy/records/names.ts";
import type { HeldRecord } from "../../../../adapters/aws/deploy/records/record.ts";
import { createRecords } from "../../../../adapters/aws/deploy/records/records.ts";
import { stateBucket } from "../../../../adapters/aws/state/state-bucket.ts";
import { createAwsMetrics } from "../../../../adapters/aws/usage/metrics.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { seriesOf } from "../../../../core/domain/usage/metrics.ts";
import { type Rollup, requestsOf } from "../../../../core/domain/usage/rollup.ts";
import { metricsWith, offered } from "../../../../core/domain/wire/capabilities.ts";
import { instantOfSeconds, secondsOf, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { MetricScope, MetricStore } from "../../../../core/ports/metric-store.ts";
import { okAsync } from "../../../../core/result.ts";
import { contractTests, freshNames, metricStoreCases } from "../../../contracts/index.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { type MinuteData, startFakeCloudWatchMetrics } from "../../../fakes/aws/cloudwatch/server.ts";
import { startFakeBalancer } from "../../../fakes/aws/elbv2/balancer.ts";
import { awsConfig, REGION } from "../../../fakes/aws/test-config.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { openFakeEcs } from "../../../support/providers/ecs-platform.ts";

const NOON = "2026-03-01T12:00:00Z";
const BALANCER = "app/portside/1234567890abcdef";
const listenerArn = `arn:aws:elasticloadbalancing:${REGION}:123456789012:listener/${BALANCER}/fedcba0987654321`;
const owner = "acme" as AccountId;

interface Held {
  readonly owner: AccountId;
  /** In seconds since 1970. */
  readonly created: number;
  /** Oldest first. */
  readonly revisions: readonly string[];
  /** When the revisions received their traffic, in seconds since 1970. Null as in a record of an earlier version. */
  readonly released?: readonly (number | null)[];
}

/** A revision's name ends with a unique suffix, which the name of its target group repeats. */
let made = 0;
const newRevision = (name: string): string => `${name}-${String(++made).padStart(16, "0")}`;

const openStore = async (clock: ManualClock, held: Map<string, Held>) => {
  const cloudWatch = await startFakeCloudWatchMetrics(clock);
  const balancer = await startFakeBalancer({ clock });
  const recordOf = (name: string, { owner, created, revisions, released = [] }: Held): HeldRecord => {
    const atOf = (seconds: number | null | undefined) =>
      seconds == null ? null : timestampOf(instantOfSeconds(seconds));
    const template = { name, owner, cpu: 2, memory: 2 ** 30 };
    return {
      kind: "held",
      uid: name,
      balancer: 0,
      retired: [],
      released: 1,
      removing: null,
      lastDeploy: null,
      createdAt: timestampOf(instantOfSeconds(created)),
      state: { revision: revisions.at(-1) ?? "", step: "moved" },
      attempted: template,
      former: [],
      releases: revisions.map((revision, index) => ({
        release: index + 1,
        revision,
        image: null,
        at: atOf(released[index]),
      })),
    } as unknown as HeldRecord;
  };
  const records = {
    list: (account: AccountId) =>
      okAsync([...held].filter(([, one]) => one.owner === account).map(([name, one]) => recordOf(name, one))),
  };
  const config = { shared: { ...awsConfig.shared, listenerArn, cluster: "portside" } };
  const clients = clientSource(REGION, { metrics: cloudWatch.client, balancer: balancer.client });
  const deps = { clock, logger: silentLogger, random: () => 0.5, ids: randomIds };
  return {
    cloudWatch,
    balancer,
    metrics: createAwsMetrics(config, clients, deps, records),
    /** The store of a new process, which has listed no metrics yet. */
    fresh: () => createAwsMetrics(config, clients, deps, records),
    close: async () => {
      await cloudWatch.close();
      await balancer.close();
    },
  };
};

const groupOf = (revision: string): string => `targetgroup/${targetGroupNameOf(revision)}/0123456789abcdef`;

/** The data of a revision in a minute, in the form in which AWS publishes it. */
const dataOf = (
  revision: string,
  minute: number,
  {
    statuses = {},
    seconds = [],
    cpu = [],
    memory = [],
  }: {
    readonly statuses?: Readonly<Record<string, number>>;
    readonly seconds?: readonly number[];
    readonly cpu?: readonly number[];
    readonly memory?: readonly number[];
  },
): readonly MinuteData[] => {
  const target = { LoadBalancer: BALANCER, TargetGroup: groupOf(revision) };
  const service = { ClusterName: "portside", ServiceName: revision };
  const elb = { namespace: "AWS/ApplicationELB", minute, dimensions: target };
  const ecs = { namespace: "AWS/ECS", minute, dimensions: service };
  const total = Object.values(statuses).reduce((sum, one) => sum + one, 0);
  return [
    { ...elb, name: "RequestCount", values: Array.from({ length: total }, () => 1) },
    { ...elb, name: "RequestCount", dimensions: { ...target, AvailabilityZone: "a" }, values: [1] },
    ...Object.entries(statuses).map(([one, count]) => ({
      ...elb,
      name: `HTTPCode_Target_${one.toUpperCase()}_Count`,
      values: Array.from({ length: count }, () => 1),
    })),
    { ...elb, name: "TargetResponseTime", values: seconds },
    { ...ecs, name: "CPUUtilization", values: cpu },
    { ...ecs, name: "MemoryUtilization", values: memory },
  ].filter(({ values }) => values.length > 0);
};

contractTests("CloudWatch", metricStoreCases, async () => {
  const clock = createManualClock(NOON);
  const start = secondsOf(clock.now());
  const held = new Map<string, Held>();
  const { cloudWatch, fresh, close } = await openStore(clock, held);
  const metrics: MetricStore = { read: (...all) => fresh().read(...all) };
  cloudWatch.limits.listDelay = 0;
  const names = freshNames("cloudwatch");
  const known = new Map<string, AccountId>();
  let account: AccountId | undefined;
  const subject = {
    metrics,
    start,
    account: () => {
      account = names.account();
      return account;
    },
    name: () => {
      const name = names.name();
      // CloudWatch always observes an existing deployment, so the first `add` creates all deployments.
      if (account !== undefined) known.set(name, account);
      return name;
    },
    add: async (scope: MetricScope, minute: number, rollup: Rollup) => {
      const at = start + minute;
      const create = (name: string, by: AccountId) =>
        held.set(name, { owner: by, created: at - 1, revisions: [newRevision(name)] });
      for (const [name, by] of known) if (!held.has(name)) create(name, by);
      // Another account has deleted its deployment of this name.
      if (held.get(scope.name)?.owner !== scope.owner) create(scope.name, scope.owner);
      const revision = held.get(scope.name)?.revisions[0] ?? "";
      cloudWatch.data.push(...dataOf(revision, at, { statuses: { "2xx": requestsOf(rollup, "2xx") } }));
      const late = at + 60 + 180 - secondsOf(clock.now());
      if (late > 0) await clock.advance(late * 1000);
    },
  };
  return { subject, close };
});

let clock: ManualClock;
let held: Map<string, Held>;
let store: Awaited<ReturnType<typeof openStore>>;
const start = secondsOf(createManualClock(NOON).now());

beforeAll(async () => {
  clock = createManualClock(NOON);
  held = new Map();
  store = await openStore(clock, held);
  store.cloudWatch.limits.listDelay = 0;
  await clock.advance(3_600_000);
});
afterAll(() => store.close());

/** Creates a deployment an hour before noon. */
const create = (name: string, revisions = 1): MetricScope => {
  held.set(name, {
    owner,
    created: start - 3600,
    revisions: Array.from({ length: revisions }, () => newRevision(name)),
  });
  return { owner, name: name as DeploymentName };
};
const revisionOf = (name: string, at = 0): string => held.get(name)?.revisions.at(at) ?? "";
const add = (...all: Parameters<typeof dataOf>): void => void store.cloudWatch.data.push(...dataOf(...all));
/** A new target group without a metric. */
const createGroup = async (revision: string): Promise<void> => {
  const input = { Name: targetGroupNameOf(revision), Protocol: "HTTP", Port: 80, VpcId: "vpc-1" } as const;
  await store.balancer.client.send(new CreateTargetGroupCommand(input));
};
/** The store caches lists of metrics for five minutes. */
const renewLists = () => clock.advance(300_000);
const pointsOf = (name: string, steps: readonly (Rollup | null)[] | undefined) =>
  Object.fromEntries(
    seriesOf(name, steps ?? [], metricsWith(offered(), 14)).map(({ metric, points }) => [metric, points]),
  );
const read = async (scope: MetricScope, { step = 60, count = 2, from = start } = {}) => {
  const [steps] = await expectOk(store.metrics.read([scope], { from: instantOfSeconds(from), step, count }));
  return pointsOf(scope.name, steps);
};

test("converts the metrics of load balancers and ECS", async () => {
  const scope = create("converted");
  add(revisionOf("converted"), start, {
    statuses: { "2xx": 3, "5xx": 1 },
    seconds: [0.003, 0.005, 0.005, 0.9],
    cpu: [50, 25],
    memory: [10, 30],
  });
  await renewLists();
  const found = await read(scope);
  expect(found).toMatchObject({
    requests_1xx: [0, 0],
    requests_2xx: [3, 0],
    requests_5xx: [1, 0],
    instances: [2, 0],
    cpu: [0.375 * 2 * 2, 0],
    cold_starts: [0, 0],
  });
  expect(found["memory"]?.[0]).toBeCloseTo(2 * 0.2 * 2 ** 30, -3);
  // 5 ms is in the bucket from 4 ms to 8 ms, and 900 ms in the one from 512 ms to 1,024 ms.
  expect(found["latency_p50"]?.[0]).toBeCloseTo(8);
  expect(found["latency_p99"]?.[0]).toBeGreaterThanOrEqual(1024);
  expect(found["latency_p99"]?.[0]).toBeLessThan(1024 * 1.19);
});

test("adds up the revisions of a deployment, and no others", async () => {
  const scope = create("redeployed", 3);
  for (const at of [0, 1, 2]) add(revisionOf("redeployed", at), start, { statuses: { "2xx": 2 ** at }, cpu: [10] });
  create("other");
  add(revisionOf("other"), start, { statuses: { "2xx": 50 }, cpu: [10] });
  await renewLists();
  expect(await read(scope)).toMatchObject({ requests_2xx: [7, 0], instances: [3, 0] });
  // A later deployment of the same name has different revisions.
  held.set("redeployed", { owner: "beta" as AccountId, created: start - 60, revisions: [newRevision("redeployed")] });
  expect((await read({ ...scope, owner: "beta" as AccountId }))["requests_2xx"]).toEqual([0, 0]);
  await renewLists();
  expect((await read(scope))["requests_2xx"]).toEqual([null, null]);
});

test("reads several deployments with one call for 500 statistics, and all pages of a call", async () => {
  const scopes = Array.from({ length: 10 }, (_, index) => create(`many-${index}`, 2));
  for (const [index, { name }] of scopes.entries()) add(revisionOf(name), start, { statuses: { "2xx": index + 1 } });
  await renewLists();
  const { cloudWatch } = store;
  const counts = async (metrics = store.fresh()) => {
    const all = await expectOk(metrics.read(scopes, { from: instantOfSeconds(start), step: 60, count: 1 }));
    return all.map(([step]) => step && requestsOf(step, "2xx"));
  };
  cloudWatch.faults.clear();
  const expected = scopes.map((_, index) => index + 1);
  expect(await counts()).toEqual(expected);
  expect(cloudWatch.faults.log).toEqual(["ListMetrics", "GetMetricData"]);
  cloudWatch.limits.points = 3;
  expect(await counts()).toEqual(expected);
  cloudWatch.limits.points = 100_800;
  cloudWatch.limits.metrics = 2;
  await renewLists();
  expect(await counts()).toEqual(expected);
  cloudWatch.limits.metrics = 500;
});

test("reads a deployment once per minute, even for concurrent callers", async () => {
  const scopes = [create("shared-a"), create("shared-b"), create("shared-c")];
  for (const { name } of scopes) add(revisionOf(name), start, { statuses: { "2xx": 1 } });
  await renewLists();
  const [a, b, c] = scopes as [MetricScope, MetricScope, MetricScope];
  const { log } = store.cloudWatch.faults;
  const readsOf = async (...all: readonly (readonly MetricScope[])[]) => {
    const before = log.length;
    const window = { from: instantOfSeconds(start), step: 60, count: 1 };
    const found = await Promise.all(all.map((some) => expectOk(store.metrics.read(some, window))));
    for (const some of found) for (const [step] of some) expect(step && requestsOf(step, "2xx")).toBe(1);
    return log.slice(before).filter((method) => method === "GetMetricData").length;
  };
  expect(await readsOf([a, b], [b, a], [a])).toBe(1);
  expect(await readsOf([a, b])).toBe(0);
  // Reads only the deployment that is missing.
  expect(await readsOf([a, b, c])).toBe(1);
  await clock.advance(60_000 - (secondsOf(clock.now()) % 60) * 1000 - 1);
  expect(await readsOf([a, b, c])).toBe(0);
  await clock.advance(1);
  expect(await readsOf([a, b, c])).toBe(1);
});

test("reads no revision that was replaced more than an hour before the window", async () => {
  const scope = create("lived", 4);
  const { revisions } = held.get("lived") as Held;
  for (const at of [0, 1, 2, 3]) add(revisionOf("lived", at), start, { statuses: { "2xx": 2 ** at } });
  await renewLists();
  const requests = async (released: readonly (number | null)[]) => {
    held.set("lived", { owner, created: start - 86_400, revisions, released });
    const [[step] = []] = await expectOk(
      store.fresh().read([scope], { from: instantOfSeconds(start), step: 60, count: 1 }),
    );
    return step && requestsOf(step, "2xx");
  };
  const hour = 3600;
  expect(await requests([start - 9 * hour, start - 2 * hour, start - hour - 1, start])).toBe(0b1100);
  expect(await requests([start - 9 * hour, start - 2 * hour, start - hour, start])).toBe(0b1110);
  // The record of an earlier version has no times.
  expect(await requests([null, null, null, null])).toBe(0b1111);
  expect(await requests([null, null, null, start - 2 * hour])).toBe(0b1011);
});

test("finds new target groups in batches of 20, and asks again only for those that do not exist yet", async () => {
  const scopes = Array.from({ length: 45 }, (_, index) => create(`new-${index}`));
  const revisions = scopes.map(({ name }) => revisionOf(name));
  for (const revision of revisions.slice(0, -1)) await createGroup(revision);
  const { log } = store.balancer.faults;
  const readAll = async () => {
    const before = log.length;
    for (let at = 0; at < scopes.length; at += 10)
      await expectOk(
        store.metrics.read(scopes.slice(at, at + 10), { from: instantOfSeconds(start), step: 60, count: 1 }),
      );
    return log.slice(before).filter((method) => method === "DescribeTargetGroups").length;
  };
  const window = { from: instantOfSeconds(start), step: 60, count: 1 };
  const before = log.length;
  await expectOk(store.metrics.read(scopes.slice(0, 40), window));
  expect(log.slice(before)).toEqual(["DescribeTargetGroups", "DescribeTargetGroups"]);
  // The call for five names fails, because one of them does not exist. Calls for halves of the names find the others.
  expect(await readAll()).toBe(1 + 2 + 2);
  await renewLists();
  expect(await readAll()).toBe(1);
  await createGroup(revisions.at(-1) ?? "");
  await renewLists();
  expect(await readAll()).toBe(1);
  await renewLists();
  expect(await readAll()).toBe(0);
});

test("concurrent reads of several accounts share the search for target groups", async () => {
  const scopes = ["one", "two"].map((account): MetricScope => {
    const name = `found-by-${account}`;
    held.set(name, { owner: account as AccountId, created: start - 3600, revisions: [newRevision(name)] });
    return { owner: account as AccountId, name: name as DeploymentName };
  });
  for (const { name } of scopes) add(revisionOf(name), start, { statuses: { "2xx": 1 } });
  await renewLists();
  const metrics = store.fresh();
  store.cloudWatch.faults.clear();
  const window = { from: instantOfSeconds(start), step: 60, count: 1 };
  await Promise.all(scopes.map((scope) => expectOk(metrics.read([scope], window))));
  expect(store.cloudWatch.faults.log.filter((method) => method === "ListMetrics")).toHaveLength(1);
});

test("a minute is null until CloudWatch has all of its metrics", async () => {
  const scope = create("late");
  const from = Math.ceil(secondsOf(clock.now()) / 60) * 60;
  add(revisionOf("late"), from, { statuses: { "2xx": 4 } });
  const seen = async () => {
    const [steps] = await expectOk(store.fresh().read([scope], { from: instantOfSeconds(from), step: 60, count: 1 }));
    return pointsOf("late", steps)["requests_2xx"];
  };
  await clock.advance((from + 60 + 179 - secondsOf(clock.now())) * 1000);
  expect(await seen()).toEqual([null]);
  await clock.advance(1000);
  expect(await seen()).toEqual([4]);
});

test("reads the metrics of two weeks", async () => {
  const scope = create("old");
  held.set("old", { owner, created: start - 30 * 86_400, revisions: [revisionOf("old")] });
  const from = Math.floor(start / 86_400) * 86_400 - 13 * 86_400;
  for (const day of [0, 12]) add(revisionOf("old"), from + day * 86_400, { statuses: { "2xx": day + 1 } });
  await renewLists();
  const { requests_2xx } = await read(scope, { from, step: 86_400, count: 13 });
  expect([requests_2xx?.[0], requests_2xx?.[1], requests_2xx?.[12]]).toEqual([1, 0, 13]);
});

test("repeats a call after a passing failure, and fails with `unavailable` if AWS rejects it", async () => {
  const scope = create("failing");
  add(revisionOf("failing"), start, { statuses: { "2xx": 1 } });
  await renewLists();
  const { faults } = store.cloudWatch;
  const window = { from: instantOfSeconds(start), step: 60, count: 1 };
  faults.clear();
  faults.inject({ method: "GetMetricData", nth: 1, kind: "permission_denied" });
  expect((await expectError(store.metrics.read([scope], window))).kind).toBe("unavailable");
  faults.clear();
  faults.inject({ method: "GetMetricData", nth: 1, kind: "resource_exhausted" });
  const [steps] = await whileTicking(clock, expectOk(store.metrics.read([scope], window)), 1000);
  expect(pointsOf("failing", steps)["requests_2xx"]).toEqual([1]);
  expect(faults.log).toEqual(["GetMetricData", "GetMetricData"]);
});

test("finds the target group and the ECS service of a new revision, which CloudWatch does not list yet", async () => {
  const own = createManualClock(NOON);
  const run = await openFakeEcs({}, own);
  const cloudWatch = await startFakeCloudWatchMetrics(own);
  const clients = clientSource(REGION, {
    metrics: cloudWatch.client,
    balancer: run.balancer.client,
    s3: run.state.client,
  });
  const deps = { clock: own, logger: silentLogger, random: () => 0.5, ids: randomIds };
  const records = createRecords(stateBucket(run.config.shared.stateBucket, clients, awsCalls(deps)));
  const metrics = createAwsMetrics(run.config, clients, deps, records);
  await whileTicking(own, run.rollOut(run.template("app", "acme"), "absent"), 1000);
  const [service] = run.ecs.services();
  const minute = Math.ceil(secondsOf(own.now()) / 60) * 60 + 60;
  const target = String(service?.loadBalancers?.[0]?.targetGroupArn).split(":").at(-1) ?? "";
  const balancer = run.config.shared.listenerArn.split(":listener/")[1]?.split("/").slice(0, 3).join("/") ?? "";
  const dimensions = { LoadBalancer: balancer, TargetGroup: target };
  const elb = { namespace: "AWS/ApplicationELB", minute, dimensions };
  cloudWatch.data.push(
    { ...elb, name: "RequestCount", values: [1, 1] },
    { ...elb, name: "HTTPCode_Target_2XX_Count", values: [1, 1] },
    {
      namespace: "AWS/ECS",
      name: "CPUUtilization",
      minute,
      values: [5],
      dimensions: { ClusterName: run.config.shared.cluster, ServiceName: String(service?.serviceName) },
    },
  );
  await own.advance((minute + 240 - secondsOf(own.now())) * 1000);
  const scope = { owner, name: "app" as DeploymentName };
  const [steps] = await expectOk(metrics.read([scope], { from: instantOfSeconds(minute), step: 60, count: 1 }));
  expect(pointsOf("app", steps)).toMatchObject({ requests_2xx: [2], instances: [1] });
  await cloudWatch.close();
  await run.close();
});

test("a rollout records when its revision received the traffic", async () => {
  const own = createManualClock(NOON);
  const run = await openFakeEcs({}, own);
  const clients = clientSource(REGION, { s3: run.state.client });
  const deps = { clock: own, logger: silentLogger, random: () => 0.5, ids: randomIds };
  const records = createRecords(stateBucket(run.config.shared.stateBucket, clients, awsCalls(deps)));
  const rollOut = async (expected: Parameters<typeof run.rollOut>[1]) => {
    const from = timestampOf(own.now());
    await whileTicking(own, run.rollOut(run.template("app", "acme"), expected), 1000);
    return { from, to: timestampOf(own.now()) };
  };
  const times = [await rollOut("absent"), await rollOut(await run.expectedOf("app"))];
  const [record] = await expectOk(records.list(owner));
  expect(record?.releases.map(({ release }) => release)).toEqual([1, 2]);
  for (const [index, { from, to }] of times.entries()) {
    const at = Date.parse(record?.releases[index]?.at ?? "");
    expect(at).toBeGreaterThanOrEqual(Date.parse(from));
    expect(at).toBeLessThanOrEqual(Date.parse(to));
  }
  await run.close();
});
