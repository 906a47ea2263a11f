/** A sweep removes unused images, but never those of a deployment or of a running deploy. */
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { awsCalls } from "../../../../../adapters/aws/call-policy.ts";
import { clientSource } from "../../../../../adapters/aws/clients.ts";
import { tagOf } from "../../../../../adapters/aws/deploy/build/names.ts";
import { createImageMarks } from "../../../../../adapters/aws/deploy/images/image-marks.ts";
import { createImageRetention } from "../../../../../adapters/aws/deploy/images/image-retention.ts";
import { keepTagOf } from "../../../../../adapters/aws/deploy/images/references.ts";
import { type HeldRecord, renderRecord } from "../../../../../adapters/aws/deploy/records/record.ts";
import { type StateBucket, stateBucket } from "../../../../../adapters/aws/state/state-bucket.ts";
import { randomIds } from "../../../../../adapters/shared/runtime/system.ts";
import type { ServiceTemplate } from "../../../../../core/domain/deploy/service-template.ts";
import { instantOfMillis, millisOf } from "../../../../../core/domain/wire/instant.ts";
import type { BuildRequest, ImageBuilder } from "../../../../../core/ports/image-builder.ts";
import { okAsync } from "../../../../../core/result.ts";
import { serviceTemplate } from "../../../../arbitraries/index.ts";
import { sourceFrom } from "../../../../clouds/builds.ts";
import { collect, expectOk, templateFor } from "../../../../contracts/support.ts";
import { startFakeRegistry } from "../../../../fakes/aws/ecr/registry.ts";
import { startStateBucket } from "../../../../fakes/aws/ecs/state-bucket.ts";
import { awsConfig, REGION, STATE_BUCKET } from "../../../../fakes/aws/test-config.ts";
import { accountOf, nameOf } from "../../../../support/http/brands.ts";
import { recordingLogger } from "../../../../support/logs/silent-logger.ts";
import { runs } from "../../../../support/vitest/runs.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 5, 1);
const DAYS = awsConfig.imageRetentionDays;
let millis = START;
const clock = {
  now: () => instantOfMillis(millis),
  sleep: async (ms: number) => {
    millis += ms;
  },
};
const { logger, logged } = recordingLogger();
const runtime = { clock, ids: randomIds, logger, random: () => 0.5 };

let registry: Awaited<ReturnType<typeof startFakeRegistry>>;
let state: Awaited<ReturnType<typeof startStateBucket>>;
let clients: ReturnType<typeof clientSource>;
let bucket: StateBucket;
beforeAll(async () => {
  registry = await startFakeRegistry(awsConfig.shared.repository);
  state = await startStateBucket(STATE_BUCKET);
  clients = clientSource(REGION, { registry: registry.client, s3: state.client });
  bucket = stateBucket(STATE_BUCKET, clients, awsCalls(runtime));
});
beforeEach(() => {
  millis = START;
});
afterAll(async () => {
  await registry.close();
  await state.close();
});

let tags = 0;
const newTag = (): string => tagOf(accountOf("acme"), `sha256:${++tags}`);
const imageOf = (tag: string): string => `${registry.uri}:${tag}`;
const retention = () => createImageRetention(awsConfig, clients, runtime);
const marks = () => createImageMarks(bucket, clock);
const daysAgo = (days: number): number => START - days * DAY_MS;

const recordOf = (
  attempted: ServiceTemplate,
  former: readonly ServiceTemplate[],
  released: readonly string[] = [],
): HeldRecord => ({
  kind: "held",
  uid: "uid",
  createdAt: "",
  balancer: 0,
  state: { write: "w", at: "", revision: "r", step: "moving", until: "" },
  attempted,
  former: former.map((template, index) => ({ id: `old${index}`, template })),
  retired: [],
  released: released.length,
  releases: released.map((image, index) => ({ release: index + 1, revision: `old${index}`, image, at: null })),
  removing: null,
  lastDeploy: null,
});

const markTexts = {
  none: undefined,
  old: { state: "used", at: daysAgo(DAYS) },
  fresh: { state: "used", at: daysAgo(DAYS) + 1 },
  removing: { state: "removing", until: START + 1000 },
  abandoned: { state: "removing", until: START - 1 },
  removed: { state: "removed" },
};
const MAX_IMAGES = 5;
const scenario = fc.record({
  template: serviceTemplate(),
  /** Images with the same number have the same bytes. */
  images: fc.array(
    fc.record({
      bytes: fc.nat({ max: 2 }),
      use: fc.constantFrom("attempted", "former", "released", "none" as const),
      mark: fc.constantFrom(...(Object.keys(markTexts) as (keyof typeof markTexts)[])),
    }),
    { minLength: 1, maxLength: MAX_IMAGES },
  ),
  ages: fc.tuple(...[0, 1, 2].map(() => fc.constantFrom(DAYS - 1, DAYS, DAYS + 100))),
});

