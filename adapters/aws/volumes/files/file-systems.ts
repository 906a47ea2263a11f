/**
 * Mounts volumes as folders. Each mounted bucket gets an S3 Files file system on its first mount, with a mount target per
 * subnet. Only the account's own role may mount it. https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files.html
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
import { accessPointInput, canBeAccessPoint, isAccessPointOf, type MountedFrom } from "./access-point.ts";
import { type Answer, FilesApi } from "./api.ts";

/** Creating a file system and its mount targets takes minutes (AWS documents no figure). */
const AVAILABLE_MS = 600_000;
/** How long a deletion waits for mount targets to disappear. The next deletion resumes. */
const GONE_MS = 120_000;
const LOOK_MS = 2000;

export interface FileSystemsDeps {
  readonly config: AwsConfig;
  readonly clients: ClientSource;
  readonly runtime: AwsRuntimeDeps;
}

/** Read, write, and root access: objects without owner metadata are owned by root. */
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
  readonly isRefused: () => boolean;
}

/** Permission denied. Expired credentials do not count: the same call succeeds later. */
const isDenied = (error: unknown): boolean => nameOf(error)?.startsWith("AccessDenied") === true;

const broken = (what: string, message: string | undefined): Unavailable =>
  unavailable(`Amazon S3 Files has a ${what} that failed: ${message ?? "it does not say why"}.`, 60);

export class FileSystems {
  readonly #config: AwsConfig;
  readonly #runtime: AwsRuntimeDeps;
  readonly #clients: ClientSource;
  readonly #api: FilesApi;
  readonly #arn: ArnParts;
  #hasSaid = false;

  constructor({ config, clients, runtime }: FileSystemsDeps) {
    this.#config = config;
    this.#runtime = runtime;
    this.#clients = clients;
    this.#api = new FilesApi({ client: () => clients("files"), call: awsCalls(runtime) });
    this.#arn = arnParts(config.shared.filesRoleArn);
  }

