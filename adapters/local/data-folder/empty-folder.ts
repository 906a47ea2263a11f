import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";

/**
 * Removes all entries of a folder, one at a time. Skips entries that cannot be removed.
 * @param failed called for each entry that cannot be removed
 * @param isOver called between entries; returns true to end the removal
 */
export const emptyFolder = async (
  folder: string,
  failed: (name: string, error: unknown) => void,
  isOver: () => boolean = () => false,
): Promise<void> => {
  const skipped = new Set<string>();
  while (!isOver()) {
    const names = (await readdir(folder)).filter((name) => !skipped.has(name));
    if (names.length === 0) return;
    for (const name of names) {
      if (isOver()) return;
      await removeTree(join(folder, name)).catch((error: unknown) => {
        skipped.add(name);
        failed(name, error);
      });
    }
  }
};
