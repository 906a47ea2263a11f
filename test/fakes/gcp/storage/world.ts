/**
 * The fake Cloud Storage's state, and its rules for buckets and objects.
 *
 * Sources: https://cloud.google.com/storage/docs/buckets#naming, .../objects#naming, .../soft-delete,
 * .../use-soft-deleted-buckets, .../json_api/v1/buckets, .../json_api/v1/objects, .../consistency (strong consistency,
 * for listings too).
 */
import { createHash, randomBytes } from "node:crypto";
import { failure } from "./failure.ts";

export interface ObjectVersion {
  readonly name: string;
  /** Unique and increasing: https://cloud.google.com/storage/docs/metadata#generation-number */
  readonly generation: bigint;
  readonly bytes: Buffer;
  readonly contentType: string;
  readonly contentEncoding?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since 1970, like all times here. */
  readonly created: number;
  readonly softDeleted?: number;
  readonly hardDeleted?: number;
}

export interface Policy {
  etag: string;
  version: number;
  bindings: { role: string; members: string[]; condition?: unknown }[];
}

/** An upload in parts that is not complete. */
export interface MultipartUpload {
  readonly object: string;
  readonly at: number;
  readonly parts: Map<number, { readonly bytes: Buffer; readonly etag: string }>;
}

export interface FakeBucket {
  readonly name: string;
  readonly generation: bigint;
  readonly created: number;
  /** The settings as written. */
  settings: Record<string, unknown>;
  labels: Record<string, string>;
  metageneration: number;
  updated: number;
  policy: Policy;
  /** When each member got its first role, in milliseconds since the epoch. */
  readonly grantedAt: Map<string, number>;
  /** Live objects, by name. */
  readonly objects: Map<string, ObjectVersion>;
  /** Soft-deleted objects. */
  readonly deleted: ObjectVersion[];
  /** Uploads in parts, by id. */
  readonly uploads: Map<string, MultipartUpload>;
  softDeleted?: number;
  hardDeleted?: number;
}

export type NewObject = Pick<ObjectVersion, "name" | "bytes"> &
  Partial<Pick<ObjectVersion, "contentType" | "contentEncoding" | "metadata">>;

const WEEK_S = 7 * 86_400;

export const md5 = (bytes: Uint8Array, form: "hex" | "base64"): string => createHash("md5").update(bytes).digest(form);

/** Names are ordered by their UTF-8 bytes: .../json_api/v1/objects/list ("lexicographic order"). */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const newEtag = (): string => randomBytes(8).toString("base64");

/** .../docs/buckets#naming */
const bucketNameProblem = (name: string): string | undefined => {
  if (!/^[a-z0-9][a-z0-9._-]*[a-z0-9]$/.test(name)) return "Invalid bucket name";
  if (name.length < 3 || name.length > 63) return "Bucket names must be at least 3 and at most 63 characters in length";
  if (/^goog|g[o0]+gle/.test(name)) return "The specified bucket name is not valid: it contains 'google'";
  return undefined;
};

/** .../docs/objects#naming */
const objectNameProblem = (name: string): string | undefined => {
  if (name === "" || Buffer.byteLength(name) > 1024) return "Object names have 1 to 1024 bytes";
  if (/[\r\n]/.test(name) || name === "." || name === "..") return "Disallowed object name";
  return name.startsWith(".well-known/acme-challenge/") ? "Disallowed object name" : undefined;
};

/** .../docs/tags-and-labels#bucket-labels: at most 64; keys and values up to 63 of these characters */
const labelsProblem = (labels: Record<string, string>): string | undefined => {
  const entries = Object.entries(labels);
  if (entries.length > 64) return "At most 64 labels";
  const isBad = ([key, value]: [string, string]) =>
    !/^[a-z][a-z0-9_-]{0,62}$/.test(key) || !/^[a-z0-9_-]{0,63}$/.test(value);
  return entries.find(isBad)?.join("=");
};

/** .../docs/soft-delete: seven days by default; 0 (off), or 7 to 90 days */
const retentionOf = (settings: Record<string, unknown>, defaultSeconds: number): number => {
  const policy = settings["softDeletePolicy"] as { retentionDurationSeconds?: string | number } | undefined;
  const seconds = Number(policy?.retentionDurationSeconds ?? defaultSeconds);
  if (seconds !== 0 && (seconds < WEEK_S || seconds > 90 * 86_400))
    throw failure(400, "invalid", `Soft delete of ${seconds} s: 0, or 7 to 90 days`);
  return seconds;
};

