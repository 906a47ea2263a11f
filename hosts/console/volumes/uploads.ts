/** The uploads of this window. They continue while the user visits other pages. */
import { effect, type Signal, signal } from "@preact/signals";
import { uploadObject } from "../../client/storage/upload.ts";
import { holdPage } from "../shell/hold-page.ts";
import { account, apiUrl, client, isSignedIn } from "../shell/session.ts";
import { fileSource } from "./send-file.ts";
import { isSameFile, UnfinishedUploads } from "./unfinished.ts";

/** Larger files are sent in parts, so that an upload can pause and resume. Only the last part may be smaller. */
const RESUMABLE_BYTES = 16 * 1024 * 1024;
const CONCURRENCY = 3;

export type UploadState = "waiting" | "sending" | "paused" | "failed" | "done";

export interface Upload {
  /** The account that started the upload; undefined if the embedding application signs users in. */
  readonly owner: string | undefined;
  readonly volume: string;
  readonly path: string;
  readonly file: File;
  readonly state: Signal<UploadState>;
  /** Bytes. */
  readonly sent: Signal<number>;
  readonly problem: Signal<unknown>;
  /** True if the upload continues after a pause or a reload, instead of starting over. */
  readonly isResumable: boolean;
}

export const uploads = signal<readonly Upload[]>([]);
/** Counts the objects that were stored, so that pages can load their lists again. */
export const storedCount = signal(0);

const controllers = new Map<Upload, AbortController>();
const cancelled = new WeakSet<Upload>();

export const unfinishedUploads = (): UnfinishedUploads =>
  new UnfinishedUploads(localStorage, `portside-console uploads ${new URL(apiUrl).pathname} ${account.value ?? ""}`);

const versionOf = ({ volume, path, file }: Pick<Upload, "volume" | "path" | "file">) => ({
  volume,
  path,
  size: file.size,
  modified: file.lastModified,
});

let canResume: Promise<boolean> | undefined;

/** Returns whether the platform supports uploads that resume. */
const supportsResume = (): Promise<boolean> => {
  canResume ??= client.capabilities().then(
    ({ volumes }) => volumes.resumable_uploads?.supported === true,
    () => {
      canResume = undefined;
      return false;
    },
  );
  return canResume;
};

const send = async (upload: Upload, abort: AbortSignal): Promise<void> => {
  const { volume, path, file, sent } = upload;
  const resumes = upload.isResumable && (await supportsResume());
  // The journal is that of the signed-in account, which may have changed.
  abort.throwIfAborted();
  const journal = resumes ? unfinishedUploads().journalOf(versionOf(upload)) : undefined;
  sent.value = 0;
  const onSent = (bytes: number) => {
    sent.value += bytes;
  };
  await uploadObject(client, { volume, path }, fileSource(file, onSent), abort, onSent, journal);
};

const run = async (upload: Upload): Promise<void> => {
  const controller = new AbortController();
  controllers.set(upload, controller);
  const release = holdPage();
  upload.state.value = "sending";
  upload.problem.value = undefined;
  try {
    await send(upload, controller.signal);
    upload.state.value = "done";
    storedCount.value++;
  } catch (error) {
    if (!controller.signal.aborted) {
      upload.state.value = "failed";
      upload.problem.value = error;
    }
  } finally {
    controllers.delete(upload);
    // The upload may have stored its id after the user cancelled it.
    if (cancelled.has(upload)) unfinishedUploads().remove(versionOf(upload));
    startNext();
    release();
  }
};

const startNext = (): void => {
  for (const upload of uploads.value) {
    if (controllers.size >= CONCURRENCY) return;
    // If an upload was paused and resumed, its earlier request may still be running.
    if (upload.state.value === "waiting" && !controllers.has(upload)) void run(upload);
  }
};

/** Ends the uploads of other accounts: a volume of the same name may exist in the account that signed in. */
effect(() => {
  const current = account.value;
  if (isSignedIn.value !== true) return;
  const others = uploads.peek().filter(({ owner }) => owner !== current);
  if (others.length === 0) return;
  uploads.value = uploads.peek().filter(({ owner }) => owner === current);
  for (const upload of others) controllers.get(upload)?.abort();
});

/** Pauses an upload. The storage keeps the complete parts. */
export const pause = (upload: Upload): void => {
  upload.state.value = "paused";
  controllers.get(upload)?.abort();
};

/** Continues an upload that is paused or has failed. */
export const resume = (upload: Upload): void => {
  upload.state.value = "waiting";
  startNext();
};

/** Ends an upload, and removes it from the list. The object in the volume does not change. */
export const cancel = (upload: Upload): void => {
  uploads.value = uploads.value.filter((one) => one !== upload);
  cancelled.add(upload);
  controllers.get(upload)?.abort();
  unfinishedUploads().remove(versionOf(upload));
};

/** Removes the finished uploads from the list. */
export const clearDone = (): void => {
  uploads.value = uploads.value.filter(({ state }) => state.value !== "done");
};

/** A file, and the path of its object. */
export interface ChosenFile {
  readonly path: string;
  readonly file: File;
}

/** Starts uploads, and resumes interrupted ones. Cancels running uploads of the same objects. */
export const startUploads = (volume: string, chosen: readonly ChosenFile[]): void => {
  const added = chosen.map(
    ({ path, file }): Upload => ({
      owner: account.value,
      volume,
      path,
      file,
      state: signal<UploadState>("waiting"),
      sent: signal(0),
      problem: signal<unknown>(undefined),
      isResumable: file.size > RESUMABLE_BYTES,
    }),
  );
  const paths = new Set(chosen.map(({ path }) => path));
  const replaced = uploads.value.filter((one) => one.volume === volume && paths.has(one.path));
  for (const one of replaced) controllers.get(one)?.abort();
  uploads.value = [...uploads.value.filter((one) => !replaced.includes(one)), ...added];
  startNext();
};

/** Returns the interrupted uploads of a volume that this window does not continue. */
export const interruptedUploads = (volume: string) =>
  unfinishedUploads()
    .list()
    .filter((one) => one.volume === volume)
    .filter((one) => !uploads.value.some((upload) => isSameFile(one, versionOf(upload))));
