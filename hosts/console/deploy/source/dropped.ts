/** The items that the user dropped on one page, for the next page. */
import { signal } from "@preact/signals";
import type { DroppedItem } from "../../components/drop/dropped-items.ts";

/** The items of the latest drop; undefined after a page has used them. */
export const dropped = signal<readonly DroppedItem[] | undefined>(undefined);
