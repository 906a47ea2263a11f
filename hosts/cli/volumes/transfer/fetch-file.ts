/** An object as a file of this machine, with a bar that knows how far it is. */
import { existsSync } from "node:fs";
import type { Client } from "../../client.ts";
import { CommandError } from "../../terminal/io.ts";
import { downloadObject, type Listener } from "./download.ts";
import { PartFile } from "./part-file.ts";
import type { ProgressBar } from "./progress-bar.ts";
import type { ObjectAddress } from "./upload.ts";

/** Moves a bar by what one of its objects does, which may begin again. */
export const progressListener = (bar: ProgressBar, onBegin: Listener["onBegin"] = () => {}): Listener => {
  let shown = 0;
  return {
    onBegin: (total, there) => {
      onBegin(total, there);
      bar.skip(there - shown);
      shown = there;
    },
    onBytes: (bytes) => {
      shown += bytes;
      bar.move(bytes);
    },
  };
};

export interface FetchOptions {
  readonly signal: AbortSignal;
  readonly on: Listener;
  /** Whether a file that is there is replaced. */
  readonly force: boolean;
  /** The beginning that an earlier `get` left is of an object that has changed since. */
  readonly onChanged: () => void;
}

export interface FetchedFile {
  readonly size: number;
  /** How many bytes of it an earlier `get` had brought. */
  readonly resumed: number;
}

export const fetchFile = async (
  client: Client,
  address: ObjectAddress,
  path: string,
  { signal, on, force, onChanged }: FetchOptions,
): Promise<FetchedFile> => {
  if (!force && existsSync(path)) throw new CommandError(`'${path}' is there already; replace it with --force.`);
  const part = await PartFile.open(path);
  let resumed = part.at;
  const onBegin: Listener["onBegin"] = (total, there) => {
    if (there < resumed) {
      resumed = 0;
      onChanged();
    }
    on.onBegin(total, there);
  };
  try {
    const fetched = await downloadObject(client, address, part, signal, { ...on, onBegin });
    await part.finish(fetched, force);
    return { size: part.at, resumed };
  } finally {
    await part.close();
  }
};
