/**
 * The S3 Files API calls for mounts. Each call returns expected states, such as `exists`, as values.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_S3_Files.html
 */
import type {
  CreateAccessPointRequest,
  CreateFileSystemRequest,
  CreateMountTargetRequest,
  ListAccessPointsDescription,
  ListFileSystemsDescription,
  ListMountTargetsDescription,
} from "@aws-sdk/client-s3files";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result, safeTry } from "../../../../core/result.ts";
import type { ApiResult } from "../../../cloud/calls/expect-states.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { type Called, type CommandSender, commandSender, missingAsOk, nameOf } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";

const toUnavailable = (error: CallState | Unavailable): Unavailable => {
  if (!isCallState(error)) return error;
  const message =
    nameOf(error.error) === "ServiceQuotaExceededException"
      ? "The AWS account has reached a quota of S3 Files. Raise the quota."
      : "S3 Files returned an unexpected response.";
  return unavailable(message, 30, error.error);
};

/** Fetches all pages. Returns an empty list if the resource does not exist. */
const allPages = <Page extends { readonly nextToken?: string | undefined }, T>(
  fetch: (nextToken: string | undefined) => Called<Page>,
  itemsOf: (page: Page) => readonly T[] | undefined,
): ApiResult<T[]> =>
  safeTry(async function* () {
    const all: T[] = [];
    let next: string | undefined;
    do {
      const page: Page | undefined = yield* await fetch(next).orElse(missingAsOk).mapErr(toUnavailable);
      if (page === undefined) break;
      all.push(...(itemsOf(page) ?? []));
      next = page.nextToken;
    } while (next !== undefined);
    return ok(all);
  });

/** Returns `exists` on a conflict. */
const orExists = (sent: Called<unknown>): ApiResult<"done" | "exists"> =>
  sent
    .map(() => "done" as const)
    .orElse(
      (error): Result<"exists", Unavailable> =>
        isCallState(error) && error.code === "changed" ? ok("exists") : err(toUnavailable(error)),
    );

export class FilesApi {
  readonly #send: CommandSender<"files">;

  constructor(clients: ClientSource, call: ProviderCall) {
    this.#send = commandSender("files", "s3files", clients, call);
  }

  fileSystems(bucket: string, options: CallOptions): ApiResult<ListFileSystemsDescription[]> {
    return allPages(
      (nextToken) => this.#send("ListFileSystemsCommand", { bucket, nextToken }, options),
      ({ fileSystems }) => fileSystems,
    );
  }

  mountTargets(fileSystemId: string, options: CallOptions): ApiResult<ListMountTargetsDescription[]> {
    return allPages(
      (nextToken) => this.#send("ListMountTargetsCommand", { fileSystemId, nextToken }, options),
      ({ mountTargets }) => mountTargets,
    );
  }

  accessPoints(fileSystemId: string, options: CallOptions): ApiResult<ListAccessPointsDescription[]> {
    return allPages(
      (nextToken) => this.#send("ListAccessPointsCommand", { fileSystemId, nextToken }, options),
      ({ accessPoints }) => accessPoints,
    );
  }

  createAccessPoint(input: CreateAccessPointRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return orExists(this.#send("CreateAccessPointCommand", input, options));
  }

  /** Like the other deletions, succeeds if the resource does not exist. */
  deleteAccessPoint(accessPointId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    return orExists(this.#send("DeleteAccessPointCommand", { accessPointId }, options).orElse(missingAsOk));
  }

  /** Returns `exists` if the bucket already has a file system. */
  createFileSystem(input: CreateFileSystemRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return orExists(this.#send("CreateFileSystemCommand", input, options));
  }

  /** Returns `exists` if the subnet or its availability zone already has a mount target. */
  createMountTarget(input: CreateMountTargetRequest, options: CallOptions): ApiResult<"done" | "exists"> {
    return orExists(this.#send("CreateMountTargetCommand", input, options));
  }

  deleteMountTarget(mountTargetId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    return orExists(this.#send("DeleteMountTargetCommand", { mountTargetId }, options).orElse(missingAsOk));
  }

  /**
   * Also deletes data that S3 Files has not exported to the bucket. Returns `exists` if mount targets or access points
   * still exist.
   */
  deleteFileSystem(fileSystemId: string, options: CallOptions): ApiResult<"done" | "exists"> {
    const input = { fileSystemId, forceDelete: true };
    return orExists(this.#send("DeleteFileSystemCommand", input, options).orElse(missingAsOk));
  }

  /**
   * Returns false if S3 Files rejects the policy, for example because a role in the policy is new and not visible yet.
   */
  putPolicy(fileSystemId: string, policy: object, options: CallOptions): ApiResult<boolean> {
    const input = { fileSystemId, policy: JSON.stringify(policy) };
    return this.#send("PutFileSystemPolicyCommand", input, options)
      .map(() => true)
      .orElse((error) => (isCallState(error) && error.code === "invalid" ? ok(false) : err(toUnavailable(error))));
  }
}
