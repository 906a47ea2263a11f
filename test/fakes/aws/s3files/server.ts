/**
 * A fake S3 Files on a loopback port. Sources: the service model (@aws-sdk/client-s3files) and, below
 * https://docs.aws.amazon.com/AmazonS3/latest: API/API_Operations_Amazon_S3_Files.html,
 * userguide/s3-files-prereq-policies.html,
 * userguide/s3-files-mount-targets-creating.html, userguide/s3-files-file-systems-deleting.html.
 */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { S3FilesClient } from "@aws-sdk/client-s3files";
import { Faults } from "../../faults.ts";
import { jsonErrors, jsonFailed, jsonReply } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import type { FakeBucket } from "../s3/world.ts";
import { AwsError, type AwsMethod, type AwsReply, type AwsRequest, serveAws } from "../server.ts";
import { tagProblem } from "../tags.ts";
import { awsConfig, REGION } from "../test-config.ts";

type Status = "available" | "creating" | "deleting" | "error";

export interface FileSystem {
  readonly id: string;
  readonly arn: string;
  readonly bucket: string;
  readonly roleArn: string;
  readonly token: string | undefined;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
  policy: unknown;
  /** When the policy changed last, in milliseconds. */
  policySince: number;
  status: Status;
  /** Calls until a state transition completes. */
  looks: number;
}

export interface MountTarget {
  readonly id: string;
  readonly fileSystemId: string;
  readonly subnetId: string;
  readonly securityGroups: readonly string[];
  status: Status;
  looks: number;
}

export interface AccessPoint {
  readonly id: string;
  readonly arn: string;
  readonly fileSystemId: string;
  readonly path: string;
  readonly posixUser: { readonly uid: number; readonly gid: number } | undefined;
  readonly token: string | undefined;
  status: Status;
  looks: number;
}

export interface FakeS3FilesOptions {
  /** The buckets that exist. */
  readonly buckets: ReadonlyMap<string, Pick<FakeBucket, "versioning">>;
  readonly faults?: Faults;
  /** The time in milliseconds; defaults to the machine's. */
  readonly now?: () => number;
}

export interface FakeS3Files {
  readonly client: S3FilesClient;
  readonly faults: Faults;
  readonly fileSystems: Map<string, FileSystem>;
  readonly mountTargets: Map<string, MountTarget>;
  readonly accessPoints: Map<string, AccessPoint>;
  /** How many calls a creation or deletion takes; tests may change it. */
  looks: number;
  /** Roles that IAM does not know yet; policies that name one are rejected. */
  readonly unknownRoles: Set<string>;
  /** The zone of each subnet that shares its zone with another subnet. */
  readonly zones: Map<string, string>;
  maxFileSystems: number;
  close(): Promise<void>;
}

const ACCOUNT = "123456789012";
const PAGE = 100;

