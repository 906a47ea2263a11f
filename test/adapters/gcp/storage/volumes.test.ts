/** What volumes on Cloud Storage are beyond the port's promises: buckets that are closed, counted calls, races, grants. */
import { Storage } from "@google-cloud/storage";
import { Impersonated, PassThroughClient } from "google-auth-library";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { accountDigest } from "../../../../adapters/shared/account-digest.ts";
import type { AccountId } from "../../../../core/domain/account.ts";
import { instantOfMillis, millisOf, timestampOf } from "../../../../core/domain/instant.ts";
import type { VolumeName } from "../../../../core/domain/names.ts";
import type { ObjectPath } from "../../../../core/domain/object-path.ts";
import type { StoredVolume } from "../../../../core/ports/volume-store.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { type FakeStorage, startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { whileTicking } from "../../../support/memory-platform.ts";
import { serviceAccountOf, silent, volumesOver } from "./subject.ts";

let fake: FakeStorage;
let count = 0;
const account = (): AccountId => `somebody-${++count}@example.com` as AccountId;
const data = "data" as VolumeName;
const a = "a" as ObjectPath;
const now = () => timestampOf(instantOfMillis(Date.now()));
const inAMinute = () => instantOfMillis(Date.now() + 60_000);

beforeAll(async () => {
  fake = await startFakeStorage();
});
afterAll(() => fake.close());

const put = async (volumes = volumesOver(fake), volume: StoredVolume, path: string, text: string): Promise<void> => {
  const { url } = await expectOk(volumes.grantUpload(volume, path as ObjectPath, inAMinute()));
  expect((await fetch(url, { method: "PUT", body: text })).status).toBe(200);
};

const bucketOf = ({ id }: StoredVolume) => {
  const bucket = fake.world.live.get(id);
  if (bucket === undefined) throw new Error(`there is no bucket '${id}'`);
  return bucket;
};

describe("a volume's bucket", () => {
  test("is closed to the public, has one set of rights, keeps what is deleted for a week, and stands in the region", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    expect(bucketOf(volume).settings).toEqual({
      location: "europe-west1",
      iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: "enforced" },
      softDeletePolicy: { retentionDurationSeconds: "604800" },
    });
  });

  test("says whose it is by a digest, never by the account's id", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    const { labels, name } = bucketOf(volume);
    expect(labels).toMatchObject({ "portside-account": accountDigest(owner), "portside-volume": "data" });
    expect(JSON.stringify([labels, name])).not.toContain("somebody");
    const claims = fake.world.live.get("portside-test-portside-volumes");
    expect([...(claims?.objects.keys() ?? [])].filter((one) => one.includes("somebody"))).toEqual([]);
  });

  test("is open to the account's own service account alone, also where that is known to policies a while later", async () => {
    const owner = account();
    const member = `serviceAccount:${serviceAccountOf(owner)}`;
    fake.world.unknownMembers.set(member, 3);
    const clock = createManualClock();
    const { volume } = await whileTicking(clock, expectOk(volumesOver(fake, { clock }).create(owner, data)));
    expect(bucketOf(volume).policy.bindings).toEqual([{ role: "roles/storage.objectAdmin", members: [member] }]);
  });

  test("keeps the rights that it has from elsewhere", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const audit = { role: "roles/storage.objectViewer", members: ["group:audit@example.com"] };
    fake.world.setPolicy(bucketOf(volume), { bindings: [...bucketOf(volume).policy.bindings, audit] });
    await expectOk(volumes.hide(volume));
    await expectOk(volumes.discard(volume, now()));
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).policy.bindings).toHaveLength(2);
  });

  test("may be of a volume that is called as Google is", async () => {
    const name = "google-exports" as VolumeName;
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, name));
    expect(await expectOk(volumesOver(fake).find(owner, name))).toEqual({ kind: "held", volume });
  });

  test("of another account's digest is none, whatever its name", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    bucketOf(volume).labels["portside-account"] = accountDigest(account());
    expect(await expectOk(volumesOver(fake).list(owner))).toEqual([]);
    expect((await expectError(volumesOver(fake).hide(volume))).kind).toBe("not_found");
    expect((await expectError(volumesOver(fake).restore(owner, volume.id))).kind).toBe("not_found");
  });
});

