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
 * Prints each page when it arrives: a volume may have millions of objects. The path column grows if a page has longer
 * paths than the previous ones.
 */
class ObjectTable {
  #width = "PATH".length;
  #hasHead = false;
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  print(objects: readonly ListedObject[]): void {
    const { stdout } = this.#io;
    const rows = objects.map(({ path, size, updated }) => [path, formatSize(size), ago(updated)] as const);
    if (stdout.isTTY !== true) {
      for (const row of rows) print(this.#io, row.join("\t"));
      return;
    }
    this.#width = rows.reduce((widest, [path]) => Math.max(widest, path.length), this.#width);
    if (!this.#hasHead) print(this.#io, paint(this.#io, "bold", this.#line("PATH", "SIZE", "UPDATED")));
    this.#hasHead = true;
    for (const row of rows) print(this.#io, this.#line(...row));
  }

  #line(path: string, size: string, updated: string): string {
    return `${path.padEnd(this.#width)}  ${size.padStart(8)}  ${updated}`;
  }
}

const listObjects = async (client: Client, input: Input, io: Io): Promise<number> => {
  const [, volume = "", prefix = ""] = input.positionals;
  const table = new ObjectTable(io);
  let found = 0;
  for await (const objects of objectPages(client, volume, prefix, io.signal)) {
    if (input.flag("json")) for (const object of objects) printJson(io, object);
    else if (objects.length > 0) table.print(objects);
    found += objects.length;
  }
  if (found === 0 && !input.flag("json"))
    say(io, prefix === "" ? `'${volume}' is empty.` : `'${volume}' has no objects that start with '${prefix}'.`);
  return 0;
};

export const command: Command = {
  usage: "volume ls [--deleted] | VOLUME [PREFIX] [--json]",
  options: {
    ...clientOptions,
    deleted: flag("List the deleted volumes that can be restored"),
  },
  positionals: { min: 1, max: 3 },
  examples: ["volume ls", "volume ls shop-data reports/"],
  notes: [
    "PREFIX selects objects by the start of their paths: 'logs/' is a folder, 'logs/2026' one year.",
    "With --json, prints one object per line.",
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