export class StorageWorld {
  readonly live = new Map<string, FakeBucket>();
  /** Soft-deleted buckets. */
  readonly deleted: FakeBucket[] = [];
  /** Names taken by buckets of other projects. */
  readonly strangers = new Set<string>();
  /** Live buckets of other projects that anyone may access; this project's listing leaves them out. */
  readonly foreign = new Set<string>();
  /** Number of further policy writes that reject each member as unknown. */
  readonly unknownMembers = new Map<string, number>();
  /** Default retention of deleted objects in the project's buckets, in seconds; tests may change it. */
  defaultRetention = WEEK_S;
  /** An organisation's policy storage.softDeletePolicySeconds: the only value that it allows; undefined allows any. */
  forcedRetention: number | undefined;
  /** Minimum size of a part other than the last one: https://cloud.google.com/storage/quotas#requests */
  partMin = 5 * 1024 ** 2;
  readonly now: () => number;
  #generation = 0n;

  constructor(now: () => number) {
    this.now = now;
  }

  nextGeneration(): bigint {
    const micros = BigInt(Math.floor(this.now() * 1000));
    this.#generation = micros > this.#generation ? micros : this.#generation + 1n;
    return this.#generation;
  }

  bucket(name: string): FakeBucket {
    if (this.strangers.has(name)) throw failure(403, "forbidden", "does not have storage.buckets.get access");
    const found = this.live.get(name);
    if (found === undefined) throw failure(404, "notFound", "The specified bucket does not exist.");
    return found;
  }

  insertBucket(body: Record<string, unknown>): FakeBucket {
    const { name: given, labels: givenLabels, ...settings } = body;
    const name = String(given ?? "");
    const labels = (givenLabels ?? {}) as Record<string, string>;
    const problem = bucketNameProblem(name) ?? labelsProblem(labels);
    if (problem !== undefined) throw failure(400, "invalid", problem);
    if (this.live.has(name) || this.strangers.has(name))
      throw failure(409, "conflict", "The requested bucket name is not available.");
    const seconds = retentionOf(settings, this.defaultRetention);
    if (this.forcedRetention !== undefined && this.forcedRetention !== seconds)
      throw failure(412, "orgpolicy", "Request violates constraint 'constraints/storage.softDeletePolicySeconds'");
    const bucket: FakeBucket = {
      name,
      generation: this.nextGeneration(),
      created: this.now(),
      settings: { ...settings, softDeletePolicy: { retentionDurationSeconds: String(seconds) } },
      labels,
      metageneration: 1,
      updated: this.now(),
      policy: { etag: newEtag(), version: 1, bindings: [] },
      grantedAt: new Map(),
      objects: new Map(),
      uploads: new Map(),
      deleted: [],
    };
    this.live.set(name, bucket);
    return bucket;
  }

  /** A null label is removed; other settings replace the previous ones. */
  patchBucket(name: string, change: Record<string, unknown>): FakeBucket {
    const bucket = this.bucket(name);
    const { labels: changed = {}, ...settings } = change;
    const labels: Record<string, string> = { ...bucket.labels };
    for (const [key, value] of Object.entries(changed as Record<string, string | null>))
      if (value === null) delete labels[key];
      else labels[key] = value;
    const problem = labelsProblem(labels);
    if (problem !== undefined) throw failure(400, "invalid", problem);
    bucket.labels = labels;
    bucket.settings = { ...bucket.settings, ...settings };
    retentionOf(bucket.settings, this.defaultRetention);
    this.touch(bucket);
    return bucket;
  }

  /** https://cloud.google.com/storage/docs/deleting-buckets: fails with live objects; soft-deleted ones may remain. */
  deleteBucket(name: string): void {
    const bucket = this.bucket(name);
    if (bucket.objects.size > 0) throw failure(409, "conflict", "The bucket you tried to delete is not empty.");
    this.live.delete(name);
    const seconds = retentionOf(bucket.settings, this.defaultRetention);
    if (seconds === 0) return;
    const hard = Math.max(this.now() + seconds * 1000, ...bucket.deleted.map((one) => one.hardDeleted ?? 0));
    this.deleted.push(Object.assign(bucket, { softDeleted: this.now(), hardDeleted: hard }));
  }

