/** Releases of the local provider, with real services: rollbacks, restarts and the clean-up of images. */
import { lutimesSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backupDataFolder, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { testOrigin } from "../../../contracts/support.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");
const source = (text: string) => nodeSource(helloServer(text));

const releases = async ({ controlPlane }: TestPlatform) =>
  (await controlPlane.listReleases(acme, { name: "app" }))._unsafeUnwrap().releases;

const statuses = async (platform: TestPlatform) =>
  (await releases(platform)).map(({ release, status }) => `${release} ${status}`);

const rollback = async ({ controlPlane }: TestPlatform, release?: number) => {
  const run = (await controlPlane.rollback(acme, { name: "app", release }))._unsafeUnwrap();
  const records = await Array.fromAsync(run.follow());
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  expect(records.map(({ status }) => status)).not.toContain("BUILDING");
  return (await fetch(records.at(-1)?.url as string)).text();
};

/** Makes every image older than all grace periods of the clean-up. */
const ageImages = (dataDir: string): void => {
  const root = join(dataDir, "images");
  const old = new Date(Date.now() - 30 * 86_400_000);
  for (const owner of readdirSync(root))
    for (const key of readdirSync(join(root, owner))) lutimesSync(join(root, owner, key, "image.json"), old, old);
};

const images = (dataDir: string): number =>
  readdirSync(join(dataDir, "images")).flatMap((owner) => readdirSync(join(dataDir, "images", owner))).length;

test("a rollback serves the earlier release again, and releases survive a restart", async () => {
  using folder = folderWith();
  let before: Awaited<ReturnType<typeof releases>>;
  {
    await using platform = await startLocalIn(folder.path);
    await platform.up(source("first"), { env: { COLOUR: "red" }, message: "First" });
    await platform.up(source("second"), { env: { COLOUR: "blue" } });
    expect(await rollback(platform)).toBe("first");
    before = await releases(platform);
    expect(before.map(({ release, rolled_back_to, status }) => [release, rolled_back_to, status])).toEqual([
      [3, 1, "serving"],
      [2, null, "replaced"],
      [1, null, "replaced"],
    ]);
    expect(before[0]?.declaration.env).toEqual(before[2]?.declaration.env);
    expect(before[0]?.declaration.env).not.toEqual(before[1]?.declaration.env);
  }
  await using platform = await startLocalIn(folder.path);
  expect(await releases(platform)).toEqual(before);
  expect(await rollback(platform, 2)).toBe("second");
});

test("keeps the images of kept releases, and prunes and removes older ones", async () => {
  using folder = folderWith();
  const open = () => startLocalIn(folder.path, { releasesKept: 2 });
  {
    await using platform = await open();
    for (const text of ["first", "second", "third"]) await platform.up(source(text));
    expect(await statuses(platform)).toEqual(["3 serving", "2 replaced", "1 pruned"]);
    expect(images(folder.path)).toBe(3);
  }
  ageImages(folder.path);
  await using platform = await open();
  expect(images(folder.path)).toBe(2);
  expect(await statuses(platform)).toEqual(["3 serving", "2 replaced", "1 pruned"]);
  const refused = (await platform.controlPlane.rollback(acme, { name: "app", release: 1 }))._unsafeUnwrapErr();
  expect(refused).toMatchObject({
    kind: "conflict",
    message: "The image of release 1 was pruned. Roll back to release 2, or deploy the source of release 1 again.",
  });
  expect(await rollback(platform)).toBe("second");
});

test("a backup contains what a rollback needs, and deleting a deployment deletes its releases", async () => {
  using folder = folderWith();
  const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  {
    await using platform = await startLocalIn(data);
    for (const text of ["first", "second"]) await platform.up(source(text));
    await backupDataFolder({ dataDir: data, file });
  }
  await restoreDataFolder({ file, dataDir: restored });
  await using platform = await startLocalIn(restored);
  expect(await rollback(platform)).toBe("first");
  (await platform.controlPlane.deleteDeployment(acme, { name: "app" }))._unsafeUnwrap();
  await platform.up(source("again"));
  expect(await statuses(platform)).toEqual(["4 serving"]);
});

test("a rollout ends with `superseded` and records nothing if another one overtakes it", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  await platform.up(source("first"));
  const { services } = platform.local.provider;
  const rollOut = async (timeout: number, mayServe: () => Promise<undefined>) => {
    const [service] = (await services.list(acme.account))._unsafeUnwrap();
    if (service === undefined) throw new Error("nothing was deployed");
    const template = { ...service.attempted, timeout };
    const expected = { etag: service.etag, owner: service.owner };
    const request = { template, expected, origin: testOrigin, listenDeadlineMs: 60_000, mayServe };
    return (await Array.fromAsync(services.rollout(request))).at(-1);
  };
  const overtaken = await rollOut(31, async () => {
    expect(await rollOut(32, async () => undefined)).toMatchObject({ kind: "ready" });
    return undefined;
  });
  expect(overtaken).toMatchObject({ kind: "failed", failure: { reason: "superseded" } });
  expect((await releases(platform)).map(({ declaration }) => declaration.timeout)).toEqual([32, 600]);
});