describe("calls", () => {
  test("a list is one call, however many volumes there are", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    for (const size of [1, 12]) {
      for (let index = 0; index < size; index++) await expectOk(volumes.create(owner, `v${index}` as VolumeName));
      fake.faults.clear();
      expect(await expectOk(volumes.list(owner))).toHaveLength(size);
      expect(fake.faults.log).toEqual(["storage.buckets.list"]);
    }
  });

  test("a list of more volumes than a page has follows the pages", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const sample = bucketOf(volume);
    const copies = Array.from({ length: 1500 }, (_, index) => `${volume.id.slice(0, 20)}${index}x`);
    for (const name of copies) {
      const labels = { ...sample.labels, "portside-volume": `v${name.slice(-8)}`.replaceAll("-", "0") };
      fake.world.live.set(name, { ...sample, name, labels });
    }
    fake.faults.clear();
    expect((await expectOk(volumes.list(owner))).length).toBeGreaterThan(1000);
    expect(fake.faults.log).toEqual(["storage.buckets.list", "storage.buckets.list"]);
    for (const name of copies) fake.world.live.delete(name);
  });

  test("finding one's own volume is one call, finding none is two", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, data));
    fake.faults.clear();
    await expectOk(volumesOver(fake).find(owner, data));
    expect(fake.faults.log).toEqual(["storage.buckets.list"]);
    await expectOk(volumesOver(fake).find(account(), data));
    expect(fake.faults.log.slice(1)).toEqual(["storage.buckets.list", "storage.objects.list"]);
  });

  test("a URL is signed without a call where the credentials have a key", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    fake.faults.clear();
    await expectOk(volumesOver(fake).grantDownload(volume, a, inAMinute()));
    expect(fake.faults.log).toEqual([]);
  });
});

describe("calls that race, from several replicas", () => {
  test("make one volume between them, and one has made it", async () => {
    const owner = account();
    const made = await Promise.all(Array.from({ length: 8 }, () => expectOk(volumesOver(fake).create(owner, data))));
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(made.map(({ volume }) => volume.id)).size).toBe(1);
    expect(await expectOk(volumesOver(fake).list(owner))).toHaveLength(1);
  });

  test("hide a volume once", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const ends = await Promise.all(Array.from({ length: 5 }, () => volumesOver(fake).hide(volume)));
    expect(ends.filter((end) => end.isOk())).toHaveLength(1);
  });

  test("a restore and a new volume of the name leave one", async () => {
    for (let times = 0; times < 6; times++) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      await put(volumes, volume, "a", "kept");
      await expectOk(volumes.hide(volume));
      await expectOk(volumes.discard(volume, now()));
      const pause = () => new Promise((resolve) => setTimeout(resolve, times * 3));
      const [back, made] = await Promise.all([
        volumesOver(fake).restore(owner, volume.id),
        pause().then(() => volumesOver(fake).create(owner, data)),
      ]);
      const live = await expectOk(volumes.list(owner));
      expect(live).toHaveLength(1);
      expect(made._unsafeUnwrap().created).toBe(back.isErr());
      if (back.isOk()) expect([...bucketOf(volume).objects.keys()]).toEqual(["a"]);
    }
  });

  test("a discard that is overtaken by a restore takes nothing with it", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const paths = Array.from({ length: 60 }, (_, index) => `f${String(index).padStart(3, "0")}`);
    for (const path of paths) fake.world.putObject(bucketOf(volume), { name: path, bytes: Buffer.from(path) });
    await expectOk(volumes.hide(volume));
    const discarded = volumes.discard(volume, now());
    while (fake.world.live.get(volume.id)?.deleted.length === 0) await new Promise(setImmediate);
    const back = await volumesOver(fake).restore(owner, volume.id);
    const end = await discarded;
    expect(back.isOk()).toBe(true);
    if (end.isErr()) expect(end.error.kind).toBe("conflict");
    const live = await expectOk(volumes.list(owner));
    expect(live.map(({ id }) => id)).toEqual([volume.id]);
    expect([...bucketOf(volume).objects.keys()].sort()).toEqual(paths);
  });
});

