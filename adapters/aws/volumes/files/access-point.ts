/**
 * Mounts a volume's folder through an access point that maps every request to root. Root owns objects that are uploaded
 * by URL, but services often run as a different user. The file system's policy grants root access.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-access-points-creating.html
 */
import { createHash } from "node:crypto";
import type { CreateAccessPointRequest, ListAccessPointsDescription } from "@aws-sdk/client-s3files";

/** The source of a mount: a folder of a bucket. */
export interface MountSource {
  /** ARN. */
  readonly fileSystem: string;
  /** ARN. If undefined, the service mounts the folder directly, without an access point. */
  readonly accessPoint: string | undefined;
}

/** Returns a unique key for a folder of a bucket. */
export const folderKey = (bucket: string, subPath: string | undefined): string =>
  JSON.stringify([bucket, subPath ?? ""]);

export const pathOf = (subPath: string | undefined): string => `/${subPath ?? ""}`;

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_S3Files_RootDirectory.html */
const MAX_PATH = 100;
const PATH = /^(\/|(\/(?!\.)[^$#<>;`|&?{}^*/\n]+){1,4})$/;

/**
 * Returns whether the folder can have an access point. S3 Files limits the levels, length and characters of its path.
 */
export const canBeAccessPoint = (subPath: string | undefined): boolean => {
  const path = pathOf(subPath);
  return path.length <= MAX_PATH && PATH.test(path);
};

const ROOT = { uid: 0, gid: 0 };

/** The client token makes concurrent calls create only one access point. */
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
    // The first mount creates a missing folder with these permissions.
    creationPermissions: { ownerUid: ROOT.uid, ownerGid: ROOT.gid, permissions: "0755" },
  },
});

/** True if the access point matches the input and is not being deleted. */
export const isAccessPointOf =
  ({ rootDirectory }: CreateAccessPointRequest) =>
  ({ posixUser, rootDirectory: present, status }: ListAccessPointsDescription): boolean =>
    status !== "deleting" &&
    status !== "deleted" &&
    posixUser?.uid === ROOT.uid &&
    posixUser.gid === ROOT.gid &&
    (present?.path ?? "/") === rootDirectory?.path;
