/** The files of a drop or a file field, with the paths of their objects. */
import { type DroppedItem, entriesOf, fileOf, isFolder } from "../components/drop/dropped-items.ts";
import type { ChosenFile } from "./uploads.ts";

const filesBelow = async (entry: FileSystemEntry, folder: string): Promise<ChosenFile[]> => {
  const path = folder + entry.name;
  if (!isFolder(entry)) return [{ path, file: await fileOf(entry) }];
  const files: ChosenFile[] = [];
  for (const child of await entriesOf(entry)) files.push(...(await filesBelow(child, `${path}/`)));
  return files;
};

/** Returns the files of a drop, including those in dropped folders. */
export const droppedFiles = async (items: readonly DroppedItem[], folder: string): Promise<ChosenFile[]> => {
  const files: ChosenFile[] = [];
  for (const { entry, file } of items)
    if (entry !== null) files.push(...(await filesBelow(entry, folder)));
    else if (file !== null) files.push({ path: folder + file.name, file });
  return files;
};

/** Returns the files of a file field. */
export const chosenFiles = (list: FileList, folder: string): ChosenFile[] =>
  [...list].map((file) => ({ path: folder + (file.webkitRelativePath || file.name), file }));
