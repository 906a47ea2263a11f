/** Deploys a packed source. A source that is too large for a request is uploaded to a volume first. */
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import type { Client } from "../client.ts";
import { ApiError } from "../errors.ts";
import type { Source } from "../form.ts";
import type { ObjectAddress, OnSent, UploadSource } from "./parts-upload.ts";
import { type UploadJournal, uploadObject } from "./upload.ts";

/** The account's volume for large sources. The first large source creates it. */
export const SOURCE_VOLUME = "portside-sources";

/** Older objects belong to deploys whose client ended early. */
const ABANDONED_MS = 24 * 60 * 60_000;

type DeployRequest = Parameters<Client["deploy"]>[0];
type Records = Awaited<ReturnType<Client["deploy"]>>;

/** A source as a tar.gz. */
export interface PackedSource {
  readonly bytes: number;
  readonly archive: Source;
  /** Returns the same bytes for an upload to a volume. */
  readonly upload: (onSent: OnSent) => UploadSource;
}

export interface DeploySourceOptions {
  /** Cancels the upload. After the deploy has started, ends only the iteration of its records. */
  readonly signal: AbortSignal;
  /** Called while a large source is uploaded. */
  readonly onUpload: (sentBytes: number) => void;
}

/** Returns whether a source is too large to send in the request. */
export const isLargeSource = (bytes: number): boolean => bytes > archiveLimits.fileBytes;

/** A journal in memory, so that this program can resume the upload after a broken connection. */
const memoryJournal = (): UploadJournal => {
  let id: string | undefined;
  return {
    read: async () => id,
    write: async (started) => {
      id = started;
    },
    clear: async () => {
      id = undefined;
    },
  };
};

/** Deletes an object. If that fails, a later deploy deletes it. */
const remove = (client: Client, address: ObjectAddress): Promise<unknown> =>
  client.deleteObject(address).catch(() => undefined);

const removeAbandoned = async (client: Client, prefix: string, signal: AbortSignal): Promise<void> => {
  const { objects } = await client.listObjects({ volume: SOURCE_VOLUME, prefix }, { signal });
  const abandoned = objects.filter(({ updated }) => Date.parse(updated) < Date.now() - ABANDONED_MS);
  await Promise.all(abandoned.map(({ path }) => remove(client, { volume: SOURCE_VOLUME, path })));
};

const uploadSource = async (
  client: Client,
  prefix: string,
  source: PackedSource,
  { signal, onUpload }: DeploySourceOptions,
): Promise<ObjectAddress> => {
  const { volumes } = await client.capabilities({ signal });
  await client.createVolume({ name: SOURCE_VOLUME }, { signal });
  await removeAbandoned(client, prefix, signal);
  const address = { volume: SOURCE_VOLUME, path: `${prefix}${crypto.randomUUID()}.tar.gz` };
  let sent = 0;
  const onSent = (bytes: number) => {
    sent += bytes;
    onUpload(sent);
  };
  onUpload(0);
  const journal = volumes.resumable_uploads?.supported === true ? memoryJournal() : undefined;
  await uploadObject(client, address, source.upload(onSent), signal, onSent, journal);
  return address;
};

/** Deletes the object when the deploy no longer needs it: after the build, or at the end of the deploy. */
async function* removeAfterBuild(client: Client, address: ObjectAddress, records: Records): Records {
  let isStored = true;
  for await (const record of records) {
    if (isStored && record.status !== "BUILDING") {
      isStored = false;
      await remove(client, address);
    }
    yield record;
  }
}

/**
 * Starts a deploy of a packed source, and returns its records. If the source is large, checks the request and then
 * uploads the source to the volume `SOURCE_VOLUME`. The caller must read the records until the build has ended, so that
 * the uploaded object is deleted.
 */
export const deploySource = async (
  client: Client,
  request: DeployRequest,
  source: PackedSource,
  options: DeploySourceOptions,
): Promise<Records> => {
  const { signal } = options;
  if (!isLargeSource(source.bytes)) return client.deploy({ ...request, source_archive: source.archive }, { signal });
  await client.plan(request, { signal });
  const address = await uploadSource(client, `${request.function_name}/`, source, options);
  try {
    const source_object = `${address.volume}/${address.path}`;
    return removeAfterBuild(client, address, await client.deploy({ ...request, source_object }, { signal }));
  } catch (error) {
    // After a different error, the deploy may have started and may still need the object.
    if (error instanceof ApiError) await remove(client, address);
    throw error;
  }
};
