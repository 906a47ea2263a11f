/** Lists the objects of a volume, page by page. */
import type { FOLDER_DELIMITER } from "../../../../core/domain/volumes/object-path.ts";
import type { ObjectPage } from "../../../../core/domain/volumes/volume.ts";
import type { Client } from "../../../client/client.ts";
import { retry } from "../../../client/storage/retry.ts";

export type ListedObject = ObjectPage["objects"][number];

export async function* objectPages(
  client: Client,
  volume: string,
  prefix: string,
  signal: AbortSignal,
  delimiter: typeof FOLDER_DELIMITER | "" = "",
): AsyncGenerator<ObjectPage> {
  for (let token: string | null = ""; token !== null; ) {
    const request = { volume, prefix, delimiter, page_token: token };
    const page: ObjectPage = await retry(signal, () => client.listObjects(request, { signal }));
    yield page;
    token = page.next_page_token;
  }
}

/** Collects all pages, for commands that need the complete list before they start. */
export const allObjects = async (client: Client, volume: string, prefix: string, signal: AbortSignal) =>
  (await Array.fromAsync(objectPages(client, volume, prefix, signal))).flatMap(({ objects }) => objects);

/** Returns the prefix of a folder's object paths: "" for `/`, the whole volume. */
export const prefixOf = (folder: string): string => {
  const name = folder.replace(/\/+$/, "");
  return name === "" ? "" : `${name}/`;
};

export const formatFolder = (volume: string, prefix: string): string =>
  prefix === "" ? `'${volume}'` : `'${prefix}' in '${volume}'`;
