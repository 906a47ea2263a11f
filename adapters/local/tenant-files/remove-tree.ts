/**
 * Removes folders that builds and services wrote. Tenant code may still run, and may replace a folder with a symbolic
 * link. Tenant code may also have removed all permissions, or nested folders so deeply that their paths are too long to
 * open.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { chmod, open, rename, rm, rmdir, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { codeOf, Folder, isPathMissing, openNames, throughHandles } from "./folder.ts";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
/** Opens a folder regardless of its permissions. Exists only on Linux, and Node.js does not export it. */
const O_PATH = 0o10000000;

/** Folders below this depth are moved up before their removal, to limit the number of open folders. */
const MAX_DEPTH = 32;
const FILES_AT_ONCE = 64;
const RETRIES = 5;
const RETRY_MS = 20;

const isOneOf = (error: unknown, ...codes: readonly string[]): boolean => codes.includes(codeOf(error) ?? "");

/** Gives this process all permissions on a folder that it owns. Rejects for a symbolic link. */
const permit = async (parent: Folder, name: Buffer): Promise<void> => {
  const path = parent.atBytes(name);
  await using folder = new Folder(await open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW), path.toString());
  await chmod(folder.here, 0o700);
};

/** Runs `act`. If permissions on the folder are missing, adds them and runs `act` again. */
const permitted = async <T>(parent: Folder, name: Buffer, act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (!isOneOf(error, "EACCES", "EPERM")) throw error;
    await permit(parent, name);
    return act();
  }
};

class Removal {
  #movedUp = 0;

  async remove(parent: Folder, name: Buffer, top: Folder | undefined, depth: number): Promise<void> {
    for (let tries = 0; ; tries++) {
      const movedUp = this.#movedUp;
      try {
        await this.#removeOnce(parent, name, top, depth);
        return;
      } catch (error) {
        if (isOneOf(error, "ENOENT")) return;
        // Tenant code added or replaced a file during the removal. Attempts that moved folders up do not count as
        // retries.
        if (!isOneOf(error, "ENOTEMPTY", "EEXIST", "EBUSY") && !isPathMissing(error)) throw error;
        if (movedUp !== this.#movedUp) tries = 0;
        else if (tries >= RETRIES) throw error;
        else await sleep(RETRY_MS);
      }
    }
  }

  async #removeOnce(parent: Folder, name: Buffer, top: Folder | undefined, depth: number): Promise<void> {
    try {
      await unlink(parent.atBytes(name));
      return;
    } catch (error) {
      // The errors of unlink(2) for a folder.
      if (!isOneOf(error, "EISDIR", "EPERM")) throw error;
    }
    if (top !== undefined && depth > MAX_DEPTH) {
      await permitted(parent, name, () => rename(parent.atBytes(name), top.at(randomUUID())));
      this.#movedUp++;
      return;
    }
    {
      await using folder = await permitted(parent, name, () => parent.enter(name));
      await folder.handle.chmod(0o700).catch(() => undefined);
      await this.#empty(folder, top ?? folder, depth);
    }
    await rmdir(parent.atBytes(name));
  }

  async #empty(folder: Folder, top: Folder, depth: number): Promise<void> {
    let files: Buffer[] = [];
    const removeAll = async (names: readonly Buffer[]) =>
      void (await Promise.all(names.map((name) => this.remove(folder, name, top, depth + 1))));
    for await (const entry of await openNames(folder.here, FILES_AT_ONCE)) {
      if (entry.isDirectory()) await this.remove(folder, entry.name, top, depth + 1);
      else files.push(entry.name);
      if (files.length < FILES_AT_ONCE) continue;
      await removeAll(files);
      files = [];
    }
    await removeAll(files);
  }
}

/**
 * Removes a folder by its path, on systems without `/proc/self/fd`. These systems have no sandbox either, so tenant
 * code could remove the same files.
 */
const removeByName = async (path: string): Promise<void> => {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: RETRIES, retryDelay: RETRY_MS });
  } catch {
    await promisify(execFile)("sh", ["-c", 'chmod -R u+rwx "$1" 2>/dev/null; rm -rf "$1"', "sh", path]);
  }
};

/** @param path must be in a folder that tenant code cannot write to */
export const removeTree = async (path: string): Promise<void> => {
  if (!throughHandles) return removeByName(path);
  try {
    // The parent may be a symbolic link, because operators may link the platform's folders to another disk.
    await using parent = new Folder(await open(dirname(path), O_RDONLY | O_DIRECTORY), dirname(path));
    await new Removal().remove(parent, Buffer.from(basename(path)), undefined, 0);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
};
