/** Helpers of the volume suites: creating volumes, uploading and downloading objects by signed URLs. */
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { comparePaths, FOLDER_DELIMITER, type ObjectPath } from "../../core/domain/volumes/object-path.ts";
import { type Instant, instantOfMillis, plusMillis } from "../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../core/domain/wire/names.ts";
import type { ObjectEntry, StoredVolume, VolumeStore } from "../../core/ports/volume-store.ts";
import { pageLimit, type StoreSubject } from "./harness.ts";
import { expectOk } from "./support.ts";

export const volumesOf = ({ provider }: StoreSubject): VolumeStore => provider.volumes;

export const now = (): Instant => instantOfMillis(Date.now());
export const soon = (): Instant => plusMillis(now(), 60_000);

export const newVolume = async (
  subject: StoreSubject,
  owner: AccountId,
  name = "data" as VolumeName,
): Promise<StoredVolume> => (await expectOk(volumesOf(subject).create(owner, name))).volume;

export const uploadUrl = async (subject: StoreSubject, volume: StoredVolume, path: string): Promise<string> =>
  (await expectOk(volumesOf(subject).grantUpload(volume, path as ObjectPath, soon()))).url;

export const downloadUrl = async (subject: StoreSubject, volume: StoredVolume, path: string): Promise<string> =>
  (await expectOk(volumesOf(subject).grantDownload(volume, path as ObjectPath, soon()))).url;

/** Uploads an object by a signed URL. Returns the URL, which may be used again. */
export const put = async (
  subject: StoreSubject,
  volume: StoredVolume,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ url: string; response: Response }> => {
  const url = await uploadUrl(subject, volume, path);
  const response = await fetch(url, { method: "PUT", body, headers });
  if (!response.ok) throw new Error(`PUT of '${path}' returned ${response.status}: ${await response.text()}`);
  return { url, response };
};

export const get = async (
  subject: StoreSubject,
  volume: StoredVolume,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> => fetch(await downloadUrl(subject, volume, path), { headers });

/** Returns the text of an object that must exist. */
export const textOf = async (subject: StoreSubject, volume: StoredVolume, path: string): Promise<string> => {
  const response = await get(subject, volume, path);
  expect(response.status).toBe(200);
  return response.text();
};

/** Returns all objects, page by page. */
export const everyObject = async (
  subject: StoreSubject,
  volume: StoredVolume,
  limit: number,
  prefix = "",
): Promise<ObjectEntry[]> => {
  const all: ObjectEntry[] = [];
  for (const next = pageLimit("A listing of objects"); ; next()) {
    const after = all.at(-1)?.path;
    const query = { prefix, limit, ...(after === undefined ? {} : { after }) };
    const { objects, more } = await expectOk(volumesOf(subject).objects(volume, query));
    expect(objects.length).toBeLessThanOrEqual(limit);
    // Without this check, the loop would not end if the store returned the same page again.
    if (after !== undefined) for (const { path } of objects) expect(comparePaths(path, after)).toBeGreaterThan(0);
    all.push(...objects);
    if (!more) return all;
    expect(objects).toHaveLength(limit);
  }
};

/** Returns the objects and folders directly below the prefix, in the order of the pages. */
export const everyFolder = async (
  subject: StoreSubject,
  volume: StoredVolume,
  limit: number,
  prefix = "",
): Promise<string[]> => {
  const all: string[] = [];
  for (const next = pageLimit("A listing of folders"); ; next()) {
    const after = all.at(-1);
    const query = { prefix, limit, delimiter: FOLDER_DELIMITER, ...(after === undefined ? {} : { after }) };
    const { objects, folders, more } = await expectOk(volumesOf(subject).objects(volume, query));
    const paths: string[] = objects.map(({ path }) => path);
    for (const one of [paths, folders]) expect(one).toEqual([...one].sort(comparePaths));
    const page = [...paths, ...folders].sort(comparePaths);
    expect(page.length).toBeLessThanOrEqual(limit);
    // Without this check, the loop would not end if the store returned the same page again.
    if (after !== undefined) for (const path of page) expect(comparePaths(path, after)).toBeGreaterThan(0);
    all.push(...page);
    if (!more) return all;
    expect(page).toHaveLength(limit);
  }
};
