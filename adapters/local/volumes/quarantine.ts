/**
 * Stores volume folders that the state does not list. Only `portside doctor --purge-quarantine` deletes them. Each
 * entry is a folder with `entry.json` (id, reason, record) and `volume` (data).
 */
import { randomUUID } from "node:crypto";
import { chmod, lstat, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { VolumeRecord } from "../state/volumes.ts";
import { codeOf } from "../tenant-files/folder.ts";
import { measureTree } from "../tenant-files/measure-tree.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";

const entrySchema = z.object({
  id: z.string(),
  reason: z.string(),
  quarantined_at: z.string(),
  /** From the volume's record, if it had one. */
  owner: z.string().optional(),
  name: z.string().optional(),
  created_at: z.string().optional(),
});

export interface QuarantineEntry {
  /** The path of the entry's folder. */
  readonly folder: string;
  readonly id: string;
  /** Undefined if the volume had no record. */
  readonly record: VolumeRecord | undefined;
}

/**
 * Moves a volume's folder. If a service has removed the write permission that the move requires, restores the
 * permission.
 */
const move = async (from: string, to: string): Promise<void> => {
  try {
    await rename(from, to);
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(codeOf(error) ?? "") || !(await lstat(from)).isDirectory()) throw error;
    await chmod(from, 0o700);
    await rename(from, to);
  }
};

export class Quarantine {
  readonly folder: string;
  readonly #now: () => string;

  constructor(folder: string, now: () => string) {
    this.folder = folder;
    this.#now = now;
  }

  /**
   * Moves a volume's folder to quarantine and returns its size in bytes. Removes an empty folder instead, and returns
   * undefined.
   */
  async take(path: string, id: string, reason: string, record?: VolumeRecord): Promise<number | undefined> {
    try {
      await rmdir(path);
      return undefined;
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(codeOf(error) ?? "")) throw error;
    }
    const entry = join(this.folder, randomUUID());
    await mkdir(entry, { recursive: true, mode: 0o700 });
    const known = record && { owner: record.owner, name: record.name, created_at: record.createdAt };
    const text = JSON.stringify({ id, reason, quarantined_at: this.#now(), ...known });
    await writeFile(join(entry, "entry.json"), text, { flag: "wx", mode: 0o600, flush: true });
    await move(path, join(entry, "volume"));
    return (await measureTree(join(entry, "volume"))).bytes;
  }

  /** Returns the entries with a valid `entry.json`. */
  async entries(): Promise<QuarantineEntry[]> {
    const folders = (await this.#names()).map((name) => join(this.folder, name));
    const entries = await Promise.all(
      folders.map(async (folder) => {
        const text = await readFile(join(folder, "entry.json"), "utf8").catch(() => "");
        const parsed = entrySchema.safeParse(parseJson(text));
        if (!parsed.success) return undefined;
        const { id, owner, name, created_at: createdAt } = parsed.data;
        const isWhole = owner !== undefined && name !== undefined && createdAt !== undefined;
        const record = isWhole ? ({ id, owner, name, createdAt, deletedAt: null } as VolumeRecord) : undefined;
        return { folder, id, record };
      }),
    );
    return entries.filter((entry) => entry !== undefined);
  }

  /** Moves an entry's data back and removes the entry. */
  async release(entry: QuarantineEntry, to: string): Promise<void> {
    await move(join(entry.folder, "volume"), to);
    await rm(entry.folder, { recursive: true });
  }

  async size(): Promise<{ readonly entries: number; readonly bytes: number }> {
    return { entries: (await this.#names()).length, bytes: (await measureTree(this.folder)).bytes };
  }

  /** Deletes all entries. */
  async purge(): Promise<void> {
    for (const name of await this.#names()) await removeTree(join(this.folder, name));
  }

  async #names(): Promise<string[]> {
    return readdir(this.folder).catch(() => []);
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
