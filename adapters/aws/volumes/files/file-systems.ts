/**
 * Mounts volumes as folders. A bucket gets an S3 Files file system at its first mount, with a mount target per subnet.
 * Only the account's own role may mount the file system.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files.html
 */
import type { CreateAccessPointRequest, ListFileSystemsDescription } from "@aws-sdk/client-s3files";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, safeTry } from "../../../../core/result.ts";
import type { ApiResult } from "../../../cloud/calls/expect-states.ts";
import type { FaultOf } from "../../../cloud/calls/provider-call.ts";
import { runtimeRoleArn } from "../../accounts/roles.ts";
import { arnParts, bucketArn } from "../../arns.ts";
import { type AwsRuntimeDeps, awsCalls, nameOf } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { AwsConfig } from "../../config.ts";
import { awsFault } from "../../errors.ts";
import { OWNER_TAG } from "../bucket-settings.ts";
import { ownerOfBucket } from "../names.ts";
import { accessPointInput, canBeAccessPoint, isAccessPointOf, type MountSource } from "./access-point.ts";
import { FilesApi } from "./api.ts";

/** How long to wait for each new resource. Creating a file system takes minutes; AWS documents no bound. */
const CREATE_TIMEOUT_MS = 600_000;
/** How long to wait for a deletion, or for S3 Files to accept a policy with a new role. The next call tries again. */
const DELETE_TIMEOUT_MS = 120_000;
const POLL_MS = 2000;

export interface FileSystemsDeps {
  readonly config: AwsConfig;
  readonly clients: ClientSource;
  readonly runtime: AwsRuntimeDeps;
}

/** Grants read, write and root access. Root access is needed because root owns objects without owner metadata. */
const policyFor = (role: string): object => ({
  Version: "2012-10-17",
  Statement: [
    {
      Sid: "OwnServices",
      Effect: "Allow",
      Principal: { AWS: role },
      Action: ["s3files:ClientMount", "s3files:ClientWrite", "s3files:ClientRootAccess"],
    },
  ],
});

interface Removal {
  readonly api: FilesApi;
  readonly wasDenied: () => boolean;
}

/** True if permission was denied. Expired credentials do not count: the same call may succeed later. */
const isDenied = (error: unknown): boolean => nameOf(error)?.startsWith("AccessDenied") === true;

const failedResource = (what: string, message: string | undefined): Unavailable =>
  unavailable(`S3 Files reports a failed ${what}: ${message ?? "no reason given"}.`, 60);

/** Deletes the file system step by step. Returns true once it is deleted or the deletion is denied. */
const isRemoved = (
  fileSystemId: string,
  options: CallOptions,
  { api, wasDenied }: Removal,
): ApiResult<true | undefined> =>
  safeTry(async function* () {
    const targets = yield* await api.mountTargets(fileSystemId, options);
    for (const { mountTargetId = "" } of targets.filter((target) => !isDeleting(target)))
      yield* await api.deleteMountTarget(mountTargetId, options);
    const points = yield* await api.accessPoints(fileSystemId, options);
    for (const { accessPointId = "" } of points.filter((point) => !isDeleting(point)))
      yield* await api.deleteAccessPoint(accessPointId, options);
    if (wasDenied()) return ok(true as const);
    if ([...points, ...targets].some(({ status }) => status !== "deleted")) return ok(undefined);
    return api.deleteFileSystem(fileSystemId, options).map((end) => (end === "done" ? (true as const) : undefined));
  });

/** True while S3 Files can serve the resource. */
const isReady = ({ status }: { readonly status?: string | undefined }): boolean =>
  status === "available" || status === "updating";

const isDeleting = ({ status }: { readonly status?: string | undefined }): boolean =>
  status === "deleting" || status === "deleted";

export interface FileSystems {
  /**
   * Makes a folder of a volume's bucket mountable from every subnet of the platform. Returns its mount source. Only
   * services of the bucket's account may mount it; their role must exist. Fails with `unavailable` on abort or after a
   * timeout.
   */
  mountable(bucket: string, subPath: string | undefined, options?: CallOptions): ApiResult<MountSource>;
  /**
   * Deletes the bucket's file system, including data that S3 Files has not exported to the bucket. Fails with
   * `unavailable` if the deletion takes too long; the next call continues the deletion. If S3 Files denies permission,
   * leaves the file system in place and logs a warning.
   */
  remove(bucket: string, options: CallOptions): ApiResult<void>;
}

