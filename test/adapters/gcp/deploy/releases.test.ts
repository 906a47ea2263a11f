/** The releases of deployments on Cloud Run: their revisions, their images, and the effect of manual changes. */
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { imageAt, imageOf } from "../../../../adapters/gcp/deploy/build/names.ts";
import { annotationNames } from "../../../../adapters/gcp/deploy/record.ts";
import {
  RELEASE,
  RELEASES,
  releaseIndexSchema,
  releasesIn,
  renderRevisionRecord,
} from "../../../../adapters/gcp/deploy/releases/release-record.ts";
import { release } from "../../../arbitraries/releases.ts";
import { messages } from "../../../fakes/gcp/grpc.ts";
import { config } from "../../../fakes/gcp/run/world.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";
import { type FakeCloudRun, openFakeCloudRun } from "../../../support/providers/cloud-run-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

const acme = accountOf("acme");

let run: FakeCloudRun;
beforeEach(async () => {
  run = await openFakeCloudRun({}, undefined, { releasesKept: 2 });
});
afterEach(() => run.close());

/** Pushes an image of the account, and returns its reference by digest. */
const imageOfSource = (source: string): string => {
  const digest = run.registry.push(imageOf(config, acme, `sha256:${source}`), "hello");
  return imageAt(config, acme, digest);
};

const deployed = async (name: string, image: string): Promise<string> => {
  const found = (await run.platform.find(nameOf(name)))._unsafeUnwrap();
  const expected = found.kind === "held" ? await run.expectedOf(name) : "absent";
  const end = await run.endOf({ ...run.template(name), image }, expected);
  if (end?.kind !== "ready") throw new Error(JSON.stringify(end));
  return end.revision;
};

const releasesOf = async (name: string) =>
  (await run.platform.releases?.({ name: nameOf(name), owner: acme }))?._unsafeUnwrap() ?? [];

const revisionsOf = (name: string): string[] => run.run.revisions(name).map(({ id }) => id);

/** The tags that keep an image, except the tags of builds. */
const keptFor = (image: string): string[] => run.registry.tagsOf(image).filter((tag) => tag.startsWith("keep-"));

test("a release survives rendering, sending and parsing", () => {
  const wire = messages("@google-cloud/run");
  fc.assert(
    fc.property(release(), (one) => {
      const { release: number, revision, uid, createdAt: at, template } = one;
      const sent = { annotations: renderRevisionRecord(revision, template, one) };
      const { annotations } = wire.received("google.cloud.run.v2.RevisionTemplate", sent);
      const index = releaseIndexSchema.parse({ newest: number, served: [{ release: number, revision, at }] });
      expect(releasesIn(index, uid, [{ id: revision, annotations }], new Map())).toStrictEqual([one]);
    }),
    runs(200),
  );
});

test("deletes the revisions beyond the kept releases, including revisions of failed rollouts", async () => {
  const first = await deployed("app", imageOfSource("a1"));
  const refused = { reason: "volume_unavailable", message: "The volume was deleted." } as const;
  await run.rollOut(run.template("app"), await run.expectedOf("app"), { mayServe: async () => refused });
  const [, failed] = revisionsOf("app");
  const second = await deployed("app", imageOfSource("a2"));
  expect(revisionsOf("app")).toEqual([first, second]);
  expect(failed).not.toBe(second);
  const third = await deployed("app", imageOfSource("a3"));
  expect(revisionsOf("app")).toEqual([second, third]);
  expect((await releasesOf("app")).map((one) => [one.release, one.revision])).toEqual([
    [3, third],
    [2, second],
  ]);
});

test("does not delete a revision that has a tag or was created by hand", async () => {
  const tagged = await deployed("app", imageOfSource("a1"));
  await run.run.edit("app", (wanted) => {
    wanted.traffic.push({ type: "TRAFFIC_TARGET_ALLOCATION_TYPE_REVISION", revision: tagged, percent: 0, tag: "old" });
    wanted.template.revision = "app-by-hand";
  });
  for (const source of ["a2", "a3", "a4"]) await deployed("app", imageOfSource(source));
  expect((await releasesOf("app")).map((one) => one.release)).toEqual([4, 3]);
  const revisions = revisionsOf("app");
  expect(revisions.slice(0, 2)).toEqual([tagged, "app-by-hand"]);
  expect(revisions).toHaveLength(4);
  expect((await releasesOf("app")).map((one) => one.revision)).toEqual(revisions.slice(2).reverse());
});

