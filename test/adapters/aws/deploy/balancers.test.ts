/** Deployments on several load balancers: a new deployment gets one of them, and keeps it. */
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { balancerForNew, hasRoom, sharedByBalancer } from "../../../../adapters/aws/deploy/balancers.ts";
import type { Expected } from "../../../../core/domain/deploy/plan.ts";
import { sharedResources } from "../../../fakes/aws/ecs/world.ts";
import { listenerAt } from "../../../fakes/aws/elbv2/balancer.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const PER_BALANCER = 50;
/** `npm run soak` creates a thousand deployments. The default is two on each of three otherwise full load balancers. */
const count = Number(process.env["PORTSIDE_DEPLOYMENTS"] ?? "6");
const own = process.env["PORTSIDE_DEPLOYMENTS"] === undefined ? 2 : PER_BALANCER;

let run: FakeEcsPlatform;
afterEach(() => run?.close());

/** Opens load balancers with room for `places` deployments each. */
const open = async (balancers: number, places: number): Promise<void> => {
  run = await openFakeEcs({ balancers });
  for (let index = 0; index < balancers; index++) run.balancer.occupy(index, PER_BALANCER - places);
};

const deploy = async (name: string, expected: Expected = "absent"): Promise<string> => {
  expect(await run.endOf(run.template(name), expected)).toMatchObject({ kind: "ready" });
  return (await run.serviceOf(name)).url;
};

const remove = async (name: string): Promise<void> =>
  (await run.platform.remove(nameOf(name), await run.expectedOf(name)))._unsafeUnwrap();

/** The revision that serves a URL. */
const servingAt = (url: string): string | undefined => {
  const group = run.balancer.groupFor(new URL(url).hostname);
  return group === undefined ? undefined : run.ecs.serviceIn(group);
};

/** The number of the load balancer that serves a URL. */
const numberIn = (url: string): number => Number(/^[^.]+\.(?:(\d+)\.)?apps\./.exec(new URL(url).host)?.[1] ?? 1);

test("a new deployment gets the first load balancer with room, else the one with the fewest deployments", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(120), { minLength: 1, maxLength: 20 }), (counts) => {
      const chosen = balancerForNew(counts);
      if (counts.some(hasRoom))
        expect(counts.slice(0, chosen + 1).map(hasRoom)).toEqual([...counts.slice(0, chosen).map(() => false), true]);
      else expect(counts[chosen]).toBe(Math.min(...counts));
    }),
    runs(1000),
  );
});

test("the first load balancer serves the domain, and each of the others a subdomain that no deployment can have as its name", () => {
  const moreListenerArns = [listenerAt(1), listenerAt(2)];
  const shared = sharedByBalancer({ ...sharedResources(80), domain: "apps.example.com:8443", moreListenerArns });
  expect(shared.map(({ listenerArn, domain }) => [listenerArn, domain])).toEqual([
    [listenerAt(0), "apps.example.com:8443"],
    [listenerAt(1), "2.apps.example.com:8443"],
    [listenerAt(2), "3.apps.example.com:8443"],
  ]);
});

test("deployments fill one load balancer after another, and each keeps its load balancer and URL", {
  timeout: 3_600_000,
}, async () => {
  const balancers = Math.ceil(count / own);
  await open(balancers, own);
  const names = Array.from({ length: count }, (_, at) => `app-${at}`);
  const urls = new Map<string, string>();
  for (const name of names) urls.set(name, await deploy(name));
  expect([...urls.values()].map(numberIn)).toEqual(names.map((_, at) => Math.floor(at / own) + 1));
  const listed = (await run.platform.list(accountOf("acme")))._unsafeUnwrap();
  expect(new Map(listed.map(({ name, url }) => [name, url]))).toEqual(urls);
  for (const url of urls.values()) expect((await fetch(url)).status).toBe(200);

  const first = "app-0";
  const moving = `app-${own}`;
  await remove(first);
  expect(servingAt(urls.get(first) as string)).toBeUndefined();
  for (const name of [moving, `app-${count - 1}`]) {
    const url = urls.get(name) as string;
    const before = servingAt(url);
    expect(await deploy(name, await run.expectedOf(name))).toBe(url);
    expect(servingAt(url)).not.toBe(before);
  }
  // The free place is for the next new deployment.
  expect(numberIn(await deploy("newest"))).toBe(1);
  expect(numberIn(await deploy("one-more"))).toBe(balancers === count / own ? 1 : balancers);
  await remove(moving);
  expect(servingAt(urls.get(moving) as string)).toBeUndefined();
  const taken = balancers * (PER_BALANCER - own);
  expect(run.balancer.groups()).toHaveLength(taken + count);
  expect(run.balancer.rules()).toHaveLength(taken + count);
});

test("concurrent deploys do not all take the last place", async () => {
  await open(3, 2);
  const names = ["a", "b", "c", "d", "e", "f"];
  await Promise.all(names.map((name) => deploy(name)));
  const numbers = await Promise.all(names.map(async (name) => numberIn((await run.serviceOf(name)).url)));
  expect(numbers.toSorted()).toEqual([1, 1, 2, 2, 3, 3]);
});

test("two servers that take the last place both succeed, and their deployments stay", async () => {
  await open(2, 1);
  const servers = [run.replica(), run.replica()];
  const ends = await Promise.all(
    servers.map((by, at) => run.rollOut(run.template(`app-${at}`), "absent", { by }).then((events) => events.at(-1))),
  );
  expect(ends).toEqual([expect.objectContaining({ kind: "ready" }), expect.objectContaining({ kind: "ready" })]);
  for (const name of ["app-0", "app-1"]) {
    const { url } = await run.serviceOf(name);
    expect(await deploy(name, await run.expectedOf(name))).toBe(url);
    expect((await fetch(url)).status).toBe(200);
  }
});

test("two servers that deploy the same new name choose one load balancer", async () => {
  await open(2, 1);
  const servers = [run.replica(), run.replica()];
  const ends = await Promise.all(
    servers.map((by) => run.rollOut(run.template("app"), "absent", { by }).then((events) => events.at(-1)?.kind)),
  );
  expect(ends.toSorted()).toEqual(["failed", "ready"]);
  expect(run.balancer.groups()).toHaveLength(2 * (PER_BALANCER - 1) + 1);
});

test("a deployment whose load balancer is missing from the stack cannot be read or changed, and the error names it", async () => {
  await open(2, 1);
  await deploy("here");
  await deploy("there");
  const shared = { ...run.config.shared, moreListenerArns: [] };
  const smaller = run.replica({}, { ...run.config, shared });
  const expected = await run.expectedOf("there");
  const missing = "'there' uses load balancer 2, which is missing";
  expect((await smaller.find(nameOf("there")))._unsafeUnwrapErr().message).toContain(missing);
  expect((await smaller.remove(nameOf("there"), expected))._unsafeUnwrapErr().message).toContain(missing);
  expect((await run.rollOut(run.template("there"), expected, { by: smaller })).at(-1)).toMatchObject({
    failure: { reason: "provider_unavailable", message: expect.stringContaining(missing) },
  });
  expect((await smaller.find(nameOf("here"))).isOk()).toBe(true);
});

test("if every load balancer is full, the error names the stack's parameter", async () => {
  run = await openFakeEcs({ balancers: 2 });
  for (const index of [0, 1]) run.balancer.occupy(index, 100);
  expect(await run.endOf(run.template("app"), "absent")).toMatchObject({
    failure: { reason: "quota_exceeded", message: expect.stringContaining("MoreBalancers") },
  });
});
