/** `portside volume ls` */

import type { TrashedVolume, Volume } from "../../../core/domain/volumes/volume.ts";
import { flag } from "../arguments.ts";
import { type Client, clientFor } from "../client.ts";
import { type Command, clientOptions, type Input, printList } from "../command.ts";
import { paint } from "../terminal/colour.ts";
import { type Io, print, printJson, say, UsageError } from "../terminal/io.ts";
import { ago } from "../terminal/table.ts";
import { formatSize } from "./transfer/format.ts";
import { type ListedObject, objectPages } from "./transfer/objects.ts";

const listVolumes = async (client: Client, input: Input, io: Io): Promise<number> => {
  const volumes = await client.call<Volume[]>("/v1/volume/list", { signal: io.signal });
  return printList(input, io, volumes, {
    head: ["NAME", "ATTACHED TO", "CREATED"],
    row: ({ name, attached_to, created_at }) => [name, attached_to.join(", ") || "-", ago(created_at)],
    empty: "No volumes. Create one with 'portside volume create NAME'.",
  });
};

/** `2026-11-28 09:00 UTC` */
const minuteOf = (timestamp: string): string =>
  `${new Date(timestamp).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const listTrash = async (client: Client, input: Input, io: Io): Promise<number> => {
  const trash = await client.call<TrashedVolume[]>("/v1/volume/trash", { signal: io.signal });
  return printList(input, io, trash, {
    head: ["NAME", "ID", "DELETED", "RESTORABLE UNTIL"],
    row: ({ name, id, deleted_at, expires_at }) => [name, id, ago(deleted_at), minuteOf(expires_at)],
    empty: "The trash is empty.",
  });
};

/**
 * Returns a function that prints one page. A volume may have millions of objects, so each page is printed when it
 * arrives. The path column grows if a page has longer paths than the previous ones.
 */
const objectPrinter = (io: Io): ((objects: readonly ListedObject[]) => void) => {
  let width = 0;
  const lineOf = (path: string, size: string, updated: string) =>
    `${path.padEnd(width)}  ${size.padStart(8)}  ${updated}`;
  return (objects) => {
    const rows = objects.map(({ path, size, updated }) => [path, formatSize(size), ago(updated)] as const);
    if (io.stdout.isTTY !== true) {
      for (const row of rows) print(io, row.join("\t"));
      return;
    }
    const isFirst = width === 0;
    width = Math.max(width, "PATH".length, ...rows.map(([path]) => path.length));
    if (isFirst) print(io, paint(io, "bold", lineOf("PATH", "SIZE", "UPDATED")));
    for (const row of rows) print(io, lineOf(...row));
  };
};

const listObjects = async (client: Client, input: Input, io: Io): Promise<number> => {
  const [, volume = "", prefix = ""] = input.positionals;
  const printObjects = objectPrinter(io);
  let found = 0;
  for await (const objects of objectPages(client, volume, prefix, io.signal)) {
    if (input.flag("json")) for (const object of objects) printJson(io, object);
    else if (objects.length > 0) printObjects(objects);
    found += objects.length;
  }
  if (found === 0 && !input.flag("json"))
    say(io, prefix === "" ? `'${volume}' is empty.` : `'${volume}' has no objects that start with '${prefix}'.`);
  return 0;
};

export const command: Command = {
  usage: "volume ls [--deleted] [--json] | volume ls VOLUME [PREFIX] [--json]",
  options: {
    ...clientOptions,
    deleted: flag("List the deleted volumes that can be restored"),
  },
  positionals: { min: 1, max: 3 },
  examples: ["volume ls", "volume ls shop-data reports/"],
  notes: [
    "PREFIX selects objects by the start of their paths: 'logs/' selects a folder, 'logs/2026' selects one year.",
    "--json prints volumes as one JSON array, and the objects of a volume as one JSON object per line.",
  ],
  run: (input, io) => {
    const inVolume = input.positionals.length > 1;
    if (inVolume && input.flag("deleted"))
      throw new UsageError("--deleted lists volumes. Omit it to list the objects of a volume.");
    const client = clientFor(input, io);
    if (inVolume) return listObjects(client, input, io);
    return input.flag("deleted") ? listTrash(client, input, io) : listVolumes(client, input, io);
  },
};