/** API_S3Files_RootDirectory.html */
const ROOT_DIRECTORY = /^(\/|(\/(?!\.)+[^$#<>;`|&?{}^*/\n]+){1,4})$/;

const failure = (status: number, code: string, message: string) =>
  new AwsError(code, message, status, { errorCode: code });

const missing = (what: string) => failure(404, "ResourceNotFoundException", `${what} was not found.`);
const conflict = (why: string) => failure(409, "ConflictException", why);
const invalid = (why: string) => failure(400, "ValidationException", why);

export const startFakeS3Files = async ({
  buckets,
  faults = new Faults(),
  now = Date.now,
}: FakeS3FilesOptions): Promise<FakeS3Files> => {
  const fileSystems = new Map<string, FileSystem>();
  const mountTargets = new Map<string, MountTarget>();
  const accessPoints = new Map<string, AccessPoint>();
  const unknownRoles = new Set<string>();
  const zones = new Map<string, string>();

  const described = (one: FileSystem) => ({
    fileSystemId: one.id,
    fileSystemArn: one.arn,
    bucket: one.bucket,
    roleArn: one.roleArn,
    status: one.status,
    ownerId: ACCOUNT,
    creationTime: 0,
    name: one.tags.find(({ key }) => key === "Name")?.value,
    ...(one.status === "error" ? { statusMessage: "the role cannot be assumed" } : {}),
  });

  const target = (one: MountTarget) => ({
    mountTargetId: one.id,
    fileSystemId: one.fileSystemId,
    subnetId: one.subnetId,
    securityGroups: one.securityGroups,
    status: one.status,
    ownerId: ACCOUNT,
  });

  /** Each call that reads a resource advances its state transition. */
  const pass = <T extends { status: Status; looks: number }>(all: Map<string, T>, id: string, one: T): void => {
    if (one.looks > 0) one.looks -= 1;
    else if (one.status === "creating") one.status = "available";
    else if (one.status === "deleting") all.delete(id);
  };

  const fileSystem = (id: string): FileSystem => {
    const found = [...fileSystems.values()].find((one) => one.id === id || one.arn === id);
    if (found === undefined) throw missing(`The file system '${id}'`);
    return found;
  };

  const createFileSystem = (body: Record<string, unknown>): AwsReply => {
    const {
      bucket: arn = "",
      roleArn = "",
      clientToken,
      tags = [],
    } = body as {
      bucket?: string;
      roleArn?: string;
      clientToken?: string;
      tags?: FileSystem["tags"];
    };
    const name = String(arn).replace("arn:aws:s3:::", "");
    const bucket = buckets.get(name);
    if (bucket === undefined) throw missing(`The bucket '${arn}'`);
    // "S3 Files requires S3 Versioning to be enabled on the linked S3 bucket"
    if (bucket.versioning !== "Enabled") throw invalid("Versioning is not enabled on the bucket.");
    if (!/^arn:aws:iam::\d{12}:role\//.test(roleArn)) throw invalid("roleArn");
    const problem = tagProblem(tags.map(({ key, value }) => [key, value]));
    if (problem !== undefined) throw invalid(problem);
    if (clientToken !== undefined && clientToken.length > 64) throw invalid("clientToken");
    // "ensure idempotent creation"
    const same = [...fileSystems.values()].find(({ token }) => token !== undefined && token === clientToken);
    if (same !== undefined) return jsonReply(described(same), 201);
    if ([...fileSystems.values()].some((one) => one.bucket === arn))
      throw conflict("There is a file system of this bucket.");
    if (fileSystems.size >= fake.maxFileSystems)
      throw failure(402, "ServiceQuotaExceededException", "Too many file systems.");
    const id = `fs-${randomBytes(9).toString("hex").slice(0, 17)}`;
    const made: FileSystem = {
      id,
      arn: `arn:aws:s3files:${REGION}:${ACCOUNT}:file-system/${id}`,
      bucket: arn,
      roleArn,
      token: clientToken,
      tags,
      policy: undefined,
      policySince: now(),
      status: "creating",
      looks: fake.looks,
    };
    fileSystems.set(id, made);
    return jsonReply(described(made), 201);
  };

  const deleteFileSystem = (id: string): AwsReply => {
    const found = fileSystem(id);
    // "you must delete all mount targets and access points associated with the file system first"
    if ([...mountTargets.values()].some(({ fileSystemId }) => fileSystemId === found.id))
      throw conflict("The file system has mount targets.");
    if ([...accessPoints.values()].some(({ fileSystemId }) => fileSystemId === found.id))
      throw conflict("The file system has access points.");
    Object.assign(found, { status: "deleting", looks: fake.looks });
    return { status: 204 };
  };

  const createMountTarget = (body: Record<string, unknown>): AwsReply => {
    const { fileSystemId = "", subnetId = "", securityGroups = [] } = body as Record<string, never>;
    const found = fileSystem(fileSystemId);
    if (found.status !== "available") throw conflict("The file system is not available.");
    const zone = (subnet: string) => zones.get(subnet) ?? subnet;
    // "you can create a maximum of one mount target per Availability Zone"
    const taken = [...mountTargets.values()].some(
      (one) => one.fileSystemId === found.id && zone(one.subnetId) === zone(subnetId),
    );
    if (taken) throw conflict("There is a mount target in this Availability Zone.");
    const id = `fsmt-${randomBytes(9).toString("hex").slice(0, 17)}`;
    const made: MountTarget = {
      id,
      fileSystemId: found.id,
      subnetId,
      securityGroups,
      status: "creating",
      looks: fake.looks,
    };
    mountTargets.set(id, made);
    return jsonReply(target(made));
  };

  /** The resource stays visible as `deleting` for a while. */
  const beginDeletion = (found: MountTarget | AccessPoint | undefined, what: string): AwsReply => {
    if (found === undefined) throw missing(what);
    Object.assign(found, { status: "deleting", looks: fake.looks });
    return { status: 204 };
  };

  const deleteMountTarget = (id: string): AwsReply => beginDeletion(mountTargets.get(id), `The mount target '${id}'`);

  const point = (one: AccessPoint) => ({
    accessPointId: one.id,
    accessPointArn: one.arn,
    fileSystemId: one.fileSystemId,
    status: one.status,
    ownerId: ACCOUNT,
    posixUser: one.posixUser,
    rootDirectory: { path: one.path },
  });

  const createAccessPoint = (body: Record<string, unknown>): AwsReply => {
    const { fileSystemId = "", clientToken, posixUser, rootDirectory = {} } = body as Record<string, never>;
    const { path = "/", creationPermissions } = rootDirectory as { path?: string; creationPermissions?: object };
    const found = fileSystem(fileSystemId);
    if (found.status !== "available") throw conflict("The file system is not available.");
    if (path.length > 100 || !ROOT_DIRECTORY.test(path)) throw invalid("rootDirectory.path");
    // "When specifying CreationPermissions, you must provide values for all properties."
    if (creationPermissions !== undefined && Object.keys(creationPermissions).length < 3) throw invalid("permissions");
    // "If this token matches a previous request, Amazon Web Services ignores the request, but does not return an
    // error."
    const same = [...accessPoints.values()].find(({ token }) => token !== undefined && token === clientToken);
    if (same !== undefined) return jsonReply(point(same));
    const id = `fsap-${randomBytes(9).toString("hex").slice(0, 17)}`;
    const made: AccessPoint = {
      id,
      arn: `${found.arn}/access-point/${id}`,
      fileSystemId: found.id,
      path,
      posixUser,
      token: clientToken,
      status: "creating",
      looks: fake.looks,
    };
    accessPoints.set(id, made);
    return jsonReply(point(made));
  };

  const deleteAccessPoint = (id: string): AwsReply => beginDeletion(accessPoints.get(id), `The access point '${id}'`);

  const listAccessPoints = (query: URLSearchParams): AwsReply => {
    for (const [id, one] of [...accessPoints]) pass(accessPoints, id, one);
    const id = query.get("fileSystemId") ?? "";
    fileSystem(id);
    const found = [...accessPoints.values()].filter((one) => one.fileSystemId === id);
    return paged(query, "accessPoints", found.map(point));
  };

  const putPolicy = (id: string, body: Record<string, unknown>): AwsReply => {
    const found = fileSystem(id);
    const policy = JSON.parse(String(body["policy"])) as { Statement: { Principal?: { AWS?: string } }[] };
    const unknown = policy.Statement.find(({ Principal }) => unknownRoles.has(Principal?.AWS ?? ""));
    if (unknown !== undefined) throw invalid("Invalid principal in policy.");
    if (!isDeepStrictEqual(found.policy, policy)) Object.assign(found, { policy, policySince: now() });
    return jsonReply({});
  };

  const paged = (query: URLSearchParams, name: string, all: readonly unknown[]): AwsReply => {
    const from = Number(query.get("nextToken") ?? 0);
    const max = Number(query.get("maxResults") ?? PAGE);
    const more = from + max < all.length ? { nextToken: String(from + max) } : {};
    return jsonReply({ [name]: all.slice(from, from + max), ...more });
  };

  const listFileSystems = (query: URLSearchParams): AwsReply => {
    for (const [id, one] of [...fileSystems]) pass(fileSystems, id, one);
    const bucket = query.get("bucket");
    const found = [...fileSystems.values()].filter((one) => bucket === null || one.bucket === bucket);
    return paged(query, "fileSystems", found.map(described));
  };

  const listMountTargets = (query: URLSearchParams): AwsReply => {
    for (const [id, one] of [...mountTargets]) pass(mountTargets, id, one);
    const id = query.get("fileSystemId");
    if (id !== null) fileSystem(id);
    const found = [...mountTargets.values()].filter((one) => id === null || one.fileSystemId === id);
    return paged(query, "mountTargets", found.map(target));
  };

  const route = ({ verb, path, query, body }: AwsRequest): AwsMethod | undefined => {
    const [, kind = "", id = "", more] = path.split("/").map(decodeURIComponent);
    const json = () => JSON.parse(body.toString() || "{}") as Record<string, unknown>;
    const calls: Readonly<Record<string, readonly [string, () => AwsReply]>> = {
      "PUT file-systems": ["CreateFileSystem", () => createFileSystem(json())],
      "GET file-systems": ["ListFileSystems", () => listFileSystems(query)],
      "DELETE file-systems ID": ["DeleteFileSystem", () => deleteFileSystem(id)],
      "PUT file-systems ID policy": ["PutFileSystemPolicy", () => putPolicy(id, json())],
      "PUT mount-targets": ["CreateMountTarget", () => createMountTarget(json())],
      "GET mount-targets": ["ListMountTargets", () => listMountTargets(query)],
      "PUT access-points": ["CreateAccessPoint", () => createAccessPoint(json())],
      "GET access-points": ["ListAccessPoints", () => listAccessPoints(query)],
      "DELETE access-points ID": ["DeleteAccessPoint", () => deleteAccessPoint(id)],
      "DELETE mount-targets ID": ["DeleteMountTarget", () => deleteMountTarget(id)],
    };
    const found = calls[[verb, kind, id === "" ? [] : "ID", more ?? []].flat().join(" ")];
    return found === undefined ? undefined : { method: `s3files.${found[0]}`, act: found[1] };
  };

  const server = await serveAws(faults, { route, injected: jsonErrors, failed: jsonFailed });
  const client = recorded(
    "files",
    new S3FilesClient({
      endpoint: server.endpoint,
      region: awsConfig.region,
      maxAttempts: 1,
      credentials: { accessKeyId: "AKIAFAKE", secretAccessKey: "secret" },
    }),
  );
  const fake: FakeS3Files = {
    client,
    faults,
    fileSystems,
    mountTargets,
    accessPoints,
    looks: 1,
    unknownRoles,
    zones,
    maxFileSystems: 1000,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
  return fake;
};
