/**
 * Volume folders that the state does not know. The server moves them here and never deletes them: only
 * `portside doctor --purge-quarantine` does. One folder an entry: `entry.json` says what and why, `volume` is the data.
 */
import { chmod, lstat, mkdir, opendir, rename, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { timestampOf } from "../../../core/domain/instant.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { codeOf } from "../tenant-files/folder.ts";

export interface QuarantineConfig {
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Adds up file sizes without following links. Unreadable folders count as empty. */
const sizeOf = async (path: string): Promise<number> => {
  const stats = await lstat(path).catch(() => undefined);
  if (stats?.isDirectory() !== true) return stats?.size ?? 0;
  let bytes = 0;
  const entries = await opendir(path).catch(() => undefined);
  for await (const { name } of entries ?? []) {
    const inner = join(path, name);
    const found = await lstat(inner).catch(() => undefined);
    bytes += found?.isDirectory() === true ? await sizeOf(inner) : (found?.size ?? 0);
  }
  return bytes;
};

export class Quarantine {
  readonly folder: string;
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor({ folder, clock, ids }: QuarantineConfig) {
    this.folder = folder;
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Moves the volume's folder here. Returns its size in bytes, or undefined for an empty folder, which it removes. */
  async take(path: string, id: string, reason: string): Promise<number | undefined> {
    try {
      await rmdir(path);
      return undefined;
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(codeOf(error) ?? "")) throw error;
    }
    const entry = join(this.folder, this.#ids.id());
    await mkdir(entry, { recursive: true, mode: 0o700 });
    const record = { id, reason, quarantined_at: timestampOf(this.#clock.now()) };
    await writeFile(join(entry, "entry.json"), JSON.stringify(record), { flag: "wx", mode: 0o600, flush: true });
    // A service can take away the rights on its volume's folder. Moving a folder needs write permission on it.
    await chmod(path, 0o700);
    await rename(path, join(entry, "volume"));
    return sizeOf(join(entry, "volume"));
  }
}