test("each rollout deletes a few revisions until only the kept ones are left", async () => {
  const image = imageOfSource("a");
  const rollOutKeeping = async (releasesKept: number): Promise<number> => {
    const expected = run.run.names().length === 0 ? "absent" : await run.expectedOf("app");
    await run.rollOut({ ...run.template("app"), image }, expected, { by: run.replicaWith({ releasesKept }) });
    return revisionsOf("app").length;
  };
  const counts: number[] = [];
  for (const kept of [7, 7, 7, 7, 7, 7, 7, 1, 1, 1]) counts.push(await rollOutKeeping(kept));
  expect(counts).toEqual([1, 2, 3, 4, 5, 6, 7, 5, 3, 1]);
});

test("clean-up policies keep the images of the kept releases, and a release without its image is pruned", async () => {
  const [one, two, three] = [imageOfSource("a1"), imageOfSource("a2"), imageOfSource("a3")];
  for (const image of [one, two, three]) await deployed("app", image);
  await deployed("app-2", one);
  expect(keptFor(one)).toEqual([expect.stringMatching(/^keep-app-2-[0-9a-f]{64}$/)]);
  expect(keptFor(two)).toEqual([expect.stringMatching(/^keep-app-[0-9a-f]{64}$/)]);
  run.registry.cleanUp("keep-");
  expect((await releasesOf("app")).map(({ template, hasImage }) => [template.image, hasImage])).toEqual([
    [three, true],
    [two, true],
  ]);
  run.registry.cleanUp("keep-app-2-");
  expect((await releasesOf("app")).map(({ hasImage }) => hasImage)).toEqual([false, false]);
  expect((await releasesOf("app-2")).map(({ hasImage }) => hasImage)).toEqual([true]);
});

test("without access to Artifact Registry, the releases are listed as if their images existed", async () => {
  await deployed("app", imageOfSource("a1"));
  run.registry.cleanUp("none");
  run.registry.faults.inject({ nth: 1, kind: "permission_denied" });
  expect((await releasesOf("app")).map(({ hasImage }) => hasImage)).toEqual([true]);
  expect((await releasesOf("app")).map(({ hasImage }) => hasImage)).toEqual([false]);
});

test("an image whose tag was removed by hand is not pruned, and the next rollout tags it again", async () => {
  const image = imageOfSource("a1");
  await deployed("app", image);
  const client = await run.clients("registry");
  const [tag] = keptFor(image);
  const version = image.split("/").at(-1)?.split("@")[0];
  const parent = `projects/test-project/locations/europe-west1/repositories/portside/packages/${version}`;
  await client.deleteTag({ name: `${parent}/tags/${tag}` });
  expect((await releasesOf("app")).map(({ hasImage }) => hasImage)).toEqual([true]);
  await deployed("app", image);
  expect(keptFor(image)).toEqual([tag]);
});

test("deleting a deployment removes the tags of its images, and a later one starts at release 1 with a new uid", async () => {
  const image = imageOfSource("a1");
  await deployed("app", image);
  await deployed("app", image);
  const [before] = await releasesOf("app");
  expect(before?.release).toBe(2);
  const expected = (await run.expectedOf("app")) as Exclude<Awaited<ReturnType<typeof run.expectedOf>>, "absent">;
  (await run.platform.remove(nameOf("app"), expected))._unsafeUnwrap();
  expect(keptFor(image)).toEqual([]);
  await deployed("app", image);
  const [after, ...others] = await releasesOf("app");
  expect(others).toEqual([]);
  expect(after?.release).toBe(1);
  expect(after?.uid).not.toBe(before?.uid);
});

