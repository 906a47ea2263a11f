/** One fake S3 for all tests of a file, and common test steps. */

import { afterAll } from "vitest";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { StoredVolume } from "../../../../core/ports/volume-store.ts";
import type { VolumeCloud } from "../../../clouds/volumes/races.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { startFakeS3Files } from "../../../fakes/aws/s3files/server.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { volumesOver } from "./subject.ts";

export const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
export const files = await startFakeS3Files({ buckets: fake.world.live });
afterAll(async () => {
  await files.close();
  await fake.close();
});

/** The volume's bucket in the fake. */
export const bucketOf = ({ id }: Pick<StoredVolume, "id">) => fake.world.bucket(id);

const keyOf = (owner: AccountId): string => `volumes/${accountDigest(owner)}.json`;

interface VolumeRecord {
  readonly id: string;
  state: string;
  at: string;
  deletedAt?: unknown;
  cors?: number;
}

/** The platform's records of the account's volumes. */
export const recordsOf = (owner: AccountId): VolumeRecord[] => {
  const text = fake.world.bucket(STATE_BUCKET).objects.get(keyOf(owner))?.bytes.toString();
  return text === undefined ? [] : (JSON.parse(text) as { volumes: VolumeRecord[] }).volumes;
};

export const writeRecords = (owner: AccountId, volumes: readonly VolumeRecord[]): void => {
  const bytes = Buffer.from(JSON.stringify({ version: 1, volumes }));
  fake.world.putObject(fake.world.bucket(STATE_BUCKET), { name: keyOf(owner), bytes });
};

export const cloud: VolumeCloud = {
  faults: fake.faults,
  removal: "s3.DeleteObject",
  volumes: (options) => volumesOver(fake, options),
  objectsOf: (volume) => bucketOf(volume).objects,
  buckets: () => fake.world.live.size,
};
