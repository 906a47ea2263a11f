/** Deletion and restore by Cloud Storage's soft delete, and the check of its settings at startup. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import { volumeReturnTests } from "../../../clouds/volumes/races.ts";
import { account, data, now } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { bucketOf, cloud, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

describe("deletion and restore", () => {
  volumeReturnTests(cloud);

  test("moves more objects than a page to the trash and back", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    for (let index = 0; index < 1100; index++)
      fake.world.putObject(bucketOf(volume), { name: `o${index}`, bytes: Buffer.from("x") });
    await expectOk(volumes.beginDelete(volume));
    await expectOk(volumes.moveToTrash(volume, now()));
    expect(fake.world.live.has(volume.id)).toBe(false);
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).objects.size).toBe(1100);
  });

  test("cannot restore a volume after a week", async () => {
    const clock = createManualClock();
    const later = await startFakeStorage({ clock });
    const volumes = volumesOver(later, { clock });
    const owner = account();
    const inTime = <T>(work: PromiseLike<T>) => whileTicking(clock, work, 1);
    const { volume } = await inTime(expectOk(volumes.create(owner, data)));
    await inTime(expectOk(volumes.beginDelete(volume)));
    await inTime(expectOk(volumes.moveToTrash(volume, timestampOf(clock.now()))));
    expect(await inTime(expectOk(volumes.trash(owner)))).toHaveLength(1);
    await clock.advance(8 * 86_400_000);
    expect(await inTime(expectOk(volumes.trash(owner)))).toEqual([]);
    expect((await inTime(expectError(volumes.restore(owner, volume.id)))).kind).toBe("not_found");
    await later.close();
  });
});

describe("soft delete", () => {
  test("accepts seven days of retention, and the check creates the claims bucket", async () => {
    const other = await startFakeStorage();
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toBeUndefined();
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toBeUndefined();
    expect([...other.world.live.keys()]).toEqual(["test-project-portside-volumes"]);
    await other.close();
  });

  test("reports a shorter retention with the command that fixes it, unless the operator accepts it", async () => {
    const other = await startFakeStorage();
    other.world.insertBucket({
      name: "test-project-portside-volumes",
      softDeletePolicy: { retentionDurationSeconds: "0" },
    });
    const problem = await expectOk(volumesOver(other).softDeleteProblem());
    expect(problem).toMatch(/is 0 d instead of 7 d/);
    expect(problem).toContain("gcloud storage buckets update gs://test-project-portside-volumes");
    const accepting = volumesOver(other, { config: { softDelete: "any" } });
    expect(await expectOk(accepting.softDeleteProblem())).toBeUndefined();
    await other.close();
  });

  test("reports an organization policy that forbids retention, and creates volumes only if the operator accepts the policy", async () => {
    const other = await startFakeStorage();
    Object.assign(other.world, { forcedRetention: 0, defaultRetention: 0 });
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toMatch(/organization's policies/);
    expect((await expectError(volumesOver(other).create(account(), data))).kind).toBe("unavailable");
    const accepting = volumesOver(other, { config: { softDelete: "any" } });
    expect((await expectOk(accepting.create(account(), data))).created).toBe(true);
    await other.close();
  });
});
