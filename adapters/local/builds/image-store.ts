/**
 * Stores images on disk. The folder of an image is named after its account and its cache key. A folder without a
 * manifest is an unfinished build, which the sweep at the server's start removes.
 */
import { createHash } from "node:crypto";
import { existsSync, lstatSync, lutimesSync, readdirSync, type Stats, statSync } from "node:fs";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { diskFaultOf } from "../../shared/runtime/disk-fault.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { Leftovers } from "../data-folder/leftovers.ts";
import { readText } from "../tenant-files/read-text.ts";

export const MANIFEST = "image.json";

const unpackedSchema = z.object({
  kind: z.enum(["node", "python", "procfile", "static"]),
  /** A command for `sh -c`, run in the source's folder. */
  command: z.string(),
  /** Folders at the front of the command's PATH. */
  path: z.array(z.string()),
  /** Folders of this machine that the command needs. The sandbox mounts them at the same paths. */
  needs: z.array(z.string()),
  /** Files outside of the image that the command needs. Earlier versions did not record them. */
  requires: z.array(z.string()).default([]),
  /** True if the image contains Node's compile cache. */
  compiled: z.boolean().optional(),
});

const containerSchema = z.object({
  kind: z.literal("container"),
  /** The id of the image in the container engine. */
  id: z.string(),
});

const manifestSchema = z.discriminatedUnion("kind", [unpackedSchema, containerSchema]);

export type UnpackedManifest = z.output<typeof unpackedSchema>;
export type ContainerManifest = z.output<typeof containerSchema>;
export type ImageManifest = z.output<typeof manifestSchema>;

/** A built source that runs with this machine's programs. */
export interface UnpackedImage extends UnpackedManifest {
  /** The folder with the built source. */
  readonly app: string;
}

/** Error codes of a process or machine that is short of files or memory. */
const shortages = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Returns the result of `read`, or `fallback` if it throws. Throws in a shortage, because the file may be intact, and
 * the sweep would delete the image.
 */