describe("what others do meanwhile", () => {
  const claimOf = (owner: AccountId) =>
    [fake.world.bucket("portside-test-portside-volumes").objects, `data/${accountDigest(owner)}`] as const;

  test("a bucket whose claim went while it was made is no volume; another one is made", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(account(), data));
    const [claims, name] = claimOf(owner);
    fake.meanwhile("storage.buckets.insert", () => void claims.delete(name));
    const { volume, created } = await expectOk(volumesOver(fake).create(owner, data));
    expect([created, claims.get(name)?.metadata["bucket"]]).toEqual([true, volume.id]);
    const own = [...fake.world.live.values()].filter(
      ({ labels }) => labels["portside-account"] === accountDigest(owner),
    );
    expect(own.map((bucket) => bucket.name)).toEqual([volume.id]);
    expect(await expectOk(volumesOver(fake).trash(owner))).toEqual([]);
  });

  test("a volume that is brought back while it is emptied is whole", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    for (const name of ["a", "b", "c"]) fake.world.putObject(bucketOf(volume), { name, bytes: Buffer.from(name) });
    await expectOk(volumesOver(fake).hide(volume));
    fake.meanwhile("storage.objects.delete", () => {
      bucketOf(volume).labels["portside-state"] = "live";
      fake.world.touch(bucketOf(volume));
    });
    expect((await expectError(volumesOver(fake).discard(volume, now()))).kind).toBe("conflict");
    expect([...bucketOf(volume).objects.keys()].sort()).toEqual(["a", "b", "c"]);
  });

  test("an object that is put into a volume on its way out of the trash stays", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("old") });
    await expectOk(volumes.hide(volume));
    await expectOk(volumes.discard(volume, now()));
    fake.meanwhile("storage.objects.restore", () => {
      fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("new") });
    });
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).objects.get("a")?.bytes.toString()).toBe("new");
  });

  test("a removal whose answer was lost has happened", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("x") });
    fake.faults.inject({ method: "storage.objects.delete", nth: 1, kind: "reply_lost" });
    await expectOk(volumesOver(fake).remove(volume, a));
    expect((await expectError(volumesOver(fake).remove(volume, a))).kind).toBe("not_found");
  });
});

describe("what was cut", () => {
  const later = (millis: number) => createManualClock(new Date(Date.now() + millis).toISOString());

  test("on its way into the trash is finished by whoever lists, beside a call that is still at it", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    for (let index = 0; index < 60; index++)
      fake.world.putObject(bucketOf(volume), { name: `o${index}`, bytes: Buffer.from("x") });
    await expectOk(volumesOver(fake).hide(volume));
    const slow = volumesOver(fake).discard(volume, now());
    while (fake.world.live.get(volume.id)?.deleted.length === 0) await new Promise(setImmediate);
    const other = volumesOver(fake, { clock: later(120_000) });
    expect(await expectOk(other.list(owner))).toEqual([]);
    await other.idle();
    await expectOk(slow);
    expect(fake.world.live.has(volume.id)).toBe(false);
    expect((await expectOk(other.trash(owner))).map(({ id }) => id)).toEqual([volume.id]);
    await expectOk(other.restore(owner, volume.id));
    expect(bucketOf(volume).objects.size).toBe(60);
  });

  test("while it was made is cleared away where no claim stands for it, and else made by the next call", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const unmade = { "portside-state": "making", "portside-at": String(BigInt(Date.now()) * 1_000_000n) };
    Object.assign(bucketOf(volume).labels, unmade);
    for (const [isClaimed, millis] of [
      [true, 3_600_000],
      [false, 300_000],
      [false, 3_600_000],
    ] as const) {
      const claims = fake.world.bucket("portside-test-portside-volumes");
      if (!isClaimed) fake.world.removeObject(claims, `data/${accountDigest(owner)}`);
      const other = volumesOver(fake, { clock: later(millis) });
      expect(await expectOk(other.list(owner))).toEqual([]);
      await other.idle();
      expect(fake.world.live.has(volume.id)).toBe(isClaimed || millis < 600_000);
      if (isClaimed) {
        expect(await expectOk(other.create(owner, data))).toMatchObject({ created: true, volume: { id: volume.id } });
        Object.assign(bucketOf(volume).labels, unmade);
      }
    }
    expect(await expectOk(volumes.trash(owner))).toEqual([]);
  });
});

