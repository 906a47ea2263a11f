/** Releases on AWS: their records after a crash, their images, and deployments of earlier versions. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { keepTagOf } from "../../../../adapters/aws/deploy/images/references.ts";
import type { StoredRelease } from "../../../../core/domain/deploy/releases/release.ts";
import { expectOk } from "../../../contracts/support.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

let run: FakeEcsPlatform;
beforeEach(async () => {
  run = await openFakeEcs();
});
afterEach(() => run.close());

const acme = accountOf("acme");
const app = { name: nameOf("app"), owner: acme };

const releases = async (by = run.platform): Promise<readonly StoredRelease[]> =>
  expectOk((by.releases as NonNullable<typeof by.releases>)(app));
const numbers = async () => (await releases()).map(({ release }) => release);
const deploy = async (timeout: number, image = run.image()) => {
  const state = await run.stateOf("app");
  const expected = state.kind === "held" ? await run.expectedOf("app") : "absent";
  return run.endOf(run.template("app", "acme", { timeout, image }), expected);
};
const remove = async () => expectOk(run.platform.remove(app.name, await run.expectedOf("app")));
const stored = (): string[] => [...run.state.objects.keys()].filter((key) => key.startsWith("releases/"));
const edit = (change: (record: Record<string, unknown>) => unknown): void => {
  const record = JSON.parse(String(run.state.objects.get("services/app.json")?.bytes));
  run.state.edit("services/app.json", JSON.stringify(change(record)));
};

/** Rolls out on a replica that dies before or after it sends the command. */
const dieAt = async (
  timeout: number,
  service: "balancer" | "s3",
  command: string,
  when: "before" | "after",
  nth = 1,
) => {
  const client = await run.clients(service);
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const reached = Promise.withResolvers<void>();
  let left = nth;
  Object.assign(client, {
    send: async (...args: unknown[]) => {
      const [sent] = args as [object];
      if (sent.constructor.name !== command || --left !== 0) return send(...args);
      if (when === "after") await send(...args);
      reached.resolve();
      return new Promise(() => undefined);
    },
  });
  const template = run.template("app", "acme", { timeout });
  void run.rollOut(template, await run.expectedOf("app"), { by: run.replica() });
  await reached.promise;
  Object.assign(client, { send });
};

test.each(["before", "after"] as const)(
  "a replica that dies %s it moves traffic leaves the release of the serving revision as the newest",
  async (when) => {
    await deploy(30);
    await dieAt(31, "balancer", "ModifyRuleCommand", when);
    for (const millis of [0, 10 * 60_000]) {
      await run.clock.sleep(millis);
      const [newest] = await releases();
      expect(newest?.revision).toBe((await run.serviceOf("app")).serving[0]?.id);
    }
    expect(await numbers()).toEqual(when === "before" ? [1] : [2, 1]);
    expect((await deploy(32))?.kind).toBe("ready");
    expect((await releases()).map(({ template }) => template.timeout)).toEqual(
      when === "before" ? [32, 30] : [32, 31, 30],
    );
    expect(await numbers()).toEqual(when === "before" ? [3, 1] : [3, 2, 1]);
    expect(stored()).toHaveLength(when === "before" ? 2 : 3);
  },
);

test("a rollout that fails before its traffic moves leaves no release and no object", async () => {
  await deploy(30);
  run.balancer.faults.inject({ method: "ModifyRule", nth: 1, kind: "permission_denied" });
  expect((await deploy(31))?.kind).toBe("failed");
  expect(await numbers()).toEqual([1]);
  expect(stored()).toHaveLength(1);
  expect((await deploy(32))?.kind).toBe("ready");
  expect(await numbers()).toEqual([3, 1]);
});

test("a rollout that stores its release after another one has superseded it leaves no object", async () => {
  await deploy(30);
  const expected = await run.expectedOf("app");
  const client = await run.clients("s3");
  const send = client.send.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const late = async (...args: unknown[]) => {
    const [{ input }] = args as [{ input: { Key?: string } }];
    if (input.Key?.startsWith("releases/")) {
      Object.assign(client, { send });
      expect((await deploy(32))?.kind).toBe("ready");
    }
    return send(...args);
  };
  Object.assign(client, { send: late });
  const end = await run.endOf(run.template("app", "acme", { timeout: 31 }), expected, { by: run.replica() });
  expect(end).toMatchObject({ failure: { reason: "superseded" } });
  expect((await releases()).map(({ template }) => template.timeout)).toEqual([32, 30]);
  expect(stored()).toHaveLength(2);
});