  /**
   * Makes a folder of a volume's bucket mountable from every subnet of the platform, and returns its mount source. Only
   * services of the bucket's own account may mount it; their role must exist. Gives up on abort or after ten minutes.
   */
  async mountable(
    bucket: string,
    subPath: string | undefined,
    options: CallOptions = {},
  ): Promise<Result<MountedFrom, Unavailable>> {
    const found = await this.#await(AVAILABLE_MS, options, () => this.#available(bucket, options));
    if (found.isErr()) return err(found.error);
    const { fileSystemId = "", fileSystemArn = "" } = found.value;
    const reached = await this.#await(AVAILABLE_MS, options, () => this.#targeted(fileSystemId, options));
    if (reached.isErr()) return err(reached.error);
    const policy = policyFor(runtimeRoleArn(this.#arn, ownerOfBucket(bucket)));
    // IAM takes time to propagate a new role.
    const allowed = await this.#await(GONE_MS, options, async () =>
      (await this.#api.putPolicy(fileSystemId, policy, options)).map((is) => (is ? true : undefined)),
    );
    if (allowed.isErr()) return err(allowed.error);
    if (!canBeAccessPoint(subPath)) return ok({ fileSystem: fileSystemArn, accessPoint: undefined });
    const point = await this.#await(AVAILABLE_MS, options, () =>
      this.#pointed(accessPointInput(fileSystemId, bucket, subPath), options),
    );
    return point.map((accessPoint) => ({ fileSystem: fileSystemArn, accessPoint }));
  }

  /**
   * Deletes the bucket's file system, with data not exported to the bucket yet. False: not gone yet. A platform without S3
   * Files permissions mounts nothing, so it leaves file systems made by others in place.
   */
  async remove(bucket: string, options: CallOptions): Answer<boolean> {
    const removal = this.#removal();
    const found = await this.#ofBucket(bucket, options, removal.api);
    if (found.isErr()) return err(found.error);
    for (const { fileSystemId = "", status } of found.value) {
      if (status === "deleting") continue;
      const gone = await this.#await(GONE_MS, options, () => this.#removed(fileSystemId, options, removal));
      if (gone.isErr()) return err(gone.error);
    }
    return ok(true);
  }

  /** An API that treats resources it may not access as missing. Logs a denial only once: it is the same for every volume. */
  #removal(): Removal {
    let isRefused = false;
    const faultOf: FaultOf = (error) => {
      if (!isDenied(error)) return awsFault(error);
      isRefused = true;
      if (!this.#hasSaid)
        this.#runtime.logger.warn(
          "Amazon S3 Files refuses to take file systems away: those of volumes that are gone stay there",
          { error },
        );
      this.#hasSaid = true;
      return { kind: "state", code: "not_found" };
    };
    const api = new FilesApi({ client: () => this.#clients("files"), call: awsCalls(this.#runtime, faultOf) });
    return { api, isRefused: () => isRefused };
  }

  /** Undefined: not yet. */
  async #available(bucket: string, options: CallOptions): Answer<ListFileSystemsDescription | undefined> {
    const found = await this.#ofBucket(bucket, options);
    if (found.isErr()) return err(found.error);
    const [present] = found.value;
    if (present === undefined) {
      const { filesRoleArn: roleArn } = this.#config.shared;
      const tags = [
        { key: "Name", value: bucket },
        { key: OWNER_TAG, value: ownerOfBucket(bucket) },
      ];
      // The client token makes concurrent calls create one file system. The accepted warning: renames in large buckets are
      // slow.
      const input = { bucket: this.#bucketArn(bucket), roleArn, tags, clientToken: bucket, acceptBucketWarning: true };
      return (await this.#api.createFileSystem(input, options)).map(() => undefined);
    }
    if (present.status === "error") return err(broken("file system", present.statusMessage));
    return ok(present.status === "available" || present.status === "updating" ? present : undefined);
  }

  /** Undefined: some subnet has no usable mount target yet. */
  async #targeted(fileSystemId: string, options: CallOptions): Answer<true | undefined> {
    const found = await this.#api.mountTargets(fileSystemId, options);
    if (found.isErr()) return err(found.error);
    const failed = found.value.find(({ status }) => status === "error");
    if (failed !== undefined) return err(broken("mount target", failed.statusMessage));
    const { subnets, filesSecurityGroup } = this.#config.shared;
    const has = (subnet: string) => found.value.some(({ subnetId }) => subnetId === subnet);
    for (const subnetId of subnets.filter((subnet) => !has(subnet))) {
      const input = { fileSystemId, subnetId, securityGroups: [filesSecurityGroup] };
      const made = await this.#api.createMountTarget(input, options);
      if (made.isErr()) return err(made.error);
      // A zone has one mount target for all of its subnets; it may belong to another subnet.
      if (made.value === "made") return ok(undefined);
    }
    const isReady = ({ status }: ListMountTargetsDescription) => status === "available" || status === "updating";
    return ok(found.value.length > 0 && found.value.every(isReady) ? true : undefined);
  }

  /** The access point's ARN. Undefined: not yet. */
  async #pointed(input: CreateAccessPointRequest, options: CallOptions): Answer<string | undefined> {
    const found = await this.#api.accessPoints(input.fileSystemId ?? "", options);
    if (found.isErr()) return err(found.error);
    const present = found.value.find(isAccessPointOf(input));
    if (present === undefined) return (await this.#api.createAccessPoint(input, options)).map(() => undefined);
    if (present.status === "error") return err(broken("access point", undefined));
    const isReady = present.status === "available" || present.status === "updating";
    return ok(isReady ? present.accessPointArn : undefined);
  }

  /** Undefined: not yet. */
  async #removed(fileSystemId: string, options: CallOptions, { api, isRefused }: Removal): Answer<true | undefined> {
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
    if (isRefused()) return ok(true);
    if (points.value.some(({ status }) => status !== "deleted")) return ok(undefined);
    if (targets.value.some(({ status }) => status !== "deleted")) return ok(undefined);
    return (await api.deleteFileSystem(fileSystemId, options)).map((end) => (end === "made" ? true : undefined));
  }

  async #ofBucket(bucket: string, options: CallOptions, api = this.#api): Answer<ListFileSystemsDescription[]> {
    const found = await api.fileSystems(this.#bucketArn(bucket), options);
    return found.map((all) => all.filter(({ status }) => status !== "deleted"));
  }

  #bucketArn(bucket: string): string {
    return bucketArn(this.#arn, bucket);
  }

  /** Polls until `look` returns a value. */
  async #await<T>(
    millis: number,
    { signal }: CallOptions,
    look: () => Answer<T | undefined>,
  ): Promise<Result<T, Unavailable>> {
    const { clock } = this.#runtime;
    const end = millisOf(clock.now()) + millis;
    for (;;) {
      const found = await look();
      if (found.isErr()) return err(found.error);
      if (found.value !== undefined) return ok(found.value);
      if (signal?.aborted === true || millisOf(clock.now()) + LOOK_MS > end)
        return err(unavailable("Amazon S3 Files takes its time; try again in a moment.", 30));
      await clock.sleep(LOOK_MS, signal);
    }
  }
}
