/**
 * The fake S3's state, and its rules for buckets and objects. Sources, below
 * https://docs.aws.amazon.com/AmazonS3/latest: userguide/bucketnamingrules.html, userguide/object-keys.html,
 * userguide/versioning-workflows.html, userguide/conditional-writes.html, API/API_DeleteBucket.html,
 * API/API_CreateBucket.html.
 */
import { createHash, randomBytes } from "node:crypto";
import { failure } from "./failure.ts";
import type { BucketPolicy } from "./policy.ts";

export interface LifecycleRule {
  readonly id: string;
  readonly isEnabled: boolean;
  /** Milliseconds since 1970; must be midnight. */
  readonly date?: number;
  readonly expiresMarkers: boolean;
  readonly noncurrentDays?: number;
  readonly uploadDays?: number;
}

export interface CorsRule {
  readonly origins: readonly string[];
  readonly methods: readonly string[];
  readonly headers: readonly string[];
  readonly exposed: readonly string[];
  readonly maxAge: string | undefined;
}

export interface Version {
  readonly key: string;
  /** `null` in a bucket without versioning. */
  readonly versionId: string;
  readonly generation: bigint;
  readonly bytes: Buffer;
  /** Including its quotes. */
  readonly etag: string;
  readonly contentType: string;
  /** Milliseconds since 1970, like all times here. */
  readonly at: number;
  readonly isMarker: boolean;
}

export interface Upload {
  readonly key: string;
  readonly at: number;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
}

export interface FakeBucket {
  readonly name: string;
  readonly created: number;
  tags: Record<string, string>;
  ownership: string;
  publicAccessBlock: Record<string, boolean> | undefined;
  versioning: "Enabled" | "Suspended" | undefined;
  lifecycle: readonly LifecycleRule[];
  /** The lifecycle as the client sent it, which has more fields than the fake reads. */
  sentLifecycle: { readonly body: string; readonly minimumSize: string } | undefined;
  cors: readonly CorsRule[];
  policy: BucketPolicy | undefined;
  /** Current versions by key. */
  readonly objects: Map<string, Version>;
  /** All versions by key, newest first. */
  readonly versions: Map<string, Version[]>;
  readonly uploads: Map<string, Upload>;
  /** The number of further settings calls that do not see the bucket. */
  unknownLooks: number;
}

export const md5 = (bytes: Uint8Array): Buffer => createHash("md5").update(bytes).digest();

/** Keys are ordered by their UTF-8 bytes: API/API_ListObjectsV2.html */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const nameProblem = (name: string): string | undefined => {
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name)) return "The specified bucket is not valid.";
  const bad = /^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$|\.\.|^\d+\.\d+\.\d+\.\d+$/;
  return bad.test(name) ? "The specified bucket is not valid." : undefined;
};

export class S3World {
  readonly live = new Map<string, FakeBucket>();
  /** Names taken by other AWS accounts. */
  readonly strangers = new Set<string>();
  readonly now: () => number;
  /** "By default, you can create up to 10,000 general purpose buckets": userguide/BucketRestrictions.html */
  maxBuckets = 10_000;
  /**
   * A PUT may have up to 5 GB; each part but the last must have at least 5 MB: userguide/qfacts.html. Tests may set
   * less.
   */
  putMax = 5 * 1024 ** 3;
  partMin = 5 * 1024 ** 2;
  /** The number of settings calls that do not see a new bucket. */
  unknownLooks = 0;
  #generation = 0n;

  constructor(now: () => number) {
    this.now = now;
  }

  bucket(name: string): FakeBucket {
    if (this.strangers.has(name)) throw failure(403, "AccessDenied", "Access Denied");
    const found = this.live.get(name);
    if (found === undefined) throw failure(404, "NoSuchBucket", "The specified bucket does not exist");
    return found;
  }

  /** The bucket, for a settings call. */
  known(name: string): FakeBucket {
    const found = this.bucket(name);
    if (found.unknownLooks === 0) return found;
    found.unknownLooks -= 1;
    throw failure(404, "NoSuchBucket", "The specified bucket does not exist");
  }

  createBucket(name: string, tags: Record<string, string>, ownership: string): FakeBucket {
    const problem = nameProblem(name);
    if (problem !== undefined) throw failure(400, "InvalidBucketName", problem);
    if (this.live.has(name))
      throw failure(409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded.");
    if (this.strangers.has(name))
      throw failure(409, "BucketAlreadyExists", "The requested bucket name is not available.");
    if (this.live.size >= this.maxBuckets)
      throw failure(400, "TooManyBuckets", "You have attempted to create more buckets than allowed.");
    const bucket: FakeBucket = {
      name,
      created: this.now(),
      tags,
      ownership,
      publicAccessBlock: undefined,
      versioning: undefined,
      lifecycle: [],
      sentLifecycle: undefined,
      cors: [],
      policy: undefined,
      objects: new Map(),
      versions: new Map(),
      uploads: new Map(),
      unknownLooks: this.unknownLooks,
    };
    this.live.set(name, bucket);
    return bucket;
  }

  /** "All objects (including all object versions and delete markers) in the bucket must be deleted" */
  deleteBucket(name: string): void {
    const bucket = this.bucket(name);
    if (bucket.versions.size > 0)
      throw failure(
        409,
        "BucketNotEmpty",
        "The bucket you tried to delete is not empty. You must delete all versions.",
      );
    this.live.delete(name);
  }

  putObject(
    bucket: FakeBucket,
    object: {
      readonly name: string;
      readonly bytes: Uint8Array;
      readonly contentType?: string;
      readonly etag?: string;
    },
  ): Version {
    const { name: key, contentType = "binary/octet-stream" } = object;
    if (key === "" || Buffer.byteLength(key) > 1024) throw failure(400, "KeyTooLongError", "Your key is too long");
    const bytes = Buffer.from(object.bytes);
    const etag = object.etag ?? `"${md5(bytes).toString("hex")}"`;
    return this.#add(bucket, { key, bytes, etag, contentType, isMarker: false });
  }

  /** A delete without a version adds a marker in a versioned bucket, else removes the object. */
  removeObject(bucket: FakeBucket, key: string): { readonly marker?: Version } {
    if (bucket.versioning !== "Enabled") {
      bucket.objects.delete(key);
      bucket.versions.delete(key);
      return {};
    }
    const marker = this.#add(bucket, { key, bytes: Buffer.alloc(0), etag: "", contentType: "", isMarker: true });
    return { marker };
  }

  removeVersion(bucket: FakeBucket, key: string, versionId: string): void {
    const left = (bucket.versions.get(key) ?? []).filter((one) => one.versionId !== versionId);
    this.#keep(bucket, key, left);
  }

  #add(bucket: FakeBucket, made: Omit<Version, "versionId" | "generation" | "at">): Version {
    this.#generation += 1n;
    const isKept = bucket.versioning === "Enabled";
    const versionId = isKept ? randomBytes(16).toString("hex") : "null";
    const version = { ...made, versionId, generation: this.#generation, at: this.now() };
    const before = (bucket.versions.get(made.key) ?? []).filter((one) => isKept || one.versionId !== "null");
    this.#keep(bucket, made.key, [version, ...before]);
    return version;
  }

  #keep(bucket: FakeBucket, key: string, versions: Version[]): void {
    const [newest] = versions;
    if (newest === undefined) bucket.versions.delete(key);
    else bucket.versions.set(key, versions);
    if (newest === undefined || newest.isMarker) bucket.objects.delete(key);
    else bucket.objects.set(key, newest);
  }
}
