/** The retention of a deployment's releases: their images and their records. */
import { releaseLimits } from "../../accounts/limits.ts";

interface Numbered {
  readonly release: number;
}

interface WithImage extends Numbered {
  readonly image: string;
}

const newestFirst = <R extends Numbered>(releases: readonly R[]): R[] =>
  [...releases].sort((a, b) => b.release - a.release);

/**
 * Returns the images that a platform must keep for rollbacks: those of the newest releases. The newest release serves.
 * @param releases the releases of one deployment, in any order
 * @param kept the setting `releasesKept`
 */
export const keptImages = (releases: readonly WithImage[], kept: number): ReadonlySet<string> =>
  new Set(
    newestFirst(releases)
      .slice(0, kept)
      .map(({ image }) => image),
  );

/** Returns the images that `keptImages` does not return. No rollback of this deployment needs these images. */
export const prunedImages = (releases: readonly WithImage[], kept: number): ReadonlySet<string> => {
  const needed = keptImages(releases, kept);
  return new Set(releases.map(({ image }) => image).filter((image) => !needed.has(image)));
};

/** Returns the number of the oldest release whose record is kept, given the number of the newest. */
export const oldestRecorded = (newest: number): number => newest - releaseLimits.recorded + 1;
