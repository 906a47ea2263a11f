/** Pages of objects and folders. */
import type { ObjectEntry, ObjectListing } from "../../../core/ports/volume-store.ts";

/** An object, or the path of a folder with a trailing `/`. */
export type Listed = ObjectEntry | string;

export const pathOf = (listed: Listed): string => (typeof listed === "string" ? listed : listed.path);

/**
 * Returns a page of the listed objects and folders.
 * @param found sorted by path, without duplicates; more than `limit` entries if more follow the page
 */
export const listingOf = (found: readonly Listed[], limit: number): ObjectListing => {
  const page = found.slice(0, limit);
  return {
    objects: page.filter((one) => typeof one !== "string"),
    folders: page.filter((one) => typeof one === "string"),
    more: found.length > limit,
  };
};
