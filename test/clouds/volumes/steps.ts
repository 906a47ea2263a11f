/** Common steps of tests of a cloud's volumes. */
import { expect } from "vitest";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { StoredVolume, VolumeStore } from "../../../core/ports/volume-store.ts";
import { expectOk } from "../../contracts/support.ts";

let count = 0;
/** Returns an account that no test has used before. */
export const account = (): AccountId => `someuser-${++count}@example.com` as AccountId;

export const data = "data" as VolumeName;
export const objectPath = "a" as ObjectPath;
export const now = () => timestampOf(instantOfMillis(Date.now()));
export const inAMinute = () => instantOfMillis(Date.now() + 60_000);

/** Uploads an object with a signed URL. */
export const put = async (volumes: VolumeStore, volume: StoredVolume, path: string, text: string): Promise<void> => {
  const { url } = await expectOk(volumes.grantUpload(volume, path as ObjectPath, inAMinute()));
  expect((await fetch(url, { method: "PUT", body: text })).status).toBe(200);
};

export const deleteVolume = async (volumes: VolumeStore, volume: StoredVolume): Promise<void> => {
  await expectOk(volumes.beginDelete(volume));
  await expectOk(volumes.moveToTrash(volume, now()));
};
