/**
 * The S3 Files API calls for mounts. Expected states are values, not errors.
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

export type Answer<T> = Promise<Result<T, Unavailable>>;

const load = () => import("@aws-sdk/client-s3files");
type Sdk = Awaited<ReturnType<typeof load>>;

type Act<T> = (client: S3FilesClient, sdk: Sdk, options: { readonly abortSignal?: AbortSignal }) => Promise<T>;

export interface FilesApiDeps {
  readonly client: () => Promise<S3FilesClient>;
  readonly call: ProviderCall;
}

const errorMessage = (error: unknown): string =>
  nameOf(error) === "ServiceQuotaExceededException"
    ? "Amazon S3 Files makes no more file systems for this platform: look at its quotas."
    : "Amazon S3 Files gave an answer that was not expected.";

export class FilesApi {
  readonly #deps: FilesApiDeps;

  constructor(deps: FilesApiDeps) {
    this.#deps = deps;
  }

  /** Fetches all pages. */
  fileSystems(bucketArn: string, options: CallOptions): Answer<ListFileSystemsDescription[]> {
    return this.#pages("ListFileSystems", options, async (client, { ListFileSystemsCommand }, send, nextToken) => {
      const page = await client.send(new ListFileSystemsCommand({ bucket: bucketArn, nextToken }), send);
      return { items: page.fileSystems ?? [], next: page.nextToken };
    });
  }

  mountTargets(fileSystemId: string, options: CallOptions): Answer<ListMountTargetsDescription[]> {
    return this.#pages("ListMountTargets", options, async (client, { ListMountTargetsCommand }, send, nextToken) => {
      const page = await client.send(new ListMountTargetsCommand({ fileSystemId, nextToken }), send);
      return { items: page.mountTargets ?? [], next: page.nextToken };
    });
  }

  accessPoints(fileSystemId: string, options: CallOptions): Answer<ListAccessPointsDescription[]> {
    return this.#pages("ListAccessPoints", options, async (client, { ListAccessPointsCommand }, send, nextToken) => {
      const page = await client.send(new ListAccessPointsCommand({ fileSystemId, nextToken }), send);
      return { items: page.accessPoints ?? [], next: page.nextToken };
    });
  }

  createAccessPoint(input: CreateAccessPointRequest, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("CreateAccessPoint", options, (client, { CreateAccessPointCommand }, send) =>
      client.send(new CreateAccessPointCommand(input), send),
    );
  }

  deleteAccessPoint(accessPointId: string, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("DeleteAccessPoint", options, (client, { DeleteAccessPointCommand }, send) =>
      client.send(new DeleteAccessPointCommand({ accessPointId }), send),
    );
  }

  /** `there`: the bucket already has a file system. */
  createFileSystem(input: CreateFileSystemRequest, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("CreateFileSystem", options, (client, { CreateFileSystemCommand }, send) =>
      client.send(new CreateFileSystemCommand(input), send),
    );
  }

  /** `there`: the subnet, or its zone, already has a mount target. */
  createMountTarget(input: CreateMountTargetRequest, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("CreateMountTarget", options, (client, { CreateMountTargetCommand }, send) =>
      client.send(new CreateMountTargetCommand(input), send),
    );
  }

  deleteMountTarget(mountTargetId: string, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("DeleteMountTarget", options, (client, { DeleteMountTargetCommand }, send) =>
      client.send(new DeleteMountTargetCommand({ mountTargetId }), send),
    );
  }

  /** Also deletes data that was not exported to the bucket yet. `there`: mount targets or access points still exist. */
  deleteFileSystem(fileSystemId: string, options: CallOptions): Answer<"made" | "there"> {
    return this.#ends("DeleteFileSystem", options, (client, { DeleteFileSystemCommand }, send) =>
      client.send(new DeleteFileSystemCommand({ fileSystemId, forceDelete: true }), send),
    );
  }

  /** False: S3 Files rejects the policy because a role in it is not visible yet. */
  async putPolicy(fileSystemId: string, policy: object, options: CallOptions): Answer<boolean> {
    const put = await this.#send("PutFileSystemPolicy", options, (client, { PutFileSystemPolicyCommand }, send) =>
      client.send(new PutFileSystemPolicyCommand({ fileSystemId, policy: JSON.stringify(policy) }), send),
    );
    if (put.isOk()) return ok(true);
    if (!isCallState(put.error)) return err(put.error);
    return put.error.code === "invalid"
      ? ok(false)
      : err(unavailable(errorMessage(put.error.error), 30, put.error.error));
  }

  /** Deleting something missing succeeds; a conflict is `there`. */
  async #ends<T>(what: string, options: CallOptions, act: Act<T>): Answer<"made" | "there"> {
    const sent = await this.#send(what, options, act);
    if (sent.isOk()) return ok("made");
    if (!isCallState(sent.error)) return err(sent.error);
    const { code, error } = sent.error;
    if (code === "changed") return ok("there");
    if (code === "not_found" && what.startsWith("Delete")) return ok("made");
    return err(unavailable(errorMessage(error), 30, error));
  }

  async #pages<T>(
    what: string,
    options: CallOptions,
    page: (
      ...args: [...Parameters<Act<unknown>>, next: string | undefined]
    ) => Promise<{ readonly items: readonly T[]; readonly next: string | undefined }>,
  ): Answer<T[]> {
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
