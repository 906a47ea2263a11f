/**
 * Volumes across a kill: what a client knows before and must find after it. A created volume exists or is in the trash;
 * an uploaded object is complete; every mount exists.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import type { TrashedVolume, Volume } from "../../../core/domain/volumes/volume.ts";
import type { Client } from "../http/served.ts";

interface KnownVolume {
  /** The volume was created, and the client sent no delete. */
  lives: boolean;
  /** The server answered a delete, and the client has not changed the volume since. */
  deleted: boolean;
  /** The content of each object, or the possible contents if an upload was interrupted. */
  readonly objects: Map<string, { readonly was: string | undefined; readonly becomes: string | undefined }>;
}

const names = ["data", "more"];

/** The volumes that a deployment of this workload mounts. */
export const mountsFor = (random: () => number): Record<string, string> =>
  Object.fromEntries(names.filter(() => random() < 0.5).map((name) => [`/srv/crash/${name}`, name]));

export class VolumeWork {
  readonly known = new Map<string, KnownVolume>();
  readonly #client: Client;
  readonly #random: () => number;
  #puts = 0;
  #over = false;

  constructor(client: Client, random: () => number) {
    this.#client = client;
    this.#random = random;
  }

  stop(): void {
    this.#over = true;
  }

  /** Creates, fills, deletes and restores in sequence, until it is stopped or killed. */
  async lane(): Promise<void> {
    while (!this.#over) {
      const name = names[Math.floor(this.#random() * names.length)] as string;
      const choice = this.#random();
      if (choice < 0.3) await this.#create(name);
      else if (choice < 0.8) await this.#put(name);
      else if (choice < 0.9) await this.#delete(name);
      else await this.#attempt("/v1/volume/restore", { name });
      await sleep(2);
    }
  }

  #of(name: string): KnownVolume {
    const known = this.known.get(name) ?? { lives: false, deleted: false, objects: new Map() };
    this.known.set(name, known);
    return known;
  }

  /** A call that may fail in the current state; returns whether it succeeded. */
  async #attempt(path: string, body: object): Promise<boolean> {
    try {
      await this.#client.post(path, body);
      return true;
    } catch (error) {
      if (/returned 4\d\d/.test((error as Error).message)) return false;
      throw error;
    }
  }

  async #create(name: string): Promise<void> {
    const known = this.#of(name);
    known.deleted = false;
    await this.#client.post("/v1/volume/create", { name });
    known.lives = true;
  }

  async #put(name: string): Promise<void> {
    const known = this.#of(name);
    if (!known.lives) return;
    const path = `folder/${Math.floor(this.#random() * 4)}`;
    const body = `${name} ${++this.#puts} `.repeat(5000);
    const was = known.objects.get(path)?.becomes;
    const { url } = await this.#client.post<{ url: string }>("/v1/volume/upload", { volume: name, path });
    known.objects.set(path, { was, becomes: body });
    const response = await fetch(url, { method: "PUT", body, signal: AbortSignal.timeout(30_000) });
    if (!response.ok) throw new Error(`a put was answered ${response.status}`);
    known.objects.set(path, { was: body, becomes: body });
  }

  async #delete(name: string): Promise<void> {
    const known = this.#of(name);
    // Either outcome is possible until the response. Restored volumes are not tracked.
    const lived = known.lives;
    known.lives = false;
    const done = await this.#attempt("/v1/volume/delete", { name });
    if (!done) known.lives = lived;
    known.deleted = done;
    if (done) known.objects.clear();
  }
}

const assert = (holds: boolean, words: string, about?: unknown): void => {
  if (!holds) throw new Error(`${words}: ${JSON.stringify(about)}`);
};

const checkObjects = async (client: Client, name: string, { objects }: KnownVolume): Promise<void> => {
  for (const [path, { was, becomes }] of objects) {
    if (was === undefined) continue;
    const { url } = await client.post<{ url: string }>("/v1/volume/download", { volume: name, path });
    const text = await (await fetch(url)).text();
    assert([was, becomes].includes(text), `'${name}/${path}' is neither the old nor the new object`, text.slice(0, 80));
  }
};

export const checkVolumes = async (
  client: Client,
  dataDir: string,
  known: ReadonlyMap<string, KnownVolume>,
  deployments: readonly Deployment[],
): Promise<void> => {
  const volumes = await client.get<Volume[]>("/v1/volume/list");
  const trash = await client.get<TrashedVolume[]>("/v1/volume/trash");
  for (const deployment of deployments)
    for (const { name } of Object.values(deployment.volumes)) {
      const volume = volumes.find((one) => one.name === name);
      assert(volume !== undefined, "a mounted volume does not exist", { deployment, volumes });
      assert(volume?.attached_to.includes(deployment.name) === true, "a mount is not listed", { deployment, volume });
    }
  for (const { name, attached_to } of volumes)
    for (const mounter of attached_to) {
      const mounted = deployments.find((one) => one.name === mounter)?.volumes ?? {};
      assert(
        Object.values(mounted).some((mount) => mount.name === name),
        "a mount is listed that does not exist",
        { name, mounter },
      );
    }
  for (const [name, one] of known) {
    const lives = volumes.some((volume) => volume.name === name);
    if (one.lives) assert(lives, "a volume is missing", { name, volumes, trash });
    if (one.deleted && !lives)
      assert(
        trash.some((volume) => volume.name === name),
        "a deleted volume cannot be restored",
        { name, trash },
      );
    if (one.lives) await checkObjects(client, name, one);
  }
  const uploads = join(dataDir, "storage", "uploads");
  assert(existsSync(uploads) && readdirSync(uploads).length === 0, "a partial upload was not deleted");
  const folders = readdirSync(join(dataDir, "storage", "volumes")).sort();
  const ids = [...volumes, ...trash].map(({ id }) => id).sort();
  assert(JSON.stringify(folders) === JSON.stringify(ids), "folders and volumes differ", { folders, ids });
};
