/** `portside volume get VOLUME PATH [DEST]` */

import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { objectPathProblem } from "../../../core/domain/volumes/object-path.ts";
import type { Client } from "../../client/client.ts";
import { flag } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { CommandError, type Io, print, printJson, say, UsageError } from "../terminal/io.ts";
import { downloadObject } from "./transfer/download.ts";
import { fetchFile, progressListener } from "./transfer/fetch-file.ts";
import { forEachConcurrent } from "./transfer/for-each-concurrent.ts";
import { formatSize, pluralize } from "./transfer/format.ts";
import { allObjects, formatFolder, prefixOf } from "./transfer/objects.ts";
import { ProgressBar } from "./transfer/progress-bar.ts";
import { StdoutSink } from "./transfer/stdout-sink.ts";
import { missingTargets, targetsOf } from "./transfer/targets.ts";

interface Request {
  readonly client: Client;
  readonly input: Input;
  readonly io: Io;
  readonly volume: string;
  readonly path: string;
}

const toOutput = async ({ client, io, volume, path }: Request): Promise<void> => {
  using bar = new ProgressBar(io, path, undefined);
  const on = progressListener(bar, (total) => bar.expect(total));
  await downloadObject(client, { volume, path }, new StdoutSink(io), io.signal, on);
};

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** Returns the local path of one object. Keeps the object's name if DEST is a folder or omitted. */
const fileOf = (io: Io, path: string, dest: string | undefined): string => {
  const wanted = resolve(io.cwd, dest ?? "");
  return dest === undefined || dest.endsWith("/") || isFolder(wanted) ? join(wanted, basename(path)) : wanted;
};

const getObject = async ({ client, input, io, volume, path }: Request, dest: string | undefined): Promise<void> => {
  const problem = objectPathProblem(path);
  if (problem !== undefined) throw new UsageError(`'${path}' is not a valid object path: ${problem}.`);
  const file = fileOf(io, path, dest);
  using bar = new ProgressBar(io, basename(file), undefined);
  const on = progressListener(bar, (total) => bar.expect(total));
  const onChanged = () => say(io, `'${path}' has changed since the partial download. Starting over.`);
  const options = { signal: io.signal, force: input.flag("force"), on, onChanged };
  const { size, resumed } = await fetchFile(client, { volume, path }, file, options);
  bar.end();
  if (input.flag("json")) return printJson(io, { volume, path, size, resumed, file });
  const before = resumed > 0 ? `, resumed at ${formatSize(resumed)}` : "";
  print(io, `Downloaded '${path}' (${formatSize(size)}${before}) to ${file}.`);
};

const getFolder = async ({ client, input, io, volume, path }: Request, dest: string | undefined): Promise<void> => {
  const prefix = prefixOf(path);
  const root = resolve(io.cwd, dest ?? basename(prefix === "" ? volume : prefix));
  const objects = await allObjects(client, volume, prefix, io.signal);
  if (objects.length === 0) throw new CommandError(`${formatFolder(volume, prefix)} has no objects.`);
  const force = input.flag("force");
  const targets = missingTargets(targetsOf(root, prefix, objects), force);
  const total = targets.reduce((sum, { object }) => sum + object.size, 0);
  const nameAt = (done: number) => `${done} of ${pluralize(targets.length, "file")}`;
  using bar = new ProgressBar(io, nameAt(0), total);
  let done = 0;
  let bytes = 0;
  await forEachConcurrent(targets, io.signal, async ({ object, path: file }, signal) => {
    const options = { signal, force, on: progressListener(bar), onChanged: () => {} };
    const { size, resumed } = await fetchFile(client, { volume, path: object.path }, file, options);
    bytes += size;
    bar.rename(nameAt(++done));
    if (!input.flag("json")) return;
    bar.end();
    printJson(io, { volume, path: object.path, size, resumed, file });
  });
  bar.end();
  if (input.flag("json")) return;
  const skipped = objects.length - targets.length;
  const before = skipped > 0 ? `. Skipped ${pluralize(skipped, "unchanged file")}` : "";
  print(io, `Downloaded ${pluralize(targets.length, "file")} (${formatSize(bytes)}) to ${root}${before}.`);
};

export const command: Command = {
  usage: "volume get VOLUME PATH [DEST] [-r] [--force]",
  options: {
    ...clientOptions,
    recursive: flag("Download the folder PATH ('/' for the whole volume)", "r"),
    force: flag("Replace existing files"),
  },
  positionals: { min: 3, max: 4 },
  examples: ["volume get shop-data reports/figures.csv", "volume get shop-data www/ site"],
  notes: [
    "DEST is a file, a folder, or - for standard output. It defaults to the last part of PATH in the current folder.",
    "A PATH that ends with '/' is a folder and does not need -r.",
    "An interrupted download resumes from DEST.part unless the object has changed.",
    "The download of a folder skips files that have the size and the modification time of their object.",
  ],
  run: async (input, io) => {
    const [, volume = "", path = "", dest] = input.positionals;
    const request = { client: clientFor(input, io), input, io, volume, path };
    const isMany = input.flag("recursive") || path.endsWith("/");
    if (dest === "-" && isMany) throw new UsageError("Standard output accepts a single object, not a folder.");
    if (dest === "-") await toOutput(request);
    else if (isMany) await getFolder(request, dest);
    else await getObject(request, dest);
    return 0;
  },
};