/** Checks that a sweep removes exactly the images that are old, unused and not marked. */
const removesUnused = (render: (record: HeldRecord) => string) =>
  fc.asyncProperty(scenario, async ({ template, images, ages }) => {
    millis = START;
    registry.clear();
    const made = images.map((one) => ({ ...one, tag: newTag(), age: ages[one.bytes] as number }));
    for (const { tag, bytes, age, mark } of made) {
      registry.push(imageOf(tag), `bytes ${bytes}`, daysAgo(age));
      if (markTexts[mark] !== undefined) state.edit(`images/${tag}.json`, JSON.stringify(markTexts[mark]));
    }
    const using = (use: string) =>
      made.filter((one) => one.use === use).map(({ tag }) => ({ ...template, image: imageOf(tag) }));
    const former = using("former");
    const released = using("released").map(({ image }) => image);
    const records = [template, ...using("attempted")].map((one, index) =>
      index === 0 ? recordOf(one, former, released) : recordOf(one, []),
    );
    for (let index = 0; index <= MAX_IMAGES; index++) {
      const record = records[index];
      state.edit(`services/app-${index}.json`, record === undefined ? "{}" : render(record));
    }
    await expectOk(retention().sweep());
    const kept = made.filter(
      ({ use, age, mark }) => use !== "none" || age < DAYS || mark === "fresh" || mark === "removing",
    );
    expect(registry.tags()).toEqual(kept.map(({ tag }) => tag).sort());
  });

test("keeps the images of all kept revisions, and removes the other old ones", async () => {
  await fc.assert(removesUnused(renderRecord), runs(20));
});

test("the property detects a sweep that ignores former revisions", async () => {
  const { failed } = await fc.check(
    removesUnused((record) => renderRecord({ ...record, former: [] })),
    { numRuns: 100, endOnFailure: true },
  );
  expect(failed).toBe(true);
});

test("the property detects a sweep that ignores releases", async () => {
  const { failed } = await fc.check(
    removesUnused((record) => renderRecord({ ...record, releases: [] })),
    { numRuns: 100, endOnFailure: true },
  );
  expect(failed).toBe(true);
});

test("keeps all tags of an image that a template names by digest", async () => {
  const [used, unused] = [newTag(), newTag()];
  for (const tag of [used, unused]) registry.push(imageOf(tag), `bytes of ${tag}`, daysAgo(DAYS + 1));
  const template = templateFor(accountOf("acme"), nameOf("app"), registry.byDigest(`bytes of ${used}`));
  state.edit("services/app.json", renderRecord(recordOf(template, [])));
  await expectOk(retention().sweep());
  expect(registry.tags()).toContain(used);
  expect(registry.tags()).not.toContain(unused);
});

test("removes the images of releases beyond the setting", async () => {
  const images = Array.from({ length: awsConfig.releasesKept + 1 }, () => newTag());
  for (const tag of images) registry.push(imageOf(tag), tag, daysAgo(DAYS + 1));
  const template = templateFor(accountOf("acme"), nameOf("app"), "another image");
  const released = images.map((tag) => registry.byDigest(tag));
  state.edit("services/app.json", renderRecord(recordOf(template, [], released)));
  await expectOk(retention().sweep());
  expect(registry.tags()).toEqual(expect.arrayContaining(images.slice(1)));
  expect(registry.tags()).not.toContain(images[0]);
});

test("keeps the images in a record that this version cannot read", async () => {
  const [tag, other] = [newTag(), newTag()];
  for (const one of [tag, other]) registry.push(imageOf(one), one, daysAgo(DAYS + 1));
  state.edit(
    "services/app.json",
    JSON.stringify({ version: "portside/v9", images: [imageOf(tag), registry.byDigest(other)] }),
  );
  await expectOk(retention().sweep());
  expect(registry.tags()).toEqual(expect.arrayContaining([tag, other]));
});

test("leaves tags that are not Portside's", async () => {
  registry.push(imageOf("latest"), "by hand", daysAgo(DAYS + 1));
  await expectOk(retention().sweep());
  expect(registry.tags()).toContain("latest");
});