test("without access to the state bucket, no traffic moves", async () => {
  await deploy(30);
  const before = run.routed("app");
  const mayServe = async () => {
    run.state.faults.inject({ method: "PutObject", nth: 1, kind: "permission_denied" });
    return undefined;
  };
  const end = await run.endOf(run.template("app"), await run.expectedOf("app"), { mayServe });
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
  expect(run.routed("app")).toBe(before);
  expect(await numbers()).toEqual([1]);
});

test("a removal deletes the objects, and the numbers continue while the name is reserved", async () => {
  await deploy(30);
  await deploy(31);
  const [first] = await releases();
  await remove();
  expect(stored()).toEqual([]);
  expect(await releases()).toEqual([]);
  await deploy(32);
  expect(await releases()).toMatchObject([{ release: 3, uid: first?.uid }]);
  await remove();
  await run.clock.sleep(8 * 86_400_000);
  await deploy(33);
  expect(await numbers()).toEqual([1]);
  expect((await releases())[0]?.uid).not.toBe(first?.uid);
});

test("a deployment of an earlier version has one release, which a later deploy keeps", async () => {
  await deploy(30);
  edit(({ releases: _, released: __, ...earlier }) => earlier);
  for (const key of stored()) run.state.edit(key, "");
  const [first, ...others] = await releases();
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    release: 1,
    createdBy: { kind: "platform" },
    template: { timeout: 30 },
    hasImage: true,
  });
  expect((await deploy(31))?.kind).toBe("ready");
  const [newest, ...rest] = await releases();
  expect(newest).toMatchObject({ release: 2, template: { timeout: 31 } });
  expect(rest).toEqual([first]);
});

test("a name that an earlier version freed starts at release 1", async () => {
  await deploy(30);
  await remove();
  edit(({ uid: _, released: __, ...earlier }) => earlier);
  await deploy(31);
  expect(await numbers()).toEqual([1]);
});

test("drops the records beyond the limit, with their objects", async () => {
  await deploy(30);
  await deploy(31);
  edit((record) => ({ ...record, released: 101 }));
  await deploy(32);
  expect(await numbers()).toEqual([102]);
  expect(stored()).toHaveLength(1);
});

test("a release whose image was removed is pruned, and a rollout of it fails before it changes anything", async () => {
  await deploy(30, run.image("first"));
  await deploy(31);
  run.registry.remove("first");
  expect((await releases()).map(({ hasImage }) => hasImage)).toEqual([true, false]);
  const before = await run.serviceOf("app");
  expect(await deploy(30, run.registry.byDigest("first"))).toMatchObject({ failure: { reason: "image_not_found" } });
  expect(await run.serviceOf("app")).toEqual(before);
  expect(await numbers()).toEqual([2, 1]);
});

test("without access to ECR, the releases are listed as if their images existed", async () => {
  await deploy(30, run.image("first"));
  await deploy(31);
  run.registry.remove("first");
  run.registry.faults.inject({ method: "BatchGetImage", nth: 1, kind: "permission_denied" });
  expect((await releases()).map(({ hasImage }) => hasImage)).toEqual([true, true]);
  expect(run.logged).toContainEqual(expect.stringContaining("could not check which images of releases exist"));
  expect((await releases()).map(({ hasImage }) => hasImage)).toEqual([true, false]);
});

test("releases beyond the setting have no image", async () => {
  for (const [index, image] of ["a", "b", "c"].entries()) await deploy(30 + index, run.image(image));
  const two = run.replica({}, { ...run.config, releasesKept: 2 });
  expect((await releases(two)).map(({ hasImage }) => hasImage)).toEqual([true, true, false]);
  expect((await releases()).map(({ hasImage }) => hasImage)).toEqual([true, true, true]);
});

test("the image of a release survives when a second build moves its tag", async () => {
  const image = run.image("hello");
  await deploy(30, image);
  run.registry.push(`${run.registry.uri}:hello`, "rebuilt");
  run.registry.expireUntagged();
  expect(await releases()).toMatchObject([{ hasImage: true, template: { image } }]);
  expect(run.registry.tags()).toContain(keepTagOf(acme, image.slice(image.indexOf("@") + 1)));
});

test("all replicas compute the same digests, and another installation computes different ones", async () => {
  await run.rollOut(run.template("app", "acme", { env: { A: "one" } }), "absent");
  const [[mine], [other]] = await Promise.all([releases(run.replica()), releases(run.replica())]);
  expect(mine?.envDigests).toEqual(other?.envDigests);
  run.state.edit("keys/digests", "another key");
  const [elsewhere] = await releases(run.replica());
  expect(elsewhere?.envDigests["A"]).not.toBe(mine?.envDigests["A"]);
});
