/**
 * The memory provider's storage server. It starts when the first signed URL is created, and listens on a loopback port.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { serveStorage } from "../../shared/volumes/endpoint.ts";
import {
  conditionsHold,
  type ObjectBytes,
  type PutOutcome,
  type WriteConditions,
} from "../../shared/volumes/object-bytes.ts";
import { findBucket, type World } from "../world.ts";

const bytesIn = (world: World, clock: Clock): ObjectBytes => {
  const objectsOf = (bucket: string) => findBucket(world, bucket)?.objects;
  /** Stores an object, unless the volume was deleted or a condition does not hold. */
  const store = (bucket: string, path: ObjectPath, bytes: Uint8Array, conditions: WriteConditions): PutOutcome => {
    const objects = objectsOf(bucket);
    const before = objects?.get(path);
    if (objects === undefined) return { kind: "no_volume" };
    if (!conditionsHold(conditions, before?.etag)) return { kind: "condition_failed" };
    const etag = `"${++world.writes}"`;
    objects.set(path, { bytes, etag, updated: clock.now() });
    return { kind: "stored", etag, created: before === undefined };
  };
  const uploadOf = (bucket: string, path: ObjectPath, id: string) => {
    const upload = findBucket(world, bucket)?.uploads.get(id);
    return upload?.path === path ? upload : undefined;
  };
  return {
    find: async (bucket, path) => {
      const found = objectsOf(bucket)?.get(path);
      if (found === undefined) return undefined;
      const { bytes, etag, updated } = found;
      return {
        size: bytes.length,
        etag,
        modified: millisOf(updated),
        bytes: (start, end) => Readable.from([bytes.subarray(start, end + 1)], { objectMode: false }),
        close: async () => undefined,
      };
    },
    put: async (bucket, path: ObjectPath, body, conditions) => {
      if (objectsOf(bucket) === undefined) return { kind: "no_volume" };
      if (!conditionsHold(conditions, objectsOf(bucket)?.get(path)?.etag)) return { kind: "condition_failed" };
      return store(bucket, path, new Uint8Array(await buffer(body)), conditions);
    },
    putPart: async (bucket, path, id, number, body) => {
      if (uploadOf(bucket, path, id) === undefined) return { kind: "no_upload" };
      const bytes = new Uint8Array(await buffer(body));
      const upload = uploadOf(bucket, path, id);
      if (upload === undefined) return { kind: "no_upload" };
      const etag = `"${++world.writes}"`;
      upload.parts.set(number, { bytes, etag, updated: clock.now() });
      return { kind: "stored", etag };
    },
    complete: async (bucket, path, id, parts, size, conditions) => {
      const upload = uploadOf(bucket, path, id);
      if (upload === undefined) return { kind: "no_upload" };
      const pieces: Uint8Array[] = [];
      for (const { number, etag } of parts) {
        const part = upload.parts.get(number);
        if (part?.etag !== etag) return { kind: "invalid_part", number };
        pieces.push(part.bytes);
      }
      const bytes = new Uint8Array(Buffer.concat(pieces));
      if (bytes.length !== size) return { kind: "wrong_size", size: bytes.length };
      const outcome = store(bucket, path, bytes, conditions);
      if (outcome.kind === "stored") findBucket(world, bucket)?.uploads.delete(id);
      return outcome;
    },
  };
};

export interface MemoryStorage {
  /** The key that signs the URLs. */
  readonly key: string;
  /** Returns the server's base URL. The first call starts the server. */
  base(): Promise<string>;
  close(): Promise<void>;
}

export const createMemoryStorage = (world: World, clock: Clock, logger: Logger): MemoryStorage => {
  const key = randomBytes(32).toString("hex");
  const deps = { objects: bytesIn(world, clock), key, clock, logger };
  let opened: Promise<Server> | undefined;
  const open = (): Promise<Server> =>
    new Promise((resolve, reject) => {
      const handle = (req: IncomingMessage, res: ServerResponse) => serveStorage(deps, req, res);
      const server = createServer({ requestTimeout: 0 }, handle).on("checkContinue", handle);
      server.once("error", reject);
      // The server must not keep the process alive.
      server.listen(0, "127.0.0.1", () => resolve(server)).unref();
    });
  return {
    key,
    base: async () => {
      opened ??= open();
      return `http://127.0.0.1:${((await opened).address() as AddressInfo).port}`;
    },
    close: async () => {
      const server = await opened;
      opened = undefined;
      server?.closeAllConnections();
      await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
    },
  };
};