export const createFileSystems = ({ config, clients, runtime }: FileSystemsDeps): FileSystems => {
  const { clock, logger } = runtime;
  const { filesRoleArn, subnets, filesSecurityGroup } = config.shared;
  const arn = arnParts(filesRoleArn);
  const api = new FilesApi(clients, awsCalls(runtime));
  let hasLoggedDenial = false;

  /** Polls until `poll` returns a value. */
  const pollUntil = <T>(
    timeoutMs: number,
    { signal }: CallOptions,
    poll: () => ApiResult<T | undefined>,
  ): ApiResult<T> =>
    safeTry(async function* () {
      const end = millisOf(clock.now()) + timeoutMs;
      for (;;) {
        const found = yield* await poll();
        if (found !== undefined) return ok(found);
        if (signal?.aborted === true || millisOf(clock.now()) + POLL_MS > end)
          return err(unavailable("S3 Files is still creating or deleting the mount. Try again in a moment.", 30));
        await clock.sleep(POLL_MS, signal);
      }
    });

  const ofBucket = (bucket: string, options: CallOptions, files = api): ApiResult<ListFileSystemsDescription[]> =>
    files.fileSystems(bucketArn(arn, bucket), options).map((all) => all.filter(({ status }) => status !== "deleted"));

  /** Returns the file system once it is available; undefined until then. */
  const fileSystem = (bucket: string, options: CallOptions): ApiResult<ListFileSystemsDescription | undefined> =>
    safeTry(async function* () {
      const [present] = yield* await ofBucket(bucket, options);
      if (present?.status === "error") return err(failedResource("file system", present.statusMessage));
      if (present !== undefined) return ok(isReady(present) ? present : undefined);
      const tags = [
        { key: "Name", value: bucket },
        { key: OWNER_TAG, value: ownerOfBucket(bucket) },
      ];
      // The client token makes concurrent calls create only one file system. The accepted warning is about slow renames
      // in large buckets.
      const once = { clientToken: bucket, acceptBucketWarning: true };
      const input = { bucket: bucketArn(arn, bucket), roleArn: filesRoleArn, tags, ...once };
      return api.createFileSystem(input, options).map(() => undefined);
    });

  /** Returns true once every subnet has a usable mount target; undefined until then. */
  const hasMountTargets = (fileSystemId: string, options: CallOptions): ApiResult<true | undefined> =>
    safeTry(async function* () {
      const targets = yield* await api.mountTargets(fileSystemId, options);
      const failed = targets.find(({ status }) => status === "error");
      if (failed !== undefined) return err(failedResource("mount target", failed.statusMessage));
      const used = new Set(targets.map(({ subnetId }) => subnetId));
      for (const subnetId of subnets.filter((subnet) => !used.has(subnet))) {
        const input = { fileSystemId, subnetId, securityGroups: [filesSecurityGroup] };
        const created = yield* await api.createMountTarget(input, options);
        // A zone has one mount target for all its subnets. That target may be in another subnet.
        if (created === "done") return ok(undefined);
      }
      return ok(targets.length > 0 && targets.every(isReady) ? (true as const) : undefined);
    });

  /** Returns the access point's ARN once it is available; undefined until then. */
  const accessPoint = (input: CreateAccessPointRequest, options: CallOptions): ApiResult<string | undefined> =>
    safeTry(async function* () {
      const points = yield* await api.accessPoints(input.fileSystemId ?? "", options);
      const present = points.find(isAccessPointOf(input));
      if (present === undefined) return api.createAccessPoint(input, options).map(() => undefined);
      if (present.status === "error") return err(failedResource("access point", undefined));
      return ok(isReady(present) ? present.accessPointArn : undefined);
    });

  /**
   * Returns an API that treats denied calls as if the resource did not exist. Logs only the first denial, because it
   * applies to every volume.
   */
  const removal = (): Removal => {
    let wasDenied = false;
    const faultOf: FaultOf = (error) => {
      if (!isDenied(error)) return awsFault(error);
      wasDenied = true;
      if (!hasLoggedDenial)
        logger.warn("S3 Files denied the deletion of file systems; the file systems of purged volumes remain", {
          error,
        });
      hasLoggedDenial = true;
      return { kind: "state", code: "not_found" };
    };
    return { api: new FilesApi(clients, awsCalls(runtime, faultOf)), wasDenied: () => wasDenied };
  };

  return {
    mountable: (bucket, subPath, options = {}) =>
      safeTry(async function* () {
        const { fileSystemId = "", fileSystemArn = "" } = yield* await pollUntil(CREATE_TIMEOUT_MS, options, () =>
          fileSystem(bucket, options),
        );
        yield* await pollUntil(CREATE_TIMEOUT_MS, options, () => hasMountTargets(fileSystemId, options));
        const policy = policyFor(runtimeRoleArn(arn, ownerOfBucket(bucket)));
        // A new role may not be visible to S3 Files yet.
        yield* await pollUntil(DELETE_TIMEOUT_MS, options, () =>
          api.putPolicy(fileSystemId, policy, options).map((accepted) => (accepted ? true : undefined)),
        );
        if (!canBeAccessPoint(subPath)) return ok({ fileSystem: fileSystemArn, accessPoint: undefined });
        const input = accessPointInput(fileSystemId, bucket, subPath);
        const point = yield* await pollUntil(CREATE_TIMEOUT_MS, options, () => accessPoint(input, options));
        return ok({ fileSystem: fileSystemArn, accessPoint: point });
      }),

    remove: (bucket, options) =>
      safeTry(async function* () {
        const removing = removal();
        for (const { fileSystemId = "", status } of yield* await ofBucket(bucket, options, removing.api))
          if (status !== "deleting")
            yield* await pollUntil(DELETE_TIMEOUT_MS, options, () => isRemoved(fileSystemId, options, removing));
        return ok(undefined);
      }),
  };
};
