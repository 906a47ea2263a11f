/** The recorder writes what the adapter sends, and nothing that a test sends. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { GetRoleCommand, IAMClient } from "@aws-sdk/client-iam";
import { S3Client } from "@aws-sdk/client-s3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clientSource, sendCommand } from "../../../../adapters/aws/clients.ts";
import { clientOptions } from "../protocols.ts";
import { REGION } from "../test-config.ts";
import { recorded } from "./recorder.ts";

// Nothing listens there: the recorder acts before the client connects.
const nowhere = clientOptions("http://127.0.0.1:1");

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-requests-"));
  vi.stubEnv("PORTSIDE_AWS_REQUESTS", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const records = () =>
  readdirSync(folder)
    .flatMap((file) => readFileSync(join(folder, file), "utf8").trim().split("\n"))
    .map((line) => JSON.parse(line));

test("records each distinct command of the adapter once", async () => {
  const clients = clientSource(REGION, { iam: recorded("iam", new IAMClient(nowhere)) });
  const send = (RoleName: string) => sendCommand(clients, "iam", "GetRoleCommand", { RoleName });
  for (const name of ["a", "b", "a"]) await expect(send(name)).rejects.toThrow();
  expect(records()).toEqual([
    { client: "iam", command: "GetRoleCommand", input: { RoleName: "a" } },
    { client: "iam", command: "GetRoleCommand", input: { RoleName: "b" } },
  ]);
});

test("does not record commands of a test", async () => {
  const client = recorded("iam", new IAMClient(nowhere));
  await expect(client.send(new GetRoleCommand({ RoleName: "c" }))).rejects.toThrow();
  expect(records()).toEqual([]);
});

test("keeps dates as text and replaces bytes and streams", async () => {
  const clients = clientSource(REGION, { s3: recorded("s3", new S3Client(nowhere)) });
  const Expires = new Date(0);
  for (const Body of [Buffer.from("x"), Readable.from(["x"])])
    await sendCommand(clients, "s3", "PutObjectCommand", { Bucket: "b", Key: "k", Body, Expires }).catch(
      () => undefined,
    );
  expect(records()).toEqual([
    {
      client: "s3",
      command: "PutObjectCommand",
      input: { Bucket: "b", Key: "k", Body: "(body)", Expires: "1970-01-01T00:00:00.000Z" },
    },
  ]);
});
