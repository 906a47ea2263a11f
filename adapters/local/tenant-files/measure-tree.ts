/** Counts the entries and bytes of a folder that tenant code wrote, without following symbolic links. */
import { lstat } from "node:fs/promises";
import { openNames } from "./folder.ts";

export interface TreeMeasure {
  readonly entries: number;
  /** The total size of files and symbolic links. */
  readonly bytes: number;
}

const STATS_AT_ONCE = 64;

const below = (path: Buffer, name: Buffer): Buffer => Buffer.concat([path, Buffer.from("/"), name]);

const sizeOf = async (path: Buffer): Promise<number> => (await lstat(path).catch(() => undefined))?.size ?? 0;

const measure = async (path: Buffer): Promise<TreeMeasure> => {
  let entries = 0;
  let bytes = 0;
  let files: Buffer[] = [];
  const look = async () => {
    for (const size of await Promise.all(files.map(sizeOf))) bytes += size;
    files = [];
  };
  // Unreadable folders count as empty.
  for await (const entry of (await openNames(path).catch(() => undefined)) ?? []) {
    entries++;
    if (entry.isDirectory()) {
      const inner = await measure(below(path, entry.name));
      entries += inner.entries;
      bytes += inner.bytes;
    } else if (files.push(below(path, entry.name)) === STATS_AT_ONCE) await look();
  }
  await look();
  return { entries, bytes };
};

export const measureTree = (path: string): Promise<TreeMeasure> => measure(Buffer.from(path));
