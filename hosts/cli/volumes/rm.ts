/** `portside volume rm VOLUME PATH` */

import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import { retry } from "../../client/storage/retry.ts";
import { flag } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input, printResult, yesOption } from "../command.ts";
import { withSpinner } from "../deploy/progress.ts";
import { CommandError, confirm, type Io, UsageError } from "../terminal/io.ts";
import { forEachConcurrent } from "./transfer/for-each-concurrent.ts";
import { formatSize, pluralize } from "./transfer/format.ts";
import { allObjects, formatFolder, prefixOf } from "./transfer/objects.ts";

const removeOne = (client: Client, volume: string, path: string, signal: AbortSignal) =>
  retry(signal, () => client.deleteObject({ volume, path }, { signal }));

/** Ignores an object that another client deleted after the listing. */
const removeIfExists = async (client: Client, volume: string, path: string, signal: AbortSignal): Promise<void> => {
  try {
    await removeOne(client, volume, path, signal);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
};

const removeFolder = async (client: Client, input: Input, io: Io, volume: string, path: string): Promise<number> => {
  const prefix = prefixOf(path);
  const objects = await allObjects(client, volume, prefix, io.signal);
  const folder = formatFolder(volume, prefix);
  if (objects.length === 0) throw new CommandError(`${folder} has no objects.`);
  const size = formatSize(objects.reduce((sum, one) => sum + one.size, 0));
  const all = pluralize(objects.length, "object");
  await confirm(io, `Delete ${all} (${size}) in ${folder}? This cannot be undone.`, input.flag("yes"));
  await withSpinner(io, `Deleting ${all}`, () =>
    forEachConcurrent(objects, io.signal, (object, signal) => removeIfExists(client, volume, object.path, signal)),
  );
  return printResult(input, io, { volume, prefix, deleted: objects.length }, `Deleted ${all} (${size}) in ${folder}.`);
};

export const command: Command = {
  usage: "volume rm VOLUME PATH [-r] [-y]",
  options: {
    ...clientOptions,
    recursive: flag("Delete the folder PATH ('/' for all objects)", "r"),
    ...yesOption,
  },
  positionals: { min: 3, max: 3 },
  examples: ["volume rm -r shop-data reports"],
  run: async (input, io) => {
    const [, volume = "", path = ""] = input.positionals;
    const client = clientFor(input, io);
    if (input.flag("recursive")) return removeFolder(client, input, io, volume, path);
    if (path.endsWith("/")) throw new UsageError(`'${path}' is a folder. Delete it with -r.`);
    await confirm(io, `Delete '${path}' in '${volume}'? This cannot be undone.`, input.flag("yes"));
    const answer = await removeOne(client, volume, path, io.signal);
    return printResult(input, io, answer, answer.detail);
  },
};
