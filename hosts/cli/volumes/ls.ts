/** `portside volume ls` */

import { comparePaths, FOLDER_DELIMITER } from "../../../core/domain/volumes/object-path.ts";
import type { ObjectPage } from "../../../core/domain/volumes/volume.ts";
import type { Client } from "../../client/client.ts";
import { flag } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions, type Input, printList } from "../command.ts";
import { paint } from "../terminal/colour.ts";
import { type Io, print, printJson, say, UsageError } from "../terminal/io.ts";
import { ago } from "../terminal/table.ts";
import { formatSize } from "./transfer/format.ts";
import { type ListedObject, objectPages } from "./transfer/objects.ts";

const listVolumes = async (client: Client, input: Input, io: Io): Promise<number> => {
  const volumes = await client.listVolumes({ signal: io.signal });
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
  const trash = await client.listTrash({ signal: io.signal });
  return printList(input, io, trash, {
    head: ["NAME", "ID", "DELETED", "RESTORABLE UNTIL"],
    row: ({ name, id, deleted_at, expires_at }) => [name, id, ago(deleted_at), minuteOf(expires_at)],
    empty: "The trash is empty.",
  });
};

type Listed = ListedObject | { readonly folder: string };

const pathOf = (one: Listed): string => ("folder" in one ? one.folder : one.path);

/** Returns the objects and folders of a page, sorted together by path. */
const listedOn = ({ objects, folders = [] }: ObjectPage): readonly Listed[] =>
  [...objects, ...folders.map((folder) => ({ folder }))].sort((a, b) => comparePaths(pathOf(a), pathOf(b)));

/**
 * Returns a function that prints one page. A volume may have millions of objects, so each page is printed when it
 * arrives. The path column grows if a page has longer paths than the previous ones.
 */
const objectPrinter = (io: Io): ((page: readonly Listed[]) => void) => {
  let width = 0;
  const lineOf = (path: string, size: string, updated: string) =>
    `${path.padEnd(width)}  ${size.padStart(8)}  ${updated}`;
  return (page) => {
    const rows = page.map((one): [string, string, string] =>
      "folder" in one ? [one.folder, "-", "-"] : [one.path, formatSize(one.size), ago(one.updated)],
    );
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
  const delimiter = input.flag("folders") ? FOLDER_DELIMITER : "";
  for await (const page of objectPages(client, volume, prefix, io.signal, delimiter)) {
    const listed = listedOn(page);
    if (input.flag("json")) for (const one of listed) printJson(io, one);
    else if (listed.length > 0) printObjects(listed);
    found += listed.length;
  }
  if (found === 0 && !input.flag("json"))
    say(io, prefix === "" ? `'${volume}' is empty.` : `'${volume}' has no objects that start with '${prefix}'.`);
  return 0;
};

export const command: Command = {
  usage: "volume ls [--deleted] [--json] | volume ls VOLUME [PREFIX] [--folders] [--json]",
  options: {
    ...clientOptions,
    deleted: flag("List the deleted volumes that can be restored"),
    folders: flag("List the folders directly below PREFIX instead of the objects in them"),
  },
  positionals: { min: 1, max: 3 },
  examples: ["volume ls", "volume ls shop-data reports/", "volume ls shop-data --folders"],
  notes: [
    "PREFIX selects objects by the start of their paths: 'logs/' selects a folder, 'logs/2026' selects one year.",
    "--json prints volumes as one JSON array, and the objects of a volume as one JSON object per line.",
  ],
  run: (input, io) => {
    const inVolume = input.positionals.length > 1;
    if (inVolume && input.flag("deleted"))
      throw new UsageError("--deleted lists volumes. Omit it to list the objects of a volume.");
    if (!inVolume && input.flag("folders"))
      throw new UsageError(
        "--folders lists the folders of a volume. Name the volume: portside volume ls VOLUME --folders.",
      );
    const client = clientFor(input, io);
    if (inVolume) return listObjects(client, input, io);
    return input.flag("deleted") ? listTrash(client, input, io) : listVolumes(client, input, io);
  },
};