describe("hiding", () => {
  test("is forgotten after a minute, by whoever looks", async () => {
    const clock = createManualClock();
    const volumes = volumesOver(fake, { clock });
    const owner = account();
    const look = async () => (await whileTicking(clock, expectOk(volumes.find(owner, data)), 1)).kind;
    const { volume } = await whileTicking(clock, expectOk(volumes.create(owner, data)), 1);
    await whileTicking(clock, expectOk(volumes.hide(volume)), 1);
    await clock.advance(50_000);
    expect(await look()).toBe("hidden");
    await clock.advance(20_000);
    expect(await look()).toBe("held");
    const late = volumes.discard(volume, now());
    expect((await whileTicking(clock, expectError(late), 1)).kind).toBe("conflict");
  });
});

describe("deletion and restore", () => {
  test("what was deleted or replaced before is not brought back", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    for (const [path, text] of [
      ["gone", "x"],
      ["changed", "old"],
      ["changed", "new"],
      ["kept", "kept"],
    ] as const)
      await put(volumes, volume, path, text);
    await expectOk(volumes.remove(volume, "gone" as ObjectPath));
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (let times = 0; times < 2; times++) {
      await expectOk(volumes.hide(volume));
      await expectOk(volumes.discard(volume, now()));
      await expectOk(volumes.restore(owner, volume.id));
      const objects = [...bucketOf(volume).objects].map(([path, { bytes }]) => [path, bytes.toString()]).sort();
      expect(objects).toEqual([
        ["changed", "new"],
        ["kept", "kept"],
      ]);
    }
  });

  test("more objects than a page has go and come back", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    for (let index = 0; index < 1100; index++)
      fake.world.putObject(bucketOf(volume), { name: `o${index}`, bytes: Buffer.from("x") });
    await expectOk(volumes.hide(volume));
    await expectOk(volumes.discard(volume, now()));
    expect(fake.world.live.has(volume.id)).toBe(false);
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).objects.size).toBe(1100);
  });

  test("a week later there is nothing to restore", async () => {
    const clock = createManualClock();
    const later = await startFakeStorage({ clock });
    const volumes = volumesOver(later, { clock });
    const owner = account();
    const inTime = <T>(work: PromiseLike<T>) => whileTicking(clock, work, 1);
    const { volume } = await inTime(expectOk(volumes.create(owner, data)));
    await inTime(expectOk(volumes.hide(volume)));
    await inTime(expectOk(volumes.discard(volume, timestampOf(clock.now()))));
    expect(await inTime(expectOk(volumes.trash(owner)))).toHaveLength(1);
    await clock.advance(8 * 86_400_000);
    expect(await inTime(expectOk(volumes.trash(owner)))).toEqual([]);
    expect((await inTime(expectError(volumes.restore(owner, volume.id)))).kind).toBe("not_found");
    await later.close();
  });
});

