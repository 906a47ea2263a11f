/** Downloads an object to a local file, and shows the progress. */
import { existsSync } from "node:fs";
import type { Client } from "../../../client/client.ts";
import type { ObjectAddress } from "../../../client/storage/parts-upload.ts";
import { CommandError } from "../../terminal/io.ts";
import { downloadObject, type Listener } from "./download.ts";
import { PartFile } from "./part-file.ts";
import type { ProgressBar } from "./progress-bar.ts";

/** Returns a listener that moves the bar for one object, even if its download starts over. */
export const progressListener = (bar: ProgressBar, onBegin: Listener["onBegin"] = () => {}): Listener => {
  let shown = 0;
  return {
    onBegin: (total, offset) => {
      onBegin(total, offset);
      bar.skip(offset - shown);
      shown = offset;
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
  /** Replaces an existing file. */
  readonly force: boolean;
  /** Called if the object has changed since the partial download. */
  readonly onChanged: () => void;
}

/** Resolves to the object's size, and to the number of bytes reused from a partial download. */
export const fetchFile = async (
  client: Client,
  address: ObjectAddress,
  path: string,
  { signal, on, force, onChanged }: FetchOptions,
) => {
  if (!force && existsSync(path)) throw new CommandError(`'${path}' already exists. Replace it with --force.`);
  const part = await PartFile.open(path);
  let resumed = part.at;
  const onBegin: Listener["onBegin"] = (total, offset) => {
    if (offset < resumed) {
      resumed = 0;
      onChanged();
    }
    on.onBegin(total, offset);
  };
  try {
    const modified = await downloadObject(client, address, part, signal, { ...on, onBegin });
    await part.finish(modified, force);
    return { size: part.at, resumed };
  } finally {
    await part.close();
  }
};
