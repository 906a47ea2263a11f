/** Finds objects of a volume by their paths. */
import { client } from "../shell/session.ts";
import { folderOf } from "./paths.ts";

/** The maximum number of objects that are looked up one by one in a large folder. */
const MAX_LOOKUPS = 100;

/** Returns an object with its size and modification time, or undefined if it does not exist. */
export const findObject = async (
  { volume, path }: { readonly volume: string; readonly path: string },
  signal?: AbortSignal,
) => {
  // The listing is ordered, so an object precedes the other paths that begin with its own.
  const { objects } = await client.listObjects({ volume, prefix: path, limit: 1 }, { signal });
  return objects[0]?.path === path ? objects[0] : undefined;
};

/** Returns the paths of one folder that exist. Lists the folder, unless looking up each path is cheaper. */
const existingIn = async (volume: string, prefix: string, paths: readonly string[]): Promise<readonly string[]> => {
  const found = new Set<string>();
  let page_token: string | null = "";
  do {
    const page: Awaited<ReturnType<typeof client.listObjects>> = await client.listObjects({
      volume,
      prefix,
      delimiter: "/",
      page_token,
    });
    for (const { path } of page.objects) found.add(path);
    page_token = page.next_page_token;
    const rest = paths.filter((path) => !found.has(path));
    if (page_token === null || rest.length > MAX_LOOKUPS) continue;
    for (const path of rest) if ((await findObject({ volume, path })) !== undefined) found.add(path);
    break;
  } while (page_token !== null);
  return paths.filter((path) => found.has(path));
};

/** Returns the paths that exist. */
export const existingPaths = async (volume: string, paths: readonly string[]): Promise<readonly string[]> => {
  const byFolder = Map.groupBy(new Set(paths), folderOf);
  const found: string[] = [];
  for (const [prefix, members] of byFolder) found.push(...(await existingIn(volume, prefix, members)));
  return found;
};
