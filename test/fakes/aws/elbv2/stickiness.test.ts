/** The fake load balancer keeps a client at its target and its target group as the real one does. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { resolveLocally } from "../wildcard-dns.ts";
import { type FakeBalancer, LISTENER, startFakeBalancer } from "./balancer.ts";

const clock = createManualClock();
const DOMAIN = "apps.portside.test";
const HOST = `app.${DOMAIN}`;
let endDns: () => void;
let servers: readonly Server[];
let balancer: FakeBalancer;

/** A target that responds with its name. */
const serverFor = async (id: string): Promise<Server> => {
  const server = createServer((_request, response) => response.end(id));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
};

beforeEach(async () => {
  endDns = resolveLocally(DOMAIN);
  const ids = ["a", "b", "c", "d"];
  servers = await Promise.all(ids.map(serverFor));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  balancer = await startFakeBalancer({ clock, target: async (_group, id) => `127.0.0.1:${ports[ids.indexOf(id)]}` });
});
afterEach(async () => {
  endDns();
  await balancer.close();
  for (const server of servers) server.close();
});

/** A group of healthy targets, sticky for a minute. */
const groupOf = (name: string, targets: readonly string[]): string => {
  const [group] = balancer.act.CreateTargetGroup({
    Name: name,
    Protocol: "HTTP",
    Port: "80",
    VpcId: "vpc-1",
  }).TargetGroups;
  balancer.act.ModifyTargetGroupAttributes({
    TargetGroupArn: group?.TargetGroupArn,
    Attributes: [
      { Key: "stickiness.enabled", Value: "true" },
      { Key: "stickiness.lb_cookie.duration_seconds", Value: "60" },
    ],
  });
  for (const id of targets) balancer.setTarget(group?.TargetGroupArn, id, "healthy");
  return group?.TargetGroupArn;
};

/** Forwards to the groups by weight; with several, a client stays in its group for ten seconds. */
const actionsOf = (...weights: readonly (readonly [group: string, weight: number])[]) => [
  {
    Type: "forward",
    ForwardConfig: {
      TargetGroups: weights.map(([TargetGroupArn, Weight]) => ({ TargetGroupArn, Weight: String(Weight) })),
      ...(weights.length > 1 && { TargetGroupStickinessConfig: { Enabled: "true", DurationSeconds: "10" } }),
    },
  },
];

const forward = (...weights: readonly (readonly [string, number])[]): string =>
  balancer.act.CreateRule({
    ListenerArn: LISTENER,
    Priority: "1",
    Conditions: [{ Field: "host-header", HostHeaderConfig: { Values: [HOST] } }],
    Actions: actionsOf(...weights),
  }).Rules[0]?.["RuleArn"];

const send = async (cookie = "") => {
  const response = await fetch(`http://${HOST}:${balancer.port}`, { headers: { cookie } });
  const set = response.headers.getSetCookie();
  return {
    status: response.status,
    target: await response.text(),
    set,
    cookie: set.map((one) => one.split(";")[0]).join("; "),
  };
};

test("a client with the cookie stays with its target while it is healthy, for the duration", async () => {
  forward([groupOf("one", ["a", "b"]), 1]);
  const first = await send();
  expect(first.set).toEqual([
    expect.stringMatching(/^AWSALB=[^;]+; Expires=[^;]+; Path=\/$/),
    expect.stringMatching(/^AWSALBCORS=[^;]+; Expires=[^;]+; Path=\/; SameSite=None; Secure$/),
  ]);
  const targets = async (cookie?: string) => {
    const found: string[] = [];
    for (let count = 0; count < 4; count++) found.push((await send(cookie)).target);
    return new Set(found);
  };
  expect(await targets()).toEqual(new Set(["a", "b"]));
  expect(await targets(first.cookie)).toEqual(new Set([first.target]));
  expect(await targets("AWSALB=nonsense")).toEqual(new Set(["a", "b"]));
  await clock.advance(60_000);
  expect(await targets(first.cookie)).toEqual(new Set(["a", "b"]));
});

test("a client whose target is not healthy gets another target, and its cookie", async () => {
  const group = groupOf("one", ["a", "b"]);
  forward([group, 1]);
  const first = await send();
  balancer.setTarget(group, first.target, "draining");
  const second = await send(first.cookie);
  expect(second).toMatchObject({ status: 200, target: first.target === "a" ? "b" : "a" });
  balancer.setTarget(group, first.target, "healthy");
  expect((await send(second.cookie)).target).toBe(second.target);
  balancer.setTarget(group, "a", "draining");
  balancer.setTarget(group, "b", "draining");
  expect((await send(second.cookie)).status).toBe(503);
});

test("a rule with group stickiness keeps a client in its group, whatever the weight, for the duration", async () => {
  const [one, two] = [groupOf("one", ["a", "b"]), groupOf("two", ["c", "d"])];
  const rule = forward([one, 1], [two, 0]);
  const first = await send();
  expect(first.set.map((cookie) => cookie.split("=")[0])).toEqual(["AWSALBTG", "AWSALBTGCORS", "AWSALB", "AWSALBCORS"]);
  balancer.act.ModifyRule({ RuleArn: rule, Actions: actionsOf([one, 0], [two, 1]) });
  expect(["c", "d"]).toContain((await send()).target);
  expect((await send(first.cookie)).target).toBe(first.target);
  await clock.advance(10_000);
  expect(["c", "d"]).toContain((await send(first.cookie)).target);
});

test("a cookie of a group that the rule no longer names has no effect", async () => {
  const [one, two] = [groupOf("one", ["a"]), groupOf("two", ["c"])];
  const rule = forward([one, 1], [two, 0]);
  const first = await send();
  balancer.act.ModifyRule({ RuleArn: rule, Actions: actionsOf([two, 1]) });
  expect(await send(first.cookie)).toMatchObject({ status: 200, target: "c" });
});
