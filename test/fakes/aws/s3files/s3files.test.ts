/** The fake S3 Files matches the service model when the official client calls it. */
import {
  CreateFileSystemCommand,
  CreateMountTargetCommand,
  DeleteFileSystemCommand,
  DeleteMountTargetCommand,
  ListFileSystemsCommand,
  ListMountTargetsCommand,
} from "@aws-sdk/client-s3files";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeS3Files, startFakeS3Files } from "./server.ts";

let files: FakeS3Files;
const roleArn = "arn:aws:iam::123456789012:role/files";
const bucket = "arn:aws:s3:::data";
const buckets = new Map([
  ["data", { versioning: "Enabled" as const }],
  ["plain", { versioning: undefined }],
]);

beforeEach(async () => {
  files = await startFakeS3Files({ buckets });
});
afterEach(() => files.close());

const refused = (sent: Promise<unknown>, name: string) => expect(sent).rejects.toMatchObject({ name });
const create = (more: object = {}) => files.client.send(new CreateFileSystemCommand({ bucket, roleArn, ...more }));
const target = (fileSystemId: string, subnetId: string) =>
  files.client.send(new CreateMountTargetCommand({ fileSystemId, subnetId }));
const list = async () => (await files.client.send(new ListFileSystemsCommand({ bucket }))).fileSystems ?? [];

test("a file system requires a versioned bucket, and is created once per token", async () => {
  await refused(create({ bucket: "arn:aws:s3:::none" }), "ResourceNotFoundException");
  await refused(create({ bucket: "arn:aws:s3:::plain" }), "ValidationException");
  const first = await create({ clientToken: "t" });
  expect(first.status).toBe("creating");
  expect((await create({ clientToken: "t" })).fileSystemId).toBe(first.fileSystemId);
  await refused(create({ clientToken: "other" }), "ConflictException");
});

test("becomes available, has one mount target per zone, and is deleted after them", async () => {
  const { fileSystemId = "" } = await create();
  await refused(target(fileSystemId, "subnet-a"), "ConflictException");
  await list();
  expect((await list())[0]?.status).toBe("available");
  const { mountTargetId = "" } = await target(fileSystemId, "subnet-a");
  await refused(target(fileSystemId, "subnet-a"), "ConflictException");
  const remove = () => files.client.send(new DeleteFileSystemCommand({ fileSystemId }));
  await refused(remove(), "ConflictException");
  await files.client.send(new DeleteMountTargetCommand({ mountTargetId }));
  const targets = async () =>
    (await files.client.send(new ListMountTargetsCommand({ fileSystemId }))).mountTargets ?? [];
  expect((await targets()).map(({ status }) => status)).toEqual(["deleting"]);
  expect(await targets()).toEqual([]);
  await remove();
  await list();
  expect(await list()).toEqual([]);
  await refused(targets(), "ResourceNotFoundException");
});

test("enforces quotas and injects faults", async () => {
  files.maxFileSystems = 0;
  await refused(create(), "ServiceQuotaExceededException");
  files.faults.inject({ nth: 1, kind: "resource_exhausted" });
  await refused(create(), "ThrottlingException");
  files.faults.inject({ nth: 1, kind: "permission_denied" });
  await refused(create(), "AccessDeniedException");
});