test("keeps an image that a deploy begins to use after the sweep has read its mark", async () => {
  const tag = newTag();
  const late: StateBucket = {
    ...bucket,
    get: (key, retry) =>
      bucket.get(key, retry).andThen((found) =>
        marks()
          .use(tag)
          .map(() => found),
      ),
  };
  let removed = false;
  const remove = () => {
    removed = true;
    return okAsync<void>(undefined);
  };
  expect(await expectOk(createImageMarks(late, clock).removeUnused(tag, daysAgo(1), remove))).toBe(false);
  expect(removed).toBe(false);
});

test("a deploy waits until a removal of its image has ended or expired", async () => {
  const tag = newTag();
  const order: string[] = [];
  let using: PromiseLike<unknown> | undefined;
  const waiting = { ...clock, sleep: async () => new Promise<void>((resolve) => setTimeout(resolve, 5)) };
  const remove = () => {
    using = createImageMarks(bucket, waiting)
      .use(tag)
      .then(() => order.push("used"));
    return okAsync<void>(undefined).map(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      order.push("removed");
    });
  };
  expect(await expectOk(marks().removeUnused(tag, daysAgo(1), remove))).toBe(true);
  await using;
  expect(order).toEqual(["removed", "used"]);
  state.edit(`images/${tag}.json`, JSON.stringify({ state: "removing", until: START + 5000 }));
  await expectOk(marks().use(tag));
  expect(millis).toBeGreaterThanOrEqual(START + 5000);
});

const request: BuildRequest = {
  owner: accountOf("acme"),
  name: nameOf("app"),
  deployId: "d",
  source: sourceFrom(Buffer.from("source")),
};
const markedAs = (): unknown => {
  const key = `images/${tagOf(request.owner, request.source.digest)}.json`;
  return JSON.parse(String(state.objects.get(key)?.bytes ?? "null"));
};
const builder: ImageBuilder = {
  build: async function* () {
    yield { kind: "built", image: JSON.stringify(markedAs()) };
  },
};

test("marks an image before its build, and sweeps once a day", async () => {
  const kept = retention();
  const old = newTag();
  const build = async () => {
    registry.push(imageOf(old), old, daysAgo(DAYS + 1));
    const events = await collect(kept.keepUsed(builder).build(request));
    await kept.idle();
    return events;
  };
  expect(await build()).toEqual([{ kind: "built", image: JSON.stringify({ state: "used", at: START }) }]);
  expect(registry.tags()).not.toContain(old);
  expect(logged.join()).toContain("removed unused images");
  millis += DAY_MS - 1;
  await build();
  expect(registry.tags()).toContain(old);
  millis += 1;
  await build();
  expect(registry.tags()).not.toContain(old);
  expect(millisOf(clock.now())).toBe(START + DAY_MS);
});

const buildOf = (image: string): ImageBuilder => ({
  build: async function* () {
    yield { kind: "built", image };
  },
});

test("returns the image of a build by a tag with its digest", async () => {
  const tag = newTag();
  registry.push(imageOf(tag), "built");
  const events = await collect(
    retention()
      .keepUsed(buildOf(imageOf(tag)))
      .build(request),
  );
  expect(events).toEqual([{ kind: "built", image: imageOf(keepTagOf(request.owner, registry.byDigest("built"))) }]);
});

test("without access to the repository, a build fails", async () => {
  const tag = newTag();
  registry.push(imageOf(tag), "built");
  const kept = retention();
  await collect(kept.keepUsed(buildOf("image")).build(request));
  await kept.idle();
  registry.faults.inject({ method: "BatchGetImage", nth: 1, kind: "permission_denied" });
  const events = await collect(kept.keepUsed(buildOf(imageOf(tag))).build(request));
  expect(events).toEqual([{ kind: "failed", failure: expect.objectContaining({ reason: "permission" }) }]);
});

test("without access to the state bucket, a build fails before it starts", async () => {
  state.faults.inject({ method: "GetObject", nth: 1, kind: "permission_denied" });
  const events = await collect(retention().keepUsed(builder).build(request));
  expect(events).toEqual([{ kind: "failed", failure: expect.objectContaining({ reason: "permission" }) }]);
});

test("passes an aborted build on to the builder", async () => {
  const events = await collect(retention().keepUsed(builder).build(request, { signal: AbortSignal.abort() }));
  expect(events.map(({ kind }) => kind)).toEqual(["built"]);
});
