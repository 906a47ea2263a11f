/** Uploads an object to a volume. */
import type { UploadGrant } from "../../../core/domain/volumes/volume.ts";
import type { Client } from "../client.ts";
import { ApiError } from "../errors.ts";
import { type ObjectAddress, type OnSent, PartsUpload, type UploadSource } from "./parts-upload.ts";
import { retry } from "./retry.ts";
import { withGrant } from "./storage.ts";

/** Remembers the id of an upload, so that a later program can resume it. */
export interface UploadJournal {
  /** Returns the id of the unfinished upload; undefined if there is none. */
  read(): Promise<string | undefined>;
  /** If the id cannot be stored, a later upload starts over. */
  write(id: string): Promise<void>;
  clear(): Promise<void>;
}

const requestGrant = (
  client: Client,
  { volume, path }: ObjectAddress,
  { size }: UploadSource,
  resumable: boolean,
  signal: AbortSignal,
): Promise<UploadGrant> =>
  client.grantUpload({ volume, object: path, size, ...(resumable && { resumable }) }, { signal });

/** Returns the remembered upload with new URLs; undefined if it does not exist. */
const resume = async (client: Client, journal: UploadJournal, signal: AbortSignal) => {
  const upload_id = await journal.read();
  if (upload_id === undefined) return undefined;
  try {
    return await client.resumeUpload({ upload_id }, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    await journal.clear();
    return undefined;
  }
};

/** Requests URLs for an upload, or resumes an earlier one. Remembers a new resumable upload. */
const grantOf = async (
  client: Client,
  address: ObjectAddress,
  source: UploadSource,
  journal: UploadJournal | undefined,
  signal: AbortSignal,
): Promise<UploadGrant> => {
  if (journal === undefined) return requestGrant(client, address, source, false, signal);
  const resumed = await resume(client, journal, signal);
  if (resumed !== undefined) return resumed;
  const grant = await requestGrant(client, address, source, true, signal);
  if ("upload_id" in grant) await journal.write(grant.upload_id);
  return grant;
};

const disturbed = ({ path }: ObjectAddress): ApiError =>
  new ApiError(
    409,
    `The upload of '${path}' failed twice, because its parts disappeared or changed. Another program may be uploading the same file. Wait until it has ended, and start the upload again.`,
  );

/**
 * Uploads all data or nothing. Resolves to its size in bytes. After a temporary error, retries from the start of the
 * data or from the first missing part. If another run completes or changes a resumable upload, starts over once. Does
 * not retry data of unknown size, because it can be read only once.
 *
 * @param journal makes the upload resumable
 */
export const uploadObject = async (
  client: Client,
  address: ObjectAddress,
  source: UploadSource,
  signal: AbortSignal,
  onSent: OnSent,
  journal?: UploadJournal,
): Promise<number> => {
  let begun: PartsUpload | undefined;
  let startedOver = false;
  const discard = () => {
    begun?.discard();
    begun = undefined;
  };
  const use = async (upload: PartsUpload | string): Promise<number> => {
    if (typeof upload === "string") return (await source.send(upload, undefined, signal)).sent;
    try {
      return await upload.send(signal);
    } catch (error) {
      if (upload.isLost) discard();
      if (!upload.isGone || journal === undefined) throw error;
    }
    discard();
    await journal.clear();
    if (startedOver) throw disturbed(address);
    startedOver = true;
    return use(await granted());
  };
  const granted = async (): Promise<PartsUpload | string> => {
    if (begun !== undefined) return begun;
    const grant = await grantOf(client, address, source, journal, signal);
    if ("url" in grant) return grant.url;
    begun = new PartsUpload(client, address, source, grant, onSent);
    return begun;
  };
  try {
    const size = await (source.size === undefined
      ? granted().then(use)
      : retry(
          signal,
          () => withGrant(granted, use),
          () => begun?.done ?? 0,
        ));
    await journal?.clear();
    return size;
  } catch (error) {
    discard();
    throw error;
  }
};