test("a failed clean-up does not fail the rollout, and the next rollout completes it", async () => {
  await deployed("app", imageOfSource("a1"));
  await deployed("app", imageOfSource("a2"));
  run.registry.faults.inject({ nth: 1, kind: "permission_denied" });
  const image = imageOfSource("a3");
  await deployed("app", image);
  expect(keptFor(image)).toEqual([]);
  expect(revisionsOf("app")).toHaveLength(3);
  expect(run.logged).toContainEqual(expect.stringContaining("could not clean up after a rollout"));
  run.registry.faults.clear();
  await deployed("app", image);
  expect(keptFor(image)).toHaveLength(1);
  expect(revisionsOf("app")).toHaveLength(2);
});

/** Calls `before` when a clean-up reads the tags for the first time. */
const beforeCleanUp = async (before: () => Promise<unknown>): Promise<void> => {
  const client = await run.clients("registry");
  const { listTags } = client;
  const meddling = async (...args: unknown[]) => {
    Object.assign(client, { listTags });
    await before();
    return (listTags as (...args: unknown[]) => unknown).apply(client, args);
  };
  Object.assign(client, { listTags: meddling });
};

test("a slow clean-up keeps the image of a newer release that another server has rolled out", async () => {
  for (const source of ["a1", "a2"]) await deployed("app", imageOfSource(source));
  const newest = imageOfSource("a4");
  await beforeCleanUp(async () => {
    const by = run.replicaWith({ releasesKept: 2 });
    const template = { ...run.template("app"), image: newest };
    expect((await run.endOf(template, await run.expectedOf("app"), { by }))?.kind).toBe("ready");
  });
  await deployed("app", imageOfSource("a3"));
  expect((await releasesOf("app")).map((one) => one.release)).toEqual([4, 3]);
  expect(keptFor(newest)).toHaveLength(1);
});

test("a deployment that another server creates during the clean-up of a removal keeps its image", async () => {
  const image = imageOfSource("a1");
  await deployed("app", image);
  const expected = (await run.expectedOf("app")) as Exclude<Awaited<ReturnType<typeof run.expectedOf>>, "absent">;
  await beforeCleanUp(() => deployed("app", image));
  (await run.platform.remove(nameOf("app"), expected))._unsafeUnwrap();
  expect(keptFor(image)).toHaveLength(1);
});

test("a revision from a version without releases is release 1 until a rollout replaces its record", async () => {
  const legacy = await deployed("app", imageOfSource("a1"));
  await run.run.edit("app", (wanted) => {
    delete wanted.annotations[RELEASES];
  });
  for (const { template } of run.run.revisions("app")) delete template.annotations[RELEASE];
  const [first] = await releasesOf("app");
  expect(first).toMatchObject({ release: 1, revision: legacy, createdBy: { kind: "platform" }, sourceDigest: null });
  const second = await deployed("app", imageOfSource("a2"));
  expect((await releasesOf("app")).map((one) => [one.release, one.revision])).toEqual([
    [2, second],
    [1, legacy],
  ]);
});

test("a revision that another server of an earlier version rolled out is the newest release", async () => {
  const first = await deployed("app", imageOfSource("a1"));
  const second = await deployed("app", imageOfSource("a2"));
  await run.run.edit("app", (wanted) => {
    const index = JSON.parse(wanted.annotations[RELEASES]);
    wanted.annotations[RELEASES] = JSON.stringify({ newest: 1, served: index.served.slice(1) });
  });
  for (const { id, template } of run.run.revisions("app")) if (id === second) delete template.annotations[RELEASE];
  expect((await releasesOf("app")).map((one) => [one.release, one.revision])).toEqual([
    [2, second],
    [1, first],
  ]);
  const third = await deployed("app", imageOfSource("a3"));
  expect((await releasesOf("app")).map((one) => [one.release, one.revision])).toEqual([
    [3, third],
    [2, second],
  ]);
});

test("a service does not count as Portside's after a manual edit has broken its list of releases", async () => {
  await deployed("app", imageOfSource("a1"));
  await run.run.edit("app", (wanted) => {
    wanted.annotations[RELEASES] = "{";
  });
  expect((await run.platform.find(nameOf("app")))._unsafeUnwrap().kind).toBe("reserved");
  expect(run.run.stored("app")?.annotations[annotationNames.state]).toBeDefined();
});
