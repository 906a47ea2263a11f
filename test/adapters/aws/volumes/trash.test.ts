/** The platform's trash on S3: closed for a week, then deleted by the platform or by lifecycle rules. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { volumeReturnTests } from "../../../clouds/volumes/races.ts";
import { account, data, deleteVolume, inAMinute, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { runLifecycle } from "../../../fakes/aws/s3/lifecycle.ts";
import { startFakeS3Files } from "../../../fakes/aws/s3files/server.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";
import { cloud, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

const DAY_MS = 86_400_000;

describe("deletion and restore", () => {
  volumeReturnTests(cloud);

  test("a URL of a deleted volume works again after the restore", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    await put(volumes, volume, "a", "kept");
    const { url } = await expectOk(volumes.grantDownload(volume, "a" as ObjectPath, inAMinute()));
    await deleteVolume(volumes, volume);
    const refused = await fetch(url);
    expect([refused.status, (await refused.text()).includes("kept")]).toEqual([403, false]);
    await expectOk(volumes.restore(owner, volume.id));
    expect(await (await fetch(url)).text()).toBe("kept");
  });
});

const setStage = async () => {
  const clock = createManualClock();
  const s3 = await startFakeS3({ clock, buckets: [STATE_BUCKET] });
  const files = await startFakeS3Files({ buckets: s3.world.live });
  const volumes = volumesOver(s3, { clock, files: files.client });
  const inTime = <T>(work: PromiseLike<T>) => whileTicking(clock, work, 1);
  const owner = account();
  const { volume } = await inTime(expectOk(volumes.create(owner, data)));
  for (let index = 0; index < 1100; index++)
    s3.world.putObject(s3.world.bucket(volume.id), { name: `o${index}`, bytes: Buffer.from("x") });
  await inTime(expectOk(volumes.beginDelete(volume)));
  await inTime(expectOk(volumes.moveToTrash(volume, timestampOf(clock.now()))));
  return { clock, s3, files, volumes, inTime, owner, volume };
};

describe("after a week", () => {
  test("the next listing deletes the bucket and the record, and nothing can be restored", async () => {
    const { clock, s3, files, volumes, inTime, owner, volume } = await setStage();
    await clock.advance(6 * DAY_MS);
    await inTime(expectOk(volumes.list(owner)));
    await inTime(volumes.idle());
    expect(s3.world.live.has(volume.id)).toBe(true);
    expect(await inTime(expectOk(volumes.trash(owner)))).toHaveLength(1);
    await clock.advance(2 * DAY_MS);
    await inTime(expectOk(volumes.list(owner)));
    await inTime(volumes.idle());
    expect(s3.world.live.has(volume.id)).toBe(false);
    expect(await inTime(expectOk(volumes.trash(owner)))).toEqual([]);
    expect((await inTime(expectError(volumes.restore(owner, volume.id)))).kind).toBe("not_found");
    // Two pages of versions; one call deletes each page.
    expect(s3.faults.count("s3.DeleteObjects")).toBe(2);
    await Promise.all([s3.close(), files.close()]);
  });

  test.each([
    "s3files.ListFileSystems",
    "s3files.ListMountTargets",
    "s3files.DeleteMountTarget",
    "s3files.ListAccessPoints",
    "s3files.DeleteAccessPoint",
    "s3files.DeleteFileSystem",
  ])("a purge without permission for %s still finishes, and logs the denial once", async (method) => {
    const { clock, s3, files, owner, inTime, volumes, volume } = await setStage();
    const { volume: second } = await inTime(expectOk(volumes.create(owner, "second" as VolumeName)));
    for (const one of [volume, second]) (await inTime(volumes.mountable(one.id)))._unsafeUnwrap();
    await inTime(expectOk(volumes.beginDelete(second)));
    await inTime(expectOk(volumes.moveToTrash(second, timestampOf(clock.now()))));
    await clock.advance(8 * DAY_MS);
    for (let nth = 1; nth <= 50; nth++) files.faults.inject({ method, nth, kind: "permission_denied" });
    const { logger, logged } = recordingLogger();
    const other = volumesOver(s3, { clock, files: files.client, logger });
    await inTime(expectOk(other.sweep()));
    expect([s3.world.live.has(volume.id), s3.world.live.has(second.id)]).toEqual([false, false]);
    expect(await inTime(expectOk(other.trash(owner)))).toEqual([]);
    expect(logged.filter((one) => one.includes("denied the deletion"))).toHaveLength(1);
    await Promise.all([s3.close(), files.close()]);
  });

  test("the next start purges the trash of an account without requests", async () => {
    const { clock, s3, files, volumes, inTime, volume } = await setStage();
    await clock.advance(8 * DAY_MS);
    await inTime(expectOk(volumes.sweep()));
    expect(s3.world.live.has(volume.id)).toBe(false);
    await Promise.all([s3.close(), files.close()]);
  });

  test("without a running platform, lifecycle rules empty the bucket", async () => {
    const { clock, s3, files, volume } = await setStage();
    const bucket = s3.world.bucket(volume.id);
    for (let day = 0; day < 8; day++) {
      runLifecycle(s3.world);
      expect(bucket.objects.size, `after ${day} days`).toBe(1100);
      await clock.advance(DAY_MS);
    }
    for (let day = 0; day < 12; day++) {
      runLifecycle(s3.world);
      await clock.advance(DAY_MS);
    }
    expect(bucket.versions.size).toBe(0);
    await Promise.all([s3.close(), files.close()]);
  });

  test("a restored volume keeps its objects, whatever the trash rules were", async () => {
    const { clock, s3, files, volumes, inTime, owner, volume } = await setStage();
    await inTime(expectOk(volumes.restore(owner, volume.id)));
    for (let day = 0; day < 20; day++) {
      runLifecycle(s3.world);
      await clock.advance(DAY_MS);
    }
    await inTime(expectOk(volumes.sweep()));
    expect(s3.world.bucket(volume.id).objects.size).toBe(1100);
    await Promise.all([s3.close(), files.close()]);
  });
});
