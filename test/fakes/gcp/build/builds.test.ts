/** The fakes of Cloud Build, Artifact Registry and IAM, as seen by Google's own clients. */

import type { CloudBuildClient } from "@google-cloud/cloudbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFakeEngine } from "../../engine/engine.ts";
import { openRunWorld, type RunWorld, STAGING } from "../run/world.ts";
import { PROJECT, REGION } from "../test-project.ts";

const parent = `projects/${PROJECT}/locations/${REGION}`;
const IMAGE = `${REGION}-docker.pkg.dev/${PROJECT}/r/folder/app:one`;

let world: RunWorld;
let client: CloudBuildClient;
let hold: PromiseWithResolvers<void> | undefined;
beforeAll(async () => {
  world = await openRunWorld({
    engine: async (onLine) => ({
      ...(await createFakeEngine(onLine)),
      build: async (_archive, say) => {
        say("building");
        await hold?.promise;
        return { image: "hello" };
      },
    }),
  });
  const { world: objects } = world.storage;
  objects.putObject(objects.bucket(STAGING), { name: "source.tar.gz", bytes: Buffer.from("source") });
  client = await world.clients("builds");
});
afterAll(() => world.close());

const code = async (work: Promise<unknown>): Promise<number | string> =>
  work.then(
    () => 0,
    (error: { code: number }) => error.code,
  );

const request = (more: object = {}, object = "source.tar.gz") => ({
  parent,
  projectId: PROJECT,
  build: {
    source: { storageSource: { bucket: STAGING, object } },
    steps: [{ name: "gcr.io/k8s-skaffold/pack" }],
    images: [IMAGE],
    logsBucket: `gs://${STAGING}/logs`,
    serviceAccount: "projects/p/serviceAccounts/b@p.iam.gserviceaccount.com",
    options: { logging: "GCS_ONLY" as const },
    tags: ["mark"],
    ...more,
  },
});

const started = async (...args: Parameters<typeof request>): Promise<string> => {
  const [operation] = await client.createBuild(request(...args));
  return (operation.metadata as unknown as { build: { id: string } }).build.id;
};

const ended = async (id: string) => {
  for (;;) {
    const [build] = await client.getBuild({ projectId: PROJECT, id, name: `${parent}/builds/${id}` });
    if (!["QUEUED", "WORKING"].includes(String(build.status))) return build;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

test("builds, writes the log to the bucket, and stores the image under its tag", async () => {
  const build = await ended(await started());
  expect(build.status).toBe("SUCCESS");
  const log = world.storage.world.bucket(STAGING).objects.get(`logs/log-${build.id}.txt`)?.bytes.toString();
  expect(log).toContain("building\n");
  const registry = await world.clients("registry");
  const name = `${parent}/repositories/r/packages/folder%2Fapp/tags/one`;
  const [tag] = await registry.getTag({ name });
  expect(tag.version?.split("/").at(-1)).toBe(build.results?.images?.[0]?.digest);
  expect(await code(registry.getTag({ name: `${name}-none` }))).toBe(5);
});

test("finds a build by its tags, and cancels it while it runs", async () => {
  hold = Promise.withResolvers();
  const id = await started({ tags: ["held"] });
  const [found] = await client.listBuilds({ parent, projectId: PROJECT, filter: 'tags="held"' });
  expect(found.map((build) => build.id)).toEqual([id]);
  await client.cancelBuild({ projectId: PROJECT, id });
  hold.resolve();
  hold = undefined;
  expect((await ended(id)).status).toBe("CANCELLED");
  expect(await code(client.cancelBuild({ projectId: PROJECT, id }) as Promise<unknown>)).toBe(9);
});

test("a missing source fails with its code", async () => {
  expect(await ended(await started({}, "none"))).toMatchObject({
    status: "FAILURE",
    failureInfo: { type: "FETCH_SOURCE_FAILED" },
  });
});

test("a custom identity requires a custom log bucket", async () => {
  const given = { logsBucket: "", options: { logging: "LEGACY" } };
  expect(await code(client.createBuild(request(given) as never))).toBe(3);
});

test("service accounts are created once, with a valid id, up to the quota", async () => {
  const auth = await world.clients("auth");
  const url = `https://iam.googleapis.com/v1/projects/${PROJECT}/serviceAccounts`;
  const create = (accountId: string) => auth.request({ url, method: "POST", data: { accountId }, retry: false });
  const status = async (work: Promise<unknown>) =>
    work.then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  expect(await status(create("runtime-one"))).toBe(200);
  expect(await status(create("runtime-one"))).toBe(409);
  expect(await status(create("short"))).toBe(400);
  const email = `runtime-one@${PROJECT}.iam.gserviceaccount.com`;
  expect(await status(auth.request({ url: `${url}/${email}`, retry: false }))).toBe(200);
  expect(await status(auth.request({ url: `${url}/none@x`, retry: false }))).toBe(404);
  world.iam.maxAccounts = 1;
  expect(await status(create("runtime-two"))).toBe(429);
});
