/** The files of a drop or a file field, with the paths of their objects. */
import type { ChosenFile } from "./uploads.ts";

const entriesOf = (folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> => {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  // A reader returns at most 100 entries at a time.
  return new Promise((resolve, reject) => {
    const next = (): void =>
      reader.readEntries((entries) => {
        if (entries.length === 0) resolve(all);
        else {
          all.push(...entries);
          next();
        }
      }, reject);
    next();
  });
};

const fileOf = (entry: FileSystemFileEntry): Promise<File> =>
  new Promise((resolve, reject) => entry.file(resolve, reject));

const filesBelow = async (entry: FileSystemEntry, prefix: string): Promise<ChosenFile[]> => {
  const path = prefix + entry.name;
  if (entry.isFile) return [{ path, file: await fileOf(entry as FileSystemFileEntry) }];
  const files: ChosenFile[] = [];
  for (const child of await entriesOf(entry as FileSystemDirectoryEntry))
    files.push(...(await filesBelow(child, `${path}/`)));
  return files;
};

/** Returns the files of a drop, including those in dropped folders. Call it during the event. */
export const droppedFiles = async (transfer: DataTransfer, folder: string): Promise<ChosenFile[]> => {
  // The items become invalid when the event ends, so the entries are read first.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const plain = [...transfer.files];
  const files: ChosenFile[] = [];
  for (const [index, entry] of entries.entries()) {
    const file = plain[index];
    if (entry !== null) files.push(...(await filesBelow(entry, folder)));
    else if (file !== undefined) files.push({ path: folder + file.name, file });
  }
  return files;
};

/** Returns the files of a file field. */
export const chosenFiles = (list: FileList, folder: string): ChosenFile[] =>
  [...list].map((file) => ({ path: folder + (file.webkitRelativePath || file.name), file }));
