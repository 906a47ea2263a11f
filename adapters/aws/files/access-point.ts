/**
 * A folder of a volume as an access point, by which every request counts as root's whoever the service runs as: what is
 * put by URL is owned by root, and services often run as somebody else. Root's rights are given by the file system's
 * policy. https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-access-points-creating.html
 */
import { createHash } from "node:crypto";
import type { CreateAccessPointRequest, ListAccessPointsDescription } from "@aws-sdk/client-s3files";

/** Where a folder of a bucket is mounted from. */
export interface MountedFrom {
  /** ARN. */
  readonly fileSystem: string;
  /** ARN; undefined: of the file system, by the folder's path. */
  readonly accessPoint: string | undefined;
}

/** What names a folder of a bucket. */
export const folderKey = (bucket: string, subPath: string | undefined): string =>
  JSON.stringify([bucket, subPath ?? ""]);

export const pathOf = (subPath: string | undefined): string => `/${subPath ?? ""}`;

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_S3Files_RootDirectory.html */
const LONGEST = 100;
const PATH = /^(\/|(\/(?!\.)[^$#<>;`|&?{}^*/\n]+){1,4})$/;

/** Whether there can be an access point of the folder: of four levels at most, and not of every name. */
export const canBeAccessPoint = (subPath: string | undefined): boolean => {
  const path = pathOf(subPath);
  return path.length <= LONGEST && PATH.test(path);
};

const ROOT = { uid: 0, gid: 0 };

/** @param bucket whose file system it is; with the path it makes the token, so that calls that race make one */
export const accessPointInput = (
  fileSystemId: string,
  bucket: string,
  subPath: string | undefined,
): CreateAccessPointRequest => ({
  fileSystemId,
  clientToken: createHash("sha256").update(folderKey(bucket, subPath)).digest("hex"),
  posixUser: ROOT,
  rootDirectory: {
    path: pathOf(subPath),
    // A folder that is not there is made so by the first mount.
    creationPermissions: { ownerUid: ROOT.uid, ownerGid: ROOT.gid, permissions: "0755" },
  },
});

/** Whether it is the one that the input makes, and not going. */
export const isAccessPointOf =
  ({ rootDirectory }: CreateAccessPointRequest) =>
  ({ posixUser, rootDirectory: present, status }: ListAccessPointsDescription): boolean =>
    status !== "deleting" &&
    status !== "deleted" &&
    posixUser?.uid === ROOT.uid &&
    posixUser.gid === ROOT.gid &&
    (present?.path ?? "/") === rootDirectory?.path;