  /**
   * .../json_api/v1/buckets/restore: restores settings and policies, no objects; fails if a live bucket has the name.
   */
  restoreBucket(name: string, generation: string): FakeBucket {
    this.purge();
    const at = this.deleted.findIndex((one) => one.name === name && String(one.generation) === generation);
    const bucket = this.deleted[at];
    if (bucket === undefined) throw failure(404, "notFound", "The specified bucket does not exist.");
    if (this.live.has(name) || this.strangers.has(name))
      throw failure(409, "conflict", "A live bucket of that name exists.");
    this.deleted.splice(at, 1);
    delete bucket.softDeleted;
    delete bucket.hardDeleted;
    this.touch(bucket);
    this.live.set(name, bucket);
    return bucket;
  }

  putObject(bucket: FakeBucket, object: NewObject): ObjectVersion {
    const problem = objectNameProblem(object.name);
    if (problem !== undefined) throw failure(400, "invalid", problem);
    this.removeObject(bucket, object.name);
    const made: ObjectVersion = {
      contentType: "application/octet-stream",
      metadata: {},
      ...object,
      generation: this.nextGeneration(),
      created: this.now(),
    };
    bucket.objects.set(object.name, made);
    return made;
  }

  /** Soft-deletes a deleted or replaced object: .../docs/soft-delete. Returns false if the object does not exist. */
  removeObject(bucket: FakeBucket, name: string): boolean {
    const present = bucket.objects.get(name);
    if (present === undefined) return false;
    bucket.objects.delete(name);
    const seconds = retentionOf(bucket.settings, this.defaultRetention);
    const now = this.now();
    if (seconds > 0) bucket.deleted.push({ ...present, softDeleted: now, hardDeleted: now + seconds * 1000 });
    return true;
  }

  /** .../json_api/v1/objects/restore: creates a copy with a new generation. */
  restoreObject(bucket: FakeBucket, name: string, generation: string): ObjectVersion {
    this.purge();
    const found = bucket.deleted.find((one) => one.name === name && String(one.generation) === generation);
    if (found === undefined) throw failure(404, "notFound", `No such soft-deleted object: ${bucket.name}/${name}`);
    const { bytes, contentType, contentEncoding, metadata } = found;
    return this.putObject(bucket, { name, bytes, contentType, contentEncoding, metadata });
  }

  setPolicy(bucket: FakeBucket, wanted: Partial<Policy>): Policy {
    // https://cloud.google.com/iam/docs/policies#etag
    if (wanted.etag !== undefined && wanted.etag !== bucket.policy.etag)
      throw failure(412, "conditionNotMet", "The policy was changed meanwhile: its etag differs.");
    const bindings = wanted.bindings ?? [];
    const members = bindings.flatMap((one) => one.members);
    // https://cloud.google.com/storage/docs/public-access-prevention
    const { publicAccessPrevention } = (bucket.settings["iamConfiguration"] ?? {}) as Record<string, unknown>;
    if (publicAccessPrevention === "enforced" && members.some((one) => /^all(Authenticated)?Users$/.test(one)))
      throw failure(412, "conditionNotMet", "allUsers is not allowed since public access prevention is enforced.");
    for (const member of members) this.#lookUp(member);
    bucket.policy = { etag: newEtag(), version: wanted.version ?? 1, bindings };
    for (const member of members) if (!bucket.grantedAt.has(member)) bucket.grantedAt.set(member, this.now());
    this.touch(bucket);
    return bucket.policy;
  }

  touch(bucket: FakeBucket): void {
    bucket.metageneration += 1;
    bucket.updated = this.now();
  }

  /** Removes soft-deleted items whose retention has ended. */
  purge(): void {
    const isOver = ({ hardDeleted }: { hardDeleted?: number }) => (hardDeleted ?? Infinity) <= this.now();
    for (const list of [this.deleted, ...[...this.live.values()].map((one) => one.deleted)])
      for (let at = list.length - 1; at >= 0; at--) if (isOver(list[at] as FakeBucket)) list.splice(at, 1);
  }

  #lookUp(member: string): void {
    const left = this.unknownMembers.get(member) ?? 0;
    if (left === 0) return;
    this.unknownMembers.set(member, left - 1);
    throw failure(400, "invalid", `${member} does not exist.`);
  }
}
