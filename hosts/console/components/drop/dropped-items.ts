/** The files and folders of a drop. */

/** A dropped file or folder. `entry` is null if the browser provides only the file. */
export interface DroppedItem {
  readonly entry: FileSystemEntry | null;
  readonly file: File | null;
}

/** Returns the items of a drop. Call it in the event's handler, because the browser empties the list afterwards. */
export const itemsOf = (transfer: DataTransfer): readonly DroppedItem[] =>
  [...transfer.items]
    .filter(({ kind }) => kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));

export const hasFiles = (transfer: DataTransfer | null): transfer is DataTransfer =>
  transfer?.types.includes("Files") === true;

export const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

/** Reads all entries of a folder. The browser returns them in batches. */
export const entriesOf = async (folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> => {
  const reader = folder.createReader();
  const entries: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) return entries;
    entries.push(...batch);
  }
};

/** Opens the file of an entry that is not a folder. */
export const fileOf = (entry: FileSystemEntry): Promise<File> =>
  new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