const readOr = <T, F>(read: () => T, fallback: F): T | F => {
  try {
    return read();
  } catch (error) {
    if (shortages.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return fallback;
  }
};

/** Returns the manifest in the image's folder; undefined if it is missing or incomplete. */
export const readManifest = (folder: string): ImageManifest | undefined =>
  readOr(() => manifestSchema.parse(JSON.parse(readText(join(folder, MANIFEST)))), undefined);

/** The failure of a revision whose image is missing or damaged. */
export const imageMissing: DeployFailure = {
  reason: "image_not_found",
  message: "The image of this revision is missing or damaged. Deploy the source again.",
};

export type Image = (UnpackedImage | ContainerManifest) & { readonly reference: string };

const MAX_UNUSED = 10;
const MAX_UNUSED_MS = 7 * 86_400_000;
/** The sweep keeps images that were used within this time, because a rollout may still need them. */
const FRESH_MS = 60 * 60_000;

/** Returns a hash, because account ids may contain any characters. */
export const ownerFolder = (owner: AccountId): string => createHash("sha256").update(owner).digest("hex").slice(0, 24);

/** Returns the key of a result that depends only on these inputs. */
export const cacheKey = (inputs: readonly string[]): string =>
  createHash("sha256").update(inputs.join("\0")).digest("hex").slice(0, 32);

const SCHEME = "local://";

interface ReadManifest {
  readonly file: Stats;
  readonly manifest: ImageManifest | undefined;
}

/** Returns whether two checks found the same file, with no change in between. */
const isUnchanged = (before: Stats, now: Stats): boolean =>
  before.ino === now.ino &&
  before.ctimeMs === now.ctimeMs &&
  before.mtimeMs === now.mtimeMs &&
  before.size === now.size;

export class ImageStore {
  readonly #root: string;
  /**
   * The manifests by reference. A list of services needs every manifest, and parsing a file takes longer than checking
   * whether the file has changed.
   */
  readonly #manifests = new Map<string, ReadManifest>();
  readonly #leftovers: Pick<Leftovers, "take">;
  readonly #dropContainer: (id: string) => Promise<void>;

  /** @param dropContainer removes an image from the container engine */
  constructor(
    root: string,
    leftovers: Pick<Leftovers, "take">,
    dropContainer: (id: string) => Promise<void> = async () => undefined,
  ) {
    this.#root = root;
    this.#leftovers = leftovers;
    this.#dropContainer = dropContainer;
  }

  reference(owner: AccountId, key: string): string {
    return `${SCHEME}${ownerFolder(owner)}/${key}`;
  }

  folder(reference: string): string {
    // `join` would normalize the root again for every image of a list.
    return `${this.#root}/${reference.slice(SCHEME.length)}`;
  }

  appFolder(reference: string): string {
    return `${this.folder(reference)}/app`;
  }

  /** Returns the image; undefined if it is missing or incomplete. */
  find(reference: string): Image | undefined {
    if (!/^local:\/\/[0-9a-f]{24}\/[0-9a-f]{32}$/.test(reference)) return undefined;
    const manifest = this.#manifest(reference);
    if (manifest === undefined || !this.#isWhole(reference, manifest)) return undefined;
    this.#noteUse(reference);
    return manifest.kind === "container"
      ? { ...manifest, reference }
      : { ...manifest, reference, app: this.appFolder(reference) };
  }

  /**
   * Returns whether all files of the image exist, and the image's id in the container engine. The id is undefined for
   * images that the container engine does not store.
   */
  inspect(reference: string): { readonly whole: boolean; readonly containerId: string | undefined } {
    const manifest = this.#manifest(reference);
    const whole = manifest !== undefined && this.#isWhole(reference, manifest);
    return { whole, containerId: manifest?.kind === "container" ? manifest.id : undefined };
  }

  /**
   * Records the time of use, which the sweep reads. Ignores disk errors, because the image can run without the record.
   */
  #noteUse(reference: string): void {
    try {
      lutimesSync(join(this.folder(reference), MANIFEST), new Date(), new Date());
    } catch (error) {
      if (diskFaultOf(error) === undefined) throw error;
    }
  }

  #isWhole(reference: string, manifest: ImageManifest): boolean {
    if (manifest.kind === "container") return true;
    const { path, needs, requires } = manifest;
    return [this.appFolder(reference), ...path, ...needs, ...requires].every((needed) => existsSync(needed));
  }

  /** Creates an empty folder for the build. Removes the leftovers of an earlier build. */
  async begin(reference: string): Promise<string> {
    await this.discard(reference);
    await mkdir(this.folder(reference), { recursive: true, mode: 0o700 });
    await mkdir(this.appFolder(reference), { mode: 0o755 });
    return this.appFolder(reference);
  }

  /** Writes the manifest, which marks the image as complete. */
  async complete(reference: string, manifest: ImageManifest): Promise<void> {
    const file = await open(join(this.folder(reference), MANIFEST), "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(manifest));
      await file.sync();
    } finally {
      await file.close();
    }
  }

  async discard(reference: string): Promise<void> {
    const manifest = this.#manifest(reference);
    if (manifest?.kind === "container") await this.#dropContainer(manifest.id);
    await this.#leftovers.take(this.folder(reference));
    this.#manifests.delete(reference);
  }

  /**
   * Removes each account's unused images. Keeps images that were used within `FRESH_MS`, and the `MAX_UNUSED` most
   * recently used ones, unless their last use was more than `MAX_UNUSED_MS` ago. When the server starts, also removes
   * unfinished images.
   * @param used the references of the images that services and their kept releases use
   * @param atStart whether the server is starting; no build runs then, so every unfinished image is obsolete
   * @param pruned the references of older releases' images, which the sweep does not keep for later builds
   * @returns the folders of this machine that the remaining images need
   */
  async sweep(
    used: ReadonlySet<string>,
    atStart: boolean,
    pruned: ReadonlySet<string> = new Set(),
  ): Promise<ReadonlySet<string>> {
    const needed = new Set<string>();
    for (const references of this.#referencesByOwner()) {
      const images = references.map((reference) => ({
        reference,
        usedAt: modifiedAt(join(this.folder(reference), MANIFEST)),
      }));
      const spare = images
        .filter(({ reference, usedAt }) => usedAt !== undefined && !used.has(reference))
        .sort((a, b) => (b.usedAt ?? 0) - (a.usedAt ?? 0));
      const now = Date.now();
      const obsolete = spare.filter(
        ({ reference, usedAt = 0 }, index) =>
          now - usedAt > FRESH_MS && (index >= MAX_UNUSED || now - usedAt > MAX_UNUSED_MS || pruned.has(reference)),
      );
      // A killed server may have left an empty manifest.
      const unfinished = atStart
        ? images.filter(({ reference }) => !used.has(reference) && this.#manifest(reference) === undefined)
        : [];
      for (const { reference } of [...obsolete, ...unfinished]) await this.discard(reference);
      for (const { reference } of images) {
        const manifest = this.#manifest(reference);
        if (manifest !== undefined && manifest.kind !== "container")
          for (const path of manifest.needs) needed.add(path);
      }
    }
    return needed;
  }

  /** Returns the ids, in the container engine, of all images of this store that were built from a Dockerfile. */
  containerIds(): ReadonlySet<string> {
    const manifests = this.#referencesByOwner().flatMap((references) => references.map((one) => this.#manifest(one)));
    return new Set(manifests.flatMap((manifest) => (manifest?.kind === "container" ? [manifest.id] : [])));
  }

  /** Returns the references of each account's images, including unfinished ones. */
  #referencesByOwner(): string[][] {
    return namesIn(this.#root).map((owner) =>
      namesIn(join(this.#root, owner)).map((key) => `${SCHEME}${owner}/${key}`),
    );
  }

  #manifest(reference: string): ImageManifest | undefined {
    const folder = this.folder(reference);
    const file = lstatOf(`${folder}/${MANIFEST}`);
    if (file === undefined) return undefined;
    const known = this.#manifests.get(reference);
    if (known !== undefined && isUnchanged(known.file, file)) return known.manifest;
    const manifest = readManifest(folder);
    this.#manifests.set(reference, { file, manifest });
    return manifest;
  }
}

const namesIn = (folder: string): string[] => readOr(() => readdirSync(folder), []);

const lstatOf = (path: string): Stats | undefined => tryOr(() => lstatSync(path, { throwIfNoEntry: false }), undefined);

const modifiedAt = (path: string): number | undefined => tryOr(() => statSync(path).mtimeMs, undefined);
