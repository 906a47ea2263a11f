/** The objects of a volume, a page after the other. */
import type { ObjectPage } from "../../../../core/domain/volumes/volume.ts";
import type { Client } from "../../client.ts";
import { retry } from "./retry.ts";

export type ListedObject = ObjectPage["objects"][number];

export async function* objectPages(
  client: Client,
  volume: string,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedObject[]> {
  for (let token: string | null = ""; token !== null; ) {
    const query = new URLSearchParams({ volume, prefix, page_token: token });
    const page: ObjectPage = await retry(signal, () => client.call(`/v1/volume/objects?${query}`, { signal }));
    yield page.objects;
    token = page.next_page_token;
  }
}

/** All of them: only for what has to know the whole before it begins. */
export const allObjects = async (client: Client, volume: string, prefix: string, signal: AbortSignal) =>
  (await Array.fromAsync(objectPages(client, volume, prefix, signal))).flat();

/** What the paths of a folder's objects begin with; `/` is the whole volume. */
export const prefixOf = (folder: string): string => {
  const name = folder.replace(/\/+$/, "");
  return name === "" ? "" : `${name}/`;
};

/** A folder of a volume in words. */
export const formatFolder = (volume: string, prefix: string): string =>
  prefix === "" ? `'${volume}'` : `'${prefix}' of '${volume}'`;
