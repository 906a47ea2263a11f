/**
 * Mounts volumes as folders. A bucket gets an S3 Files file system at its first mount, with a mount target per subnet.
 * Only the account's own role may mount it. https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files.html
 */
import type {
  CreateAccessPointRequest,
  ListFileSystemsDescription,
  ListMountTargetsDescription,
} from "@aws-sdk/client-s3files";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import type { FaultOf } from "../../../shared/calls/provider-call.ts";
import { runtimeRoleArn } from "../../accounts/roles.ts";
import { type ArnParts, arnParts, bucketArn } from "../../arns.ts";
import { type AwsRuntimeDeps, awsCalls, nameOf } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { AwsConfig } from "../../config.ts";
import { awsFault } from "../../errors.ts";
import { OWNER_TAG } from "../bucket-settings.ts";
import { ownerOfBucket } from "../names.ts";
import { accessPointInput, canBeAccessPoint, isAccessPointOf, type MountSource } from "./access-point.ts";
import { type ApiResult, FilesApi } from "./api.ts";

/** How long to wait for a file system and its mount targets. Creating them takes minutes; AWS documents no bound. */
const CREATE_TIMEOUT_MS = 600_000;
/** How long a deletion waits for mount targets to disappear. The next deletion resumes. */
const DELETE_TIMEOUT_MS = 120_000;
const POLL_MS = 2000;

export interface FileSystemsDeps {
  readonly config: AwsConfig;
  readonly clients: ClientSource;
  readonly runtime: AwsRuntimeDeps;
}

/** Grants read, write and root access. Root owns objects without owner metadata. */
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

export class FileSystems {
  readonly #config: AwsConfig;
  readonly #runtime: AwsRuntimeDeps;
  readonly #clients: ClientSource;
  readonly #api: FilesApi;
  readonly #arn: ArnParts;
  #hasLoggedDenial = false;

  constructor({ config, clients, runtime }: FileSystemsDeps) {
    this.#config = config;
    this.#runtime = runtime;
    this.#clients = clients;
    this.#api = new FilesApi({ client: () => clients("files"), call: awsCalls(runtime) });
    this.#arn = arnParts(config.shared.filesRoleArn);
  }

  /**
   * Makes a folder of a volume's bucket mountable from every subnet of the platform. Returns its mount source. Only
   * services of the bucket's account may mount it; their role must exist. Fails with `unavailable` on abort or after a
   * timeout.
   */
  async mountable(
    bucket: string,
    subPath: string | undefined,
    options: CallOptions = {},
  ): Promise<Result<MountSource, Unavailable>> {
    const found = await this.#await(CREATE_TIMEOUT_MS, options, () => this.#fileSystem(bucket, options));
    if (found.isErr()) return err(found.error);
    const { fileSystemId = "", fileSystemArn = "" } = found.value;
    const reached = await this.#await(CREATE_TIMEOUT_MS, options, () => this.#hasMountTargets(fileSystemId, options));
    if (reached.isErr()) return err(reached.error);
    const policy = policyFor(runtimeRoleArn(this.#arn, ownerOfBucket(bucket)));
    // A new role may take time to appear.
    const allowed = await this.#await(DELETE_TIMEOUT_MS, options, async () =>
      (await this.#api.putPolicy(fileSystemId, policy, options)).map((accepted) => (accepted ? true : undefined)),
    );
    if (allowed.isErr()) return err(allowed.error);
    if (!canBeAccessPoint(subPath)) return ok({ fileSystem: fileSystemArn, accessPoint: undefined });
    const point = await this.#await(CREATE_TIMEOUT_MS, options, () =>
      this.#accessPoint(accessPointInput(fileSystemId, bucket, subPath), options),
    );
    return point.map((accessPoint) => ({ fileSystem: fileSystemArn, accessPoint }));
  }

  /**
   * Deletes the bucket's file system, including data that S3 Files has not exported to the bucket. Fails with
   * `unavailable` if the deletion takes too long; the next call resumes. A platform without permissions for S3 Files
   * mounts nothing, so it leaves file systems of others in place.
   */
  async remove(bucket: string, options: CallOptions): ApiResult<boolean> {
    const removal = this.#removal();
    const found = await this.#ofBucket(bucket, options, removal.api);
    if (found.isErr()) return err(found.error);
    for (const { fileSystemId = "", status } of found.value) {
      if (status === "deleting") continue;
      const removed = await this.#await(DELETE_TIMEOUT_MS, options, () =>
        this.#isRemoved(fileSystemId, options, removal),
      );
      if (removed.isErr()) return err(removed.error);
    }
    return ok(true);
  }

