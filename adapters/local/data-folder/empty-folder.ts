import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { removeTree } from "../tenant-files/remove-tree.ts";

/**
 * Removes everything in a folder, one tree after the other, until nothing is left but what could not be removed.
 * @param failed is called for a tree that could not be removed; the next call tries it again
 * @param isOver ends the work after the tree that is being removed
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
