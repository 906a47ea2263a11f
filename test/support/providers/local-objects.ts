/** Objects of one volume on a folder, without an engine, and a server for their signed URLs. */
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { LocalObjects } from "../../../adapters/local/volumes/local-objects.ts";
import { createSystemClock, randomIds } from "../../../adapters/shared/runtime/system.ts";
import { serveStorage } from "../../../adapters/shared/volumes/endpoint.ts";
import { signParts } from "../../../adapters/shared/volumes/sign-parts.ts";
import { type StorageMethod, signUrl } from "../../../adapters/shared/volumes/signed-url.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { PartsGrant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { rangesOf } from "../../contracts/volume-uploads.ts";

export interface TestStorage extends AsyncDisposable {
  readonly objects: LocalObjects;
  /** The volume's folder. */
  readonly folder: string;
  readonly uploads: string;
  url(method: StorageMethod, path: string): string;
  /** URLs for the parts of an upload, by their lengths. */
  partUrls(path: string, upload: string, lengths: readonly number[]): PartsGrant;
  put(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<Response>;
  /** What the endpoint and the storage logged. */
  readonly complaints: unknown[];
}

const BUCKET = "vol-test";
const KEY = "key";

export const serveObjects = async (root: string): Promise<TestStorage> => {
  const volumes = { isLive: (bucket: string) => bucket === BUCKET, ownerOf: () => undefined };
  const complaints: unknown[] = [];
  const complain = (_message: string, fields?: object) => void complaints.push(fields);
  const logger = { debug: complain, info: complain, warn: complain, error: complain };
  const objects = new LocalObjects({ storage: root, volumes, userOf: () => undefined, ids: randomIds, logger });
  await objects.open();
  mkdirSync(join(root, "volumes", BUCKET), { recursive: true });
  const clock = createSystemClock();
  const server = createServer({ requestTimeout: 0 }, (req, res) =>
    serveStorage({ objects, key: KEY, clock, logger }, req, res),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url: TestStorage["url"] = (method, path) =>
    signUrl(KEY, base, { method, bucket: BUCKET, path: path as ObjectPath }, instantOfMillis(Date.now() + 3_600_000))
      .url;
  return {
    objects,
    folder: join(root, "volumes", BUCKET),
    uploads: join(root, "uploads"),
    url,
    partUrls: (path, id, lengths) => {
      const upload = { volume: { id: BUCKET } as StoredVolume, path: path as ObjectPath, id };
      return signParts(KEY, base, upload, rangesOf(lengths), instantOfMillis(Date.now() + 3_600_000));
    },
    put: (path, body) => fetch(url("PUT", path), { method: "PUT", body }),
    complaints,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
