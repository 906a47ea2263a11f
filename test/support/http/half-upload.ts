/** Uploads that stop halfway, over a connection that the test controls. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { tarGz } from "../archives/archives.ts";
import { eventually } from "../vitest/eventually.ts";
import { openRaw, type RawConnection } from "./clients.ts";
import type { DiskApi } from "./disk-api.ts";
import { aroundFile, formType } from "./multipart.ts";

/** A megabyte that does not compress. */
export const bigArchive = tarGz([{ path: "data.bin", content: randomBytes(1024 * 1024) }]);

export interface HalfUpload extends RawConnection {
  /** Sends the other half. */
  finish(): void;
}

const sendHalf = async (api: DiskApi, account: string): Promise<HalfUpload> => {
  const { before: start, after: end } = aroundFile({ function_name: `app-${account}`, volumes: "{}" });
  const body = Buffer.concat([start, bigArchive, end]);
  const half = start.length + bigArchive.length / 2;
  const head = [
    "POST /v1/deploy HTTP/1.1",
    "Host: x",
    `X-API-Key: ${await api.key(account)}`,
    `Content-Type: ${formType}`,
    `Content-Length: ${body.length}`,
    "Connection: close",
  ];
  const connection = openRaw(api.url);
  connection.socket.write(`${head.join("\r\n")}\r\n\r\n`);
  connection.socket.write(body.subarray(0, half));
  return { ...connection, finish: () => void connection.socket.write(body.subarray(half)) };
};

/**
 * Sends half of an upload, and waits until some of it has been stored. Retries if the server rejects the upload,
 * because an aborted upload releases its slot only after its file is deleted.
 */
export const uploadHalf = async (api: DiskApi, account = "acme"): Promise<HalfUpload> => {
  const before = (await api.spooled()).length;
  const upload = await sendHalf(api, account);
  let refused = false;
  upload.received("HTTP/1.1 429 ").then(
    () => (refused = true),
    () => undefined,
  );
  await eventually(async () => refused || expect((await api.spooled()).length).toBeGreaterThan(before));
  if (!refused) return upload;
  upload.socket.destroy();
  return uploadHalf(api, account);
};
