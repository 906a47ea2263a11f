/** `portside volume put VOLUME SOURCE [PATH]` */

import { MiB } from "../../../core/domain/accounts/limits.ts";
import type { Client } from "../../client/client.ts";
import type { ObjectAddress } from "../../client/storage/parts-upload.ts";
import { type UploadJournal, uploadObject } from "../../client/storage/upload.ts";
import { findUrl } from "../accounts/account.ts";
import { flag } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { type Io, print, printJson, say } from "../terminal/io.ts";
import { forEachConcurrent } from "./transfer/for-each-concurrent.ts";
import { formatSize, pluralize } from "./transfer/format.ts";
import { formatFolder } from "./transfer/objects.ts";
import { ProgressBar } from "./transfer/progress-bar.ts";
import { type PlannedUpload, type Source, uploadSource } from "./transfer/source.ts";
import { needsKnownSize, spoolSource } from "./transfer/spool-source.ts";
import { openJournal } from "./transfer/upload-journal.ts";
import { planUploads, type UploadPlan } from "./transfer/uploads.ts";

/** Returns the total size in bytes; undefined if any size is unknown. */
const totalOf = (uploads: readonly PlannedUpload[]): number | undefined => {
  const total = uploads.reduce((sum, { source }) => sum + (source.size ?? Number.NaN), 0);
  return Number.isNaN(total) ? undefined : total;
};

/** Files above this size are uploaded in parts, so that a later `put` can resume the upload. */
const RESUMABLE_BYTES = 64 * MiB;

/** Returns the journal of a large file; undefined if the upload cannot resume. */
const journalOf = async (
  client: Client,
  io: Io,
  url: string,
  { volume, path }: ObjectAddress,
  { size = 0, version }: Source,
  signal: AbortSignal,
) => {
  if (size <= RESUMABLE_BYTES || version === undefined) return undefined;
  const { volumes } = await client.capabilities({ signal });
  // Earlier versions of the platform do not report this capability.
  if (volumes.resumable_uploads?.supported !== true) return undefined;
  return openJournal(io.env, [url, volume, path, ...version]);
};

/** Spools a source of unknown size to disk if the platform needs the size. The bar shows both steps. */
const uploadAs = async (
  client: Client,
  address: ObjectAddress,
  source: Source,
  signal: AbortSignal,
  bar: ProgressBar,
  journal: UploadJournal | undefined,
) => {
  const onSent = (moved: number) => bar.move(moved);
  if (source.size !== undefined || !(await needsKnownSize(client, signal)))
    return uploadObject(client, address, uploadSource(source, onSent), signal, onSent, journal);
  bar.rename(`reading ${source.name}`);
  await using spooled = await spoolSource(source, { signal, onSpooled: onSent });
  const { size } = spooled.source;
  bar.end();
  bar.rename(source.name);
  bar.expect(size);
  bar.move(-size);
  // Awaits the upload, because leaving the block deletes the spooled file.
  return await uploadObject(client, address, uploadSource(spooled.source, onSent), signal, onSent);
};

/**
 * Returns the message after an interruption. An interrupted upload does not create or change its object. A later `put`
 * resumes only large files.
 */
const interruptedMessage = (volume: string, { uploads, prefix }: UploadPlan, done: number, resumes: boolean): string =>
  prefix === undefined
    ? `Interrupted. '${volume}' is unchanged, because the upload of '${uploads[0]?.path}' was incomplete. Run the command again to ${resumes ? "continue" : "start over"}.`
    : `Interrupted. Uploaded ${done} of ${pluralize(uploads.length, "file")} to ${formatFolder(volume, prefix)}. Run the command again to upload all of them.`;

const uploadAll = async (client: Client, input: Input, io: Io, volume: string, plan: UploadPlan) => {
  const { uploads, prefix } = plan;
  const count = uploads.length;
  const nameAt = (done: number) =>
    prefix === undefined ? (uploads[0]?.source.name ?? "") : `${done} of ${pluralize(count, "file")}`;
  using bar = new ProgressBar(io, nameAt(0), totalOf(uploads));
  let bytes = 0;
  let done = 0;
  let resumes = false;
  const url = findUrl(io, input.text("url"));
  try {
    await forEachConcurrent(uploads, io.signal, async ({ path, source }, signal) => {
      const journal = await journalOf(client, io, url, { volume, path }, source, signal);
      resumes ||= journal !== undefined;
      const size = await uploadAs(client, { volume, path }, source, signal, bar, journal);
      bytes += size;
      bar.rename(nameAt(++done));
      if (!input.flag("json")) return;
      bar.end();
      printJson(io, { volume, path, size });
    });
  } catch (error) {
    bar.end();
    if (io.signal.aborted && done < count) say(io, interruptedMessage(volume, plan, done, resumes));
    throw error;
  }
  return bytes;
};

export const command: Command = {
  usage: "volume put VOLUME SOURCE [PATH] [-r]",
  options: {
    ...clientOptions,
    recursive: flag("Upload a folder, four files at a time", "r"),
  },
  positionals: { min: 3, max: 4 },
  examples: ["volume put shop-data figures.csv reports/", "volume put -r shop-data site www"],
  notes: [
    "SOURCE is a file, a folder with -r, or - for standard input. PATH defaults to the name of SOURCE; standard input",
    "requires it.",
    "If PATH ends with '/', the file keeps its name in that folder. With -r, PATH is the target folder; '/' is the root of the volume.",
    "If the upload of a file larger than 64 MiB is interrupted, run the command again within 24 hours to continue.",
  ],
  run: async (input, io) => {
    const [, volume = "", given = "", wanted] = input.positionals;
    const client = clientFor(input, io);
    const plan = await planUploads(io, given, wanted, input.flag("recursive"));
    const size = formatSize(await uploadAll(client, input, io, volume, plan));
    if (input.flag("json")) return 0;
    const { uploads, prefix } = plan;
    const what = prefix === undefined ? `'${uploads[0]?.path}'` : pluralize(uploads.length, "file");
    print(io, `Uploaded ${what} (${size}) to ${formatFolder(volume, prefix ?? "")}.`);
    return 0;
  },
};
