/** The steps that test a volume: transfers through signed URLs, a mount, and the deletion of objects. */
import { randomBytes } from "node:crypto";
import { ApiError } from "../../client/errors.ts";
import { retry } from "../../client/storage/retry.ts";
import { uploadObject } from "../../client/storage/upload.ts";
import { downloadObject, type Sink } from "../volumes/transfer/download.ts";
import { allObjects } from "../volumes/transfer/objects.ts";
import { uploadSource } from "../volumes/transfer/source.ts";
import { deploySeconds } from "./deploy-steps.ts";
import { type Proof, type Step, StepError, waitUntil } from "./proof.ts";
import { deployService } from "./send-deploy.ts";
import { requestService, textOfService } from "./service.ts";
import { MOUNT_PATH } from "./source.ts";

const TEXT = "written through a signed URL";
const BINARY_BYTES = 1024 ** 2;

const upload = ({ client, io, volume }: Proof, path: string, bytes: Uint8Array): Promise<number> => {
  async function* open(): AsyncGenerator<Uint8Array> {
    yield bytes;
  }
  const source = uploadSource({ name: path, size: bytes.length, open }, () => {});
  return uploadObject(client, { volume, path }, source, io.signal, () => {});
};

/** Returns an object's bytes through a new signed URL. */
const download = async ({ client, io, volume }: Proof, path: string): Promise<Buffer> => {
  let pieces: Uint8Array[] = [];
  let etag: string | undefined;
  const sink: Sink = {
    get at() {
      return pieces.reduce((sum, { length }) => sum + length, 0);
    },
    get etag() {
      return etag;
    },
    begin: async (tag) => {
      [pieces, etag] = [[], tag];
    },
    write: async (bytes) => void pieces.push(bytes),
  };
  await downloadObject(client, { volume, path }, sink, io.signal, { onBegin: () => {}, onBytes: () => {} });
  return Buffer.concat(pieces);
};

const expectPaths = async ({ client, io, volume }: Proof, wanted: readonly string[]): Promise<void> => {
  const paths = (await allObjects(client, volume, "", io.signal)).map(({ path }) => path);
  if (paths.join() !== wanted.join())
    throw new StepError(
      `The volume '${volume}' lists ${paths.join(", ") || "no objects"}, not ${wanted.join(", ") || "none"}.`,
    );
};

export const volumeStep: Step = {
  name: "volume",
  needs: ({ volumes }) => [volumes.store],
  after: [],
  seconds: () => 180,
  run: async (proof) => {
    const { client, io, volume } = proof;
    const { created } = await client.createVolume({ name: volume }, { signal: io.signal });
    if (!created)
      throw new StepError(
        `The volume '${volume}' already exists, although the run chose a random name. Run the command again.`,
      );
    const objects = { "folder/binary": randomBytes(BINARY_BYTES), "in.txt": Buffer.from(TEXT) };
    for (const [path, bytes] of Object.entries(objects)) await upload(proof, path, bytes);
    await expectPaths(proof, Object.keys(objects));
    for (const [path, bytes] of Object.entries(objects))
      if (!(await download(proof, path)).equals(bytes))
        throw new StepError(`The object '${path}' differs from the uploaded bytes.`);
    proof.note(`${Object.keys(objects).length} objects through signed URLs`);
  },
};

/** How long a change may take to appear on the other side of a mount. */
const visibleSeconds = ({ capabilities }: Proof): number => capabilities.volumes.visible_seconds + 60;

const readInService = async (proof: Proof): Promise<void> => {
  let seen = "";
  const problem = () => `The service cannot read the uploaded object in its mount: ${seen}.`;
  await waitUntil(proof, visibleSeconds(proof), problem, async () => {
    const response = await requestService(proof, "/file?name=in.txt");
    seen = `${response.status} ${await response.text()}`;
    return seen === `200 ${TEXT}` ? true : undefined;
  });
};

const readFromService = async (proof: Proof): Promise<void> => {
  const text = `written by ${proof.run}`;
  await textOfService(proof, "/file?name=out.txt", { method: "PUT", body: text });
  let seen = "";
  const problem = () => `The file that the service wrote is not in the volume: ${seen}`;
  await waitUntil(proof, visibleSeconds(proof), problem, async () => {
    seen = await download(proof, "out.txt").then(String, (error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return error.message;
      throw error;
    });
    return seen === text ? true : undefined;
  });
};

/** Checks that the platform rejects the deletion of a mounted volume. */
const expectRefusedDelete = async ({ client, io, volume }: Proof): Promise<void> => {
  const status = await client.deleteVolume({ name: volume }, { signal: io.signal }).then(
    () => 200,
    (error: unknown) => {
      if (error instanceof ApiError) return error.status;
      throw error;
    },
  );
  if (status !== 409) throw new StepError(`The deletion of a mounted volume returned the status ${status}, not 409.`);
};

export const mountStep: Step = {
  name: "mount",
  needs: ({ runs, volumes }) => [runs, volumes.store, volumes.mounts],
  after: ["first response", "volume"],
  seconds: (capabilities) => deploySeconds(capabilities) + 2 * (capabilities.volumes.visible_seconds + 60),
  run: async (proof) => {
    await deployService(proof, { volumes: { [MOUNT_PATH]: proof.volume } });
    proof.show("Reading and writing in the mount");
    await readInService(proof);
    await readFromService(proof);
    await expectRefusedDelete(proof);
    proof.note("read and written from both sides");
  },
};

export const emptyStep: Step = {
  name: "empty volume",
  needs: ({ volumes }) => [volumes.store],
  after: ["volume"],
  seconds: () => 120,
  run: async (proof) => {
    const { client, io, volume } = proof;
    const objects = await allObjects(client, volume, "", io.signal);
    for (const { path } of objects)
      await retry(io.signal, () => client.deleteObject({ volume, path }, { signal: io.signal }));
    await expectPaths(proof, []);
    proof.note(`${objects.length} objects deleted`);
  },
};
