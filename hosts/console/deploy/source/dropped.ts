/** What the user dropped on a page and the next page uses. */
import { signal } from "@preact/signals";

/** A file or a folder of a drop, and the file if the browser gives it directly. */
export interface DroppedItem {
  readonly entry: FileSystemEntry | null;
  readonly file: File | null;
}

/** The items of the latest drop; undefined after a page has used them. */
export const dropped = signal<readonly DroppedItem[] | undefined>(undefined);

/** Returns the items of a drop. Call it in the event's handler, because the browser empties the list afterwards. */
export const itemsOf = (transfer: DataTransfer): readonly DroppedItem[] =>
  [...transfer.items]
    .filter(({ kind }) => kind === "file")
    .map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));

export const hasFiles = (transfer: DataTransfer | null): transfer is DataTransfer =>
  transfer?.types.includes("Files") === true;
