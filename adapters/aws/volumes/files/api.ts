/**
 * The S3 Files API calls that mounts need. Each returns the states that it expects as values.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_S3_Files.html
 */
import type {
  CreateAccessPointRequest,
  CreateFileSystemRequest,
  CreateMountTargetRequest,
  ListAccessPointsDescription,
  ListFileSystemsDescription,
  ListMountTargetsDescription,
  S3FilesClient,
} from "@aws-sdk/client-s3files";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";
import { nameOf } from "../../call-policy.ts";

export type ApiResult<T> = Promise<Result<T, Unavailable>>;

const load = () => import("@aws-sdk/client-s3files");
type Sdk = Awaited<ReturnType<typeof load>>;

type Act<T> = (client: S3FilesClient, sdk: Sdk, options: { readonly abortSignal?: AbortSignal }) => Promise<T>;

export interface FilesApiDeps {
  readonly client: () => Promise<S3FilesClient>;
  readonly call: ProviderCall;
}

const errorMessage = (error: unknown): string =>
  nameOf(error) === "ServiceQuotaExceededException"
    ? "The AWS account has reached a quota of S3 Files. Raise the quota."
    : "S3 Files returned an unexpected response.";

export class FilesApi {
  readonly #deps: FilesApiDeps;

  constructor(deps: FilesApiDeps) {
    this.#deps = deps;
  }

  /** Fetches all pages. */
  fileSystems(bucketArn: string, options: CallOptions): ApiResult<ListFileSystemsDescription[]> {
    return this.#pages("ListFileSystems", options, async (client, { ListFileSystemsCommand }, send, nextToken) => {
      const page = await client.send(new ListFileSystemsCommand({ bucket: bucketArn, nextToken }), send);
      return { items: page.fileSystems ?? [], next: page.nextToken };
    });
  }

  mountTargets(fileSystemId: string, options: CallOptions): ApiResult<ListMountTargetsDescription[]> {
    return this.#pages("ListMountTargets", options, async (client, { ListMountTargetsCommand }, send, nextToken) => {
      const page = await client.send(new ListMountTargetsCommand({ fileSystemId, nextToken }), send);
      return { items: page.mountTargets ?? [], next: page.nextToken };
    });
  }

  accessPoints(fileSystemId: string, options: CallOptions): ApiResult<ListAccessPointsDescription[]> {
    return this.#pages("ListAccessPoints", options, async (client, { ListAccessPointsCommand }, send, nextToken) => {
      const page = await client.send(new ListAccessPointsCommand({ fileSystemId, nextToken }), send);
      return { items: page.accessPoints ?? [], next: page.nextToken };
    });
  }

  createAccessPoint(input: CreateAccessPointRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("CreateAccessPoint", options, (client, { CreateAccessPointCommand }, send) =>
      client.send(new CreateAccessPointCommand(input), send),
    );
  }

  deleteAccessPoint(accessPointId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("DeleteAccessPoint", options, (client, { DeleteAccessPointCommand }, send) =>
      client.send(new DeleteAccessPointCommand({ accessPointId }), send),
    );
  }

  /** `exists`: the bucket already has a file system. */
  createFileSystem(input: CreateFileSystemRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("CreateFileSystem", options, (client, { CreateFileSystemCommand }, send) =>
      client.send(new CreateFileSystemCommand(input), send),
    );
  }

  /** `exists`: the subnet or its availability zone already has a mount target. */
  createMountTarget(input: CreateMountTargetRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("CreateMountTarget", options, (client, { CreateMountTargetCommand }, send) =>
      client.send(new CreateMountTargetCommand(input), send),
    );
  }

  deleteMountTarget(mountTargetId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("DeleteMountTarget", options, (client, { DeleteMountTargetCommand }, send) =>
      client.send(new DeleteMountTargetCommand({ mountTargetId }), send),
    );
  }

  /**
   * Also deletes data that S3 Files has not exported to the bucket. `exists`: mount targets or access points still
   * exist.
   */
  deleteFileSystem(fileSystemId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    return this.#ends("DeleteFileSystem", options, (client, { DeleteFileSystemCommand }, send) =>
      client.send(new DeleteFileSystemCommand({ fileSystemId, forceDelete: true }), send),
    );
  }

  /** Returns false if S3 Files rejects the policy because IAM does not show a role in it yet. */
  async putPolicy(fileSystemId: string, policy: object, options: CallOptions): ApiResult<boolean> {
    const put = await this.#send("PutFileSystemPolicy", options, (client, { PutFileSystemPolicyCommand }, send) =>
      client.send(new PutFileSystemPolicyCommand({ fileSystemId, policy: JSON.stringify(policy) }), send),
    );
    if (put.isOk()) return ok(true);
    if (!isCallState(put.error)) return err(put.error);
    return put.error.code === "invalid"
      ? ok(false)
      : err(unavailable(errorMessage(put.error.error), 30, put.error.error));
  }

  /** Deleting a missing resource succeeds. A conflict returns `exists`. */
  async #ends<T>(what: string, options: CallOptions, act: Act<T>): ApiResult<"done" | "exists"> {
    const sent = await this.#send(what, options, act);
    if (sent.isOk()) return ok("done");
    if (!isCallState(sent.error)) return err(sent.error);
    const { code, error } = sent.error;
    if (code === "changed") return ok("exists");
    if (code === "not_found" && what.startsWith("Delete")) return ok("done");
    return err(unavailable(errorMessage(error), 30, error));
  }

  async #pages<T>(
    what: string,
    options: CallOptions,
    page: (
      ...args: [...Parameters<Act<unknown>>, next: string | undefined]
    ) => Promise<{ readonly items: readonly T[]; readonly next: string | undefined }>,
  ): ApiResult<T[]> {
    const all: T[] = [];
    for (let next: string | undefined; ; ) {
      const found = await this.#send(what, options, (client, sdk, send) => page(client, sdk, send, next));
      if (found.isErr() && isCallState(found.error))
        return found.error.code === "not_found"
          ? ok(all)
          : err(unavailable(errorMessage(found.error.error), 30, found.error));
      if (found.isErr()) return err(found.error as Unavailable);
      all.push(...found.value.items);
      next = found.value.next;
      if (next === undefined) return ok(all);
    }
  }

  #send<T>(what: string, { signal }: CallOptions, act: Act<T>) {
    return this.#deps.call({ what: `s3files.${what}`, signal }, async () => {
      const client = await this.#deps.client();
      return act(client, await load(), signal === undefined ? {} : { abortSignal: signal });
    });
  }
}
