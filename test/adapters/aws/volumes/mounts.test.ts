/**
 * Volumes as folders with S3 Files: created on first mount, limited to one account's services, deleted with the bucket.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { ownerDigits } from "../../../../adapters/aws/accounts/owner-digits.ts";
import type { AwsVolumes } from "../../../../adapters/aws/volumes/volume-store.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { account, data, deleteVolume, put } from "../../../clouds/volumes/steps.ts";
import { expectOk } from "../../../contracts/support.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { bucketOf, fake, files } from "./steps.ts";
import { volumesOver } from "./subject.ts";

const { shared } = awsConfig;

let owner: AccountId;
let volumes: AwsVolumes;
beforeEach(() => {
  for (const known of [files.fileSystems, files.mountTargets, files.accessPoints, files.zones]) known.clear();
  files.unknownRoles.clear();
  files.faults.clear();
  Object.assign(files, { looks: 1, maxFileSystems: 1000 });
  owner = account();
  volumes = volumesOver(fake, { clock: createLeapingClock(new Date().toISOString()), files: files.client });
});

const made = async (name = data) => (await expectOk(volumes.create(owner, name))).volume;
const placeOf = async (bucket: string, subPath?: string) =>
  (await volumes.mountable(bucket, subPath === undefined ? {} : { subPath }))._unsafeUnwrap();
const mounted = async (bucket: string) => (await placeOf(bucket))?.fileSystem;
const roleOf = (who: AccountId) => `arn:aws:iam::123456789012:role/portside-${ownerDigits(who)}`;

describe("a file system", () => {
  test("is created once, with a mount target in every subnet, for the account's own role only", async () => {
    const { id } = await made();
    const fileSystemArn = await mounted(id);
    expect(await mounted(id)).toBe(fileSystemArn);
    const [one, ...others] = files.fileSystems.values();
    expect([one?.arn, one?.bucket, one?.roleArn, others]).toEqual([
      fileSystemArn,
      `arn:aws:s3:::${id}`,
      shared.filesRoleArn,
      [],
    ]);
    expect(one?.tags).toContainEqual({ key: "portside-owner", value: ownerDigits(owner) });
    const targets = [...files.mountTargets.values()];
    expect(targets.map(({ subnetId }) => subnetId).sort()).toEqual([...shared.subnets].sort());
    expect(targets.every(({ securityGroups }) => securityGroups[0] === shared.filesSecurityGroup)).toBe(true);
    expect(one?.policy).toEqual({
      Version: "2012-10-17",
      Statement: [
        {
          Sid: "OwnServices",
          Effect: "Allow",
          Principal: { AWS: roleOf(owner) },
          Action: ["s3files:ClientMount", "s3files:ClientWrite", "s3files:ClientRootAccess"],
        },
      ],
    });
  });

  test("is created once for concurrent calls", async () => {
    const { id } = await made();
    const arns = await Promise.all([1, 2, 3].map(() => mounted(id)));
    expect(new Set(arns).size).toBe(1);
    expect([files.fileSystems.size, files.mountTargets.size]).toEqual([1, 2]);
  });

  test("has one mount target if two subnets share a zone", async () => {
    const { id } = await made();
    for (const subnet of shared.subnets) files.zones.set(subnet, "euw1-az1");
    await mounted(id);
    expect(files.mountTargets.size).toBe(1);
  });

  test("waits until it is available and until a new role is visible", async () => {
    const { id } = await made();
    files.looks = 5;
    files.unknownRoles.add(roleOf(owner));
    const waiting = volumes.mountable(id);
    while (files.faults.count("s3files.PutFileSystemPolicy") < 3) await new Promise(setImmediate);
    files.unknownRoles.clear();
    expect((await waiting).isOk()).toBe(true);
  });

  test("is unavailable, with a cause, if it never appears, fails, or exceeds a quota", async () => {
    files.looks = 100_000;
    const slow = await volumes.mountable((await made()).id);
    expect(slow._unsafeUnwrapErr().message).toContain("still creating");
    files.looks = 0;
    const { id } = await made("broken" as VolumeName);
    await mounted(id);
    for (const one of files.fileSystems.values()) one.status = "error";
    expect((await volumes.mountable(id))._unsafeUnwrapErr().message).toContain("the role cannot be assumed");
    files.maxFileSystems = 0;
    const full = await volumes.mountable((await made("full" as VolumeName)).id);
    expect(full._unsafeUnwrapErr().message).toContain("a quota");
  });

  test("is not awaited after an abort", async () => {
    files.looks = 100_000;
    const { id } = await made();
    const signal = AbortSignal.abort();
    const before = files.faults.log.length;
    expect((await volumes.mountable(id, { signal })).isErr()).toBe(true);
    expect(files.faults.log.length - before).toBeLessThan(3);
  });

  test.each(["unavailable", "resource_exhausted", "reply_lost"] as const)(
    "is created even if any single call fails with %s",
    async (kind) => {
      const { id } = await made();
      await mounted(id);
      const calls = files.faults.log.length;
      for (let nth = 1; nth <= calls; nth++) {
        files.fileSystems.clear();
        files.mountTargets.clear();
        files.accessPoints.clear();
        files.faults.clear();
        files.faults.inject({ nth, kind });
        await mounted(id);
        const sizes = [files.fileSystems.size, files.mountTargets.size, files.accessPoints.size];
        expect(sizes, `${kind} at call ${nth}`).toEqual([1, 2, 1]);
      }
    },
  );
});

describe("an access point", () => {
  test("lets services read and write as root, one per folder, for any number of concurrent calls", async () => {
    const { id } = await made();
    const folders = [undefined, "a", "a/b/c/d", undefined, "a"];
    const places = await Promise.all(folders.map((folder) => placeOf(id, folder)));
    const points = [...files.accessPoints.values()];
    expect(points.map(({ path }) => path).sort()).toEqual(["/", "/a", "/a/b/c/d"]);
    for (const { posixUser } of points) expect(posixUser).toEqual({ uid: 0, gid: 0 });
    const pathAt = (arn: string | undefined) => points.find((one) => one.arn === arn)?.path;
    expect(places.map((place) => pathAt(place?.accessPoint))).toEqual(["/", "/a", "/a/b/c/d", "/", "/a"]);
    expect(new Set(places.map((place) => place?.fileSystem)).size).toBe(1);
  });

  test("with a different identity, created by hand, is not used", async () => {
    const { id } = await made();
    await placeOf(id);
    const [own] = files.accessPoints.values();
    files.accessPoints.clear();
    const theirs = { ...(own as NonNullable<typeof own>), id: "fsap-theirs", arn: "theirs", token: "theirs" };
    files.accessPoints.set(theirs.id, { ...theirs, posixUser: { uid: 1000, gid: 1000 } });
    expect((await placeOf(id))?.accessPoint).not.toBe("theirs");
  });

  test.each(["a/b/c/d/e", `${"x".repeat(100)}`, "a*b", ".hidden", "a/.b"])(
    "does not exist for '%s'",
    async (folder) => {
      const { id } = await made();
      expect(await placeOf(id, folder)).toMatchObject({ accessPoint: undefined });
      expect(files.accessPoints.size).toBe(0);
      expect([...bucketOf({ id }).objects.keys()]).toEqual([`${folder}/`]);
    },
  );
});

describe("a folder of a volume", () => {
  test("is created if it does not exist, and is not listed as an object", async () => {
    const volume = await made();
    (await volumes.mountable(volume.id, { subPath: "deep/er" }))._unsafeUnwrap();
    expect([...bucketOf(volume).objects.keys()]).toEqual(["deep/er/"]);
    const listed = await expectOk(volumes.objects(volume, { prefix: "", limit: 10 }));
    expect(listed).toEqual({ objects: [], folders: [], more: false });
    const grouped = await expectOk(volumes.objects(volume, { prefix: "", limit: 10, delimiter: "/" }));
    expect(grouped).toEqual({ objects: [], folders: ["deep/"], more: false });
    const { generation } = bucketOf(volume).objects.get("deep/er/") as { generation: bigint };
    (await volumes.mountable(volume.id, { subPath: "deep/er" }))._unsafeUnwrap();
    expect(bucketOf(volume).objects.get("deep/er/")?.generation).toBe(generation);
  });
});

describe("the fake's folder of a bucket", () => {
  test("shows objects uploaded by URL, and exports written files as objects", async () => {
    const volume = await made();
    const folder = fake.folderOf(volume.id);
    await put(volumes, volume, "by/url", "one");
    expect(readFileSync(join(folder, "by/url"), "utf8")).toBe("one");
    writeFileSync(join(folder, "written"), "two");
    const listed = await expectOk(volumes.objects(volume, { prefix: "", limit: 10 }));
    expect(listed.objects.map(({ path }) => path)).toEqual(["by/url", "written"]);
    await expectOk(volumes.remove(volume, "written" as ObjectPath));
    expect(existsSync(join(folder, "written"))).toBe(false);
  });
});

describe("in the trash", () => {
  test("a volume keeps its file system, which is deleted with the volume", async () => {
    const volume = await made();
    const fileSystemArn = await mounted(volume.id);
    await deleteVolume(volumes, volume);
    await expectOk(volumes.restore(owner, volume.id));
    expect(await mounted(volume.id)).toBe(fileSystemArn);
    await deleteVolume(volumes, volume);
    const clock = createManualClock(new Date(Date.now() + 8 * 86_400_000).toISOString());
    const later = volumesOver(fake, { clock: { ...createLeapingClock(), now: clock.now }, files: files.client });
    await expectOk(later.list(owner));
    await later.idle();
    expect(fake.world.live.has(volume.id)).toBe(false);
    expect([files.mountTargets.size, files.accessPoints.size]).toEqual([0, 0]);
    expect([...files.fileSystems.values()].every(({ status }) => status === "deleting")).toBe(true);
  });
});