  /**
   * Returns an API that treats resources without permission as missing. Logs a denial once: it is the same for every
   * volume.
   */
  #removal(): Removal {
    let wasDenied = false;
    const faultOf: FaultOf = (error) => {
      if (!isDenied(error)) return awsFault(error);
      wasDenied = true;
      if (!this.#hasLoggedDenial)
        this.#runtime.logger.warn("S3 Files denied the deletion of file systems; those of purged volumes remain", {
          error,
        });
      this.#hasLoggedDenial = true;
      return { kind: "state", code: "not_found" };
    };
    const api = new FilesApi({ client: () => this.#clients("files"), call: awsCalls(this.#runtime, faultOf) });
    return { api, wasDenied: () => wasDenied };
  }

  /** Returns the file system once it is available; undefined until then. */
  async #fileSystem(bucket: string, options: CallOptions): ApiResult<ListFileSystemsDescription | undefined> {
    const found = await this.#ofBucket(bucket, options);
    if (found.isErr()) return err(found.error);
    const [present] = found.value;
    if (present === undefined) {
      const { filesRoleArn: roleArn } = this.#config.shared;
      const tags = [
        { key: "Name", value: bucket },
        { key: OWNER_TAG, value: ownerOfBucket(bucket) },
      ];
      // The client token makes concurrent calls create one file system. The accepted warning says that renames in large
      // buckets are slow.
      const input = { bucket: this.#bucketArn(bucket), roleArn, tags, clientToken: bucket, acceptBucketWarning: true };
      return (await this.#api.createFileSystem(input, options)).map(() => undefined);
    }
    if (present.status === "error") return err(failedResource("file system", present.statusMessage));
    return ok(present.status === "available" || present.status === "updating" ? present : undefined);
  }

  /** Returns true once every subnet has a usable mount target; undefined until then. */
  async #hasMountTargets(fileSystemId: string, options: CallOptions): ApiResult<true | undefined> {
    const found = await this.#api.mountTargets(fileSystemId, options);
    if (found.isErr()) return err(found.error);
    const failed = found.value.find(({ status }) => status === "error");
    if (failed !== undefined) return err(failedResource("mount target", failed.statusMessage));
    const { subnets, filesSecurityGroup } = this.#config.shared;
    const has = (subnet: string) => found.value.some(({ subnetId }) => subnetId === subnet);
    for (const subnetId of subnets.filter((subnet) => !has(subnet))) {
      const input = { fileSystemId, subnetId, securityGroups: [filesSecurityGroup] };
      const created = await this.#api.createMountTarget(input, options);
      if (created.isErr()) return err(created.error);
      // A zone has one mount target for all its subnets; it may belong to another subnet.
      if (created.value === "done") return ok(undefined);
    }
    const isReady = ({ status }: ListMountTargetsDescription) => status === "available" || status === "updating";
    return ok(found.value.length > 0 && found.value.every(isReady) ? true : undefined);
  }

  /** Returns the access point's ARN once it is available; undefined until then. */
  async #accessPoint(input: CreateAccessPointRequest, options: CallOptions): ApiResult<string | undefined> {
    const found = await this.#api.accessPoints(input.fileSystemId ?? "", options);
    if (found.isErr()) return err(found.error);
    const present = found.value.find(isAccessPointOf(input));
    if (present === undefined) return (await this.#api.createAccessPoint(input, options)).map(() => undefined);
    if (present.status === "error") return err(failedResource("access point", undefined));
    const isReady = present.status === "available" || present.status === "updating";
    return ok(isReady ? present.accessPointArn : undefined);
  }

  /** Returns true once the file system is deleted; undefined until then. */
  async #isRemoved(
    fileSystemId: string,
    options: CallOptions,
    { api, wasDenied }: Removal,
  ): ApiResult<true | undefined> {
    const targets = await api.mountTargets(fileSystemId, options);
    if (targets.isErr()) return err(targets.error);
    for (const { mountTargetId = "", status } of targets.value) {
      if (status === "deleting" || status === "deleted") continue;
      const deleted = await api.deleteMountTarget(mountTargetId, options);
      if (deleted.isErr()) return err(deleted.error);
    }
    const points = await api.accessPoints(fileSystemId, options);
    if (points.isErr()) return err(points.error);
    for (const { accessPointId = "", status } of points.value) {
      if (status === "deleting" || status === "deleted") continue;
      const deleted = await api.deleteAccessPoint(accessPointId, options);
      if (deleted.isErr()) return err(deleted.error);
    }
    if (wasDenied()) return ok(true);
    if (points.value.some(({ status }) => status !== "deleted")) return ok(undefined);
    if (targets.value.some(({ status }) => status !== "deleted")) return ok(undefined);
    return (await api.deleteFileSystem(fileSystemId, options)).map((end) => (end === "done" ? true : undefined));
  }

  async #ofBucket(bucket: string, options: CallOptions, api = this.#api): ApiResult<ListFileSystemsDescription[]> {
    const found = await api.fileSystems(this.#bucketArn(bucket), options);
    return found.map((all) => all.filter(({ status }) => status !== "deleted"));
  }

  #bucketArn(bucket: string): string {
    return bucketArn(this.#arn, bucket);
  }

  /** Polls until `poll` returns a value. */
  async #await<T>(
    millis: number,
    { signal }: CallOptions,
    poll: () => ApiResult<T | undefined>,
  ): Promise<Result<T, Unavailable>> {
    const { clock } = this.#runtime;
    const end = millisOf(clock.now()) + millis;
    for (;;) {
      const found = await poll();
      if (found.isErr()) return err(found.error);
      if (found.value !== undefined) return ok(found.value);
      if (signal?.aborted === true || millisOf(clock.now()) + POLL_MS > end)
        return err(unavailable("S3 Files is still creating or deleting the mount. Try again in a moment.", 30));
      await clock.sleep(POLL_MS, signal);
    }
  }
}
