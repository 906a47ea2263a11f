/** Paths of folders and objects in a volume. */

/** Returns the folders that contain a path, from the outermost: `a/` and `a/b/` for `a/b/c`. */
export const parentsOf = (path: string): readonly string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index + 1)).filter((folder) => folder !== path);

/** Returns the last part of a path, with the slash of a folder. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf("/", path.length - 2) + 1);

/** Returns the folder that contains an object, or "" for the top of the volume. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/") + 1);

const imageTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  // An `<img>` does not run scripts in an SVG.
  svg: "image/svg+xml",
};

/** Returns the media type of an image that browsers can show, from the extension of its path. */
export const imageTypeOf = (path: string): string | undefined =>
  imageTypes[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""];

/**
 * Decodes the beginning of an object. Returns undefined if the bytes are not text in UTF-8. Omits a character that is
 * incomplete at the end of the bytes.
 */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
};
