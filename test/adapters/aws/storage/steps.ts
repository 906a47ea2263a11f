/** One fake S3 for the tests of a file, and steps that they take on it. */
import { afterAll, expect } from "vitest";
import { accountDigest } from "../../../../adapters/shared/account-digest.ts";
import type { AccountId } from "../../../../core/domain/account.ts";
import { instantOfMillis, timestampOf } from "../../../../core/domain/instant.ts";
import type { VolumeName } from "../../../../core/domain/names.ts";
import type { ObjectPath } from "../../../../core/domain/object-path.ts";
import type { StoredVolume, VolumeStore } from "../../../../core/ports/volume-store.ts";
import { expectOk } from "../../../contracts/support.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { startFakeS3Files } from "../../../fakes/aws/s3files/server.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";

export const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
export const files = await startFakeS3Files({ buckets: fake.world.live });
afterAll(async () => {
  await files.close();
  await fake.close();
});

let count = 0;
/** An account that no test had before. */
export const account = (): AccountId => `somebody-${++count}@example.com` as AccountId;

export const data = "data" as VolumeName;
export const a = "a" as ObjectPath;
export const now = () => timestampOf(instantOfMillis(Date.now()));
export const inAMinute = () => instantOfMillis(Date.now() + 60_000);

/** Puts an object by a signed URL. */
export const put = async (volumes: VolumeStore, volume: StoredVolume, path: string, text: string): Promise<void> => {
  const { url } = await expectOk(volumes.grantUpload(volume, path as ObjectPath, inAMinute()));
  expect((await fetch(url, { method: "PUT", body: text })).status).toBe(200);
};

export const discard = async (volumes: VolumeStore, volume: StoredVolume): Promise<void> => {
  await expectOk(volumes.hide(volume));
  await expectOk(volumes.discard(volume, now()));
};

/** The volume's bucket, as the fake has it. */
export const bucketOf = ({ id }: Pick<StoredVolume, "id">) => fake.world.bucket(id);

const keyOf = (owner: AccountId): string => `volumes/${accountDigest(owner)}.json`;

interface Shown {
  readonly id: string;
  state: string;
  at: string;
}

/** What the platform has written down about the account's volumes. */
export const recordsOf = (owner: AccountId): Shown[] => {
  const text = fake.world.bucket(STATE_BUCKET).objects.get(keyOf(owner))?.bytes.toString();
  return text === undefined ? [] : (JSON.parse(text) as { volumes: Shown[] }).volumes;
};

export const writeRecords = (owner: AccountId, volumes: readonly Shown[]): void => {
  const bytes = Buffer.from(JSON.stringify({ version: 1, volumes }));
  fake.world.putObject(fake.world.bucket(STATE_BUCKET), { name: keyOf(owner), bytes });
};