describe("soft delete", () => {
  test("of a week is no problem, and the look makes the bucket of the claims", async () => {
    const other = await startFakeStorage();
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toBeUndefined();
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toBeUndefined();
    expect([...other.world.live.keys()]).toEqual(["portside-test-portside-volumes"]);
    await other.close();
  });

  test("of less is one, with the command that mends it, unless it was accepted", async () => {
    const other = await startFakeStorage();
    other.world.insertBucket({
      name: "portside-test-portside-volumes",
      softDeletePolicy: { retentionDurationSeconds: "0" },
    });
    const problem = await expectOk(volumesOver(other).softDeleteProblem());
    expect(problem).toMatch(/keeps what is deleted for 0 days, not 7/);
    expect(problem).toContain("gcloud storage buckets update gs://portside-test-portside-volumes");
    const accepting = volumesOver(other, { config: { softDelete: "any" } });
    expect(await expectOk(accepting.softDeleteProblem())).toBeUndefined();
    await other.close();
  });

  test("that the organisation forbids is one; and where it is accepted, volumes are made as the project has it", async () => {
    const other = await startFakeStorage();
    Object.assign(other.world, { forcedRetention: 0, presetRetention: 0 });
    expect(await expectOk(volumesOver(other).softDeleteProblem())).toMatch(/organisation's policies/);
    expect((await expectError(volumesOver(other).create(account(), data))).kind).toBe("unavailable");
    const accepting = volumesOver(other, { config: { softDelete: "any" } });
    expect((await expectOk(accepting.create(account(), data))).created).toBe(true);
    await other.close();
  });
});

describe("grants", () => {
  const keyless = () => {
    const authClient = new Impersonated({
      sourceClient: new PassThroughClient(),
      targetPrincipal: fake.email,
      targetScopes: [],
      endpoint: fake.url,
    });
    return volumesOver(fake, { storage: new Storage({ ...fake.storageClientOptions, authClient }) });
  };

  test("are signed by IAM where the credentials have no key", async () => {
    const volumes = keyless();
    const { volume } = await expectOk(volumes.create(account(), data));
    fake.faults.clear();
    await put(volumes, volume, "ünï cödé/%2F+.txt", "signed");
    expect(fake.faults.log).toEqual(["iam.signBlob", "storage.xml.put"]);
    const { url } = await expectOk(volumes.grantDownload(volume, "ünï cödé/%2F+.txt" as ObjectPath, inAMinute()));
    expect(await (await fetch(url)).text()).toBe("signed");
  });

  test("that IAM does not sign are unavailable, and the log says which right is missing", async () => {
    const said: string[] = [];
    const logger = { ...silent, error: (message: string) => void said.push(message) };
    const authClient = new Impersonated({
      sourceClient: new PassThroughClient(),
      targetPrincipal: "nobody",
      endpoint: fake.url,
    });
    const storage = new Storage({ ...fake.storageClientOptions, authClient });
    const volumes = volumesOver(fake, { logger, storage });
    const { volume } = await expectOk(volumes.create(account(), data));
    expect((await expectError(volumes.grantUpload(volume, a, inAMinute()))).kind).toBe("unavailable");
    expect(said).toEqual([expect.stringContaining("iam.serviceAccounts.signBlob")]);
  });

  test("end no later than asked for, nor after the twelve hours that IAM's keys sign for", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const until = instantOfMillis(Date.now() + 90_500);
    const soon = await expectOk(volumesOver(fake).grantDownload(volume, a, until));
    expect(millisOf(until) - millisOf(soon.expiresAt)).toBeLessThan(1000);
    expect(soon.expiresAt <= until).toBe(true);
    const late = await expectOk(
      volumesOver(fake).grantDownload(volume, a, instantOfMillis(Date.now() + 30 * 86_400_000)),
    );
    expect(millisOf(late.expiresAt)).toBeLessThanOrEqual(Date.now() + 12 * 3_600_000);
    const { searchParams } = new URL(late.url);
    expect(Number(searchParams.get("X-Goog-Expires"))).toBeLessThanOrEqual(12 * 3600);
  });

  test("say of a download what its name says, whatever it was put as", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    await put(volumes, volume, "page.css", "a {}");
    const { url } = await expectOk(volumes.grantDownload(volume, "page.css" as ObjectPath, inAMinute()));
    expect((await fetch(url)).headers.get("content-type")).toMatch(/^text\/css/);
  });
});
