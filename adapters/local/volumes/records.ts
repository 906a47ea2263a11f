/**
 * Stores one record per volume, outside of the volume's folder, where services cannot write. `portside doctor --repair`
 * and `--rebuild` read the records. An intact state takes precedence over the records, and each start corrects them.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { VolumeRecord } from "../state/volumes.ts";

const documentSchema = z.object({
  id: z.string().regex(/^vol-[A-Za-z0-9-]+$/),
  owner: z.string().min(1),
  name: z.string().min(1),
  created_at: z.string().min(1),
  deleted_at: z.string().min(1).optional(),
  /** The checksum of the other fields. */
  checksum: z.string(),
});

const ENDING = ".json";
const PARTIAL_SUFFIX = ".new";

/** Returns the path of a volume's record. */
export const recordPath = (folder: string, id: string): string => join(folder, id + ENDING);

const checksumOf = (fields: object): string =>
  createHash("sha256").update(JSON.stringify(fields)).digest("hex").slice(0, 16);

const render = ({ id, owner, name, createdAt, deletedAt }: VolumeRecord): string => {
  const fields = { id, owner, name, created_at: createdAt, ...(deletedAt === null ? {} : { deleted_at: deletedAt }) };
  return `${JSON.stringify({ ...fields, checksum: checksumOf(fields) })}\n`;
};

/** Returns undefined if the text is damaged. */
const parse = (text: string): VolumeRecord | undefined => {
  try {
    const { id, owner, name, created_at, deleted_at } = documentSchema.parse(JSON.parse(text));
    const record = {
      id,
      owner: owner as AccountId,
      name: name as VolumeName,
      createdAt: created_at as Timestamp,
      deletedAt: (deleted_at ?? null) as Timestamp | null,
    };
    return render(record) === text ? record : undefined;
  } catch {
    return undefined;
  }
};

const syncFolder = async (path: string): Promise<void> => {
  await using folder = await open(path);
  await folder.sync();
};

export class VolumeRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(record: VolumeRecord): Promise<void> {
    const partial = this.#path(`${randomUUID()}${PARTIAL_SUFFIX}`);
    try {
      {
        await using file = await open(partial, "wx", 0o600);
        await file.writeFile(render(record));
        await file.sync();
      }
      await rename(partial, recordPath(this.#folder, record.id));
    } finally {
      await rm(partial, { force: true });
    }
    await syncFolder(this.#folder);
  }

  /** The caller must remove the volume's folder first. */
  async remove(id: string): Promise<void> {
    await rm(recordPath(this.#folder, id), { force: true });
  }

  /** Returns every readable record. */
  async all(): Promise<VolumeRecord[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const records = await Promise.all(names.map((name) => this.#read(name)));
    return records.filter((record) => record !== undefined);
  }

  /** Corrects the records: writes missing, damaged and outdated records, and removes records without a volume. */
  async correct(volumes: readonly VolumeRecord[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const texts = new Map((await this.all()).map((record) => [record.id, render(record)]));
    const needed = new Set(volumes.map(({ id }) => id + ENDING));
    for (const name of await readdir(this.#folder)) if (!needed.has(name)) await rm(this.#path(name), { force: true });
    for (const volume of volumes) if (texts.get(volume.id) !== render(volume)) await this.write(volume);
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  async #read(name: string): Promise<VolumeRecord | undefined> {
    if (!name.endsWith(ENDING)) return undefined;
    const record = parse(await readFile(this.#path(name), "utf8").catch(() => ""));
    return record?.id === name.slice(0, -ENDING.length) ? record : undefined;
  }
}
