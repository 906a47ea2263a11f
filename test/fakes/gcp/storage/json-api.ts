/** The fake's JSON API, by method: https://cloud.google.com/storage/docs/json_api/v1 */
import { PROJECT_NUMBER } from "../test-project.ts";
import { crc32c } from "./crc32c.ts";
import { download } from "./download.ts";
import { failure, jsonReply, type Reply } from "./failure.ts";
import { byBytes, type FakeBucket, md5, type ObjectVersion, type StorageWorld } from "./world.ts";

export interface JsonCall {
  readonly method: string;
  /** Decoded parts of the path after `/storage/v1/b`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly body: () => Record<string, unknown>;
  /** The `Range` header. */
  readonly range: string | undefined;
}

const time = (millis: number | undefined): string | undefined =>
  millis === undefined ? undefined : new Date(millis).toISOString();

/** How long uniform access may still be disabled: https://cloud.google.com/storage/docs/uniform-bucket-level-access */
const UNIFORM_UNLOCKED_MS = 90 * 86_400_000;

/**
 * The older name `bucketPolicyOnly` repeats the uniform access. The fake's buckets have it from their creation, or
 * never.
 */
const iamConfigurationOf = ({ settings, created }: FakeBucket): object => {
  const written = (settings["iamConfiguration"] ?? {}) as { uniformBucketLevelAccess?: { enabled?: boolean } };
  const uniform =
    written.uniformBucketLevelAccess?.enabled === true
      ? { enabled: true, lockedTime: time(created + UNIFORM_UNLOCKED_MS) }
      : { enabled: false };
  return {
    publicAccessPrevention: "inherited",
    ...written,
    uniformBucketLevelAccess: uniform,
    bucketPolicyOnly: uniform,
  };
};

/** Without `effectiveTime` if soft delete is off. The fake does not record later changes of that time. */
const softDeletePolicyOf = ({ settings, created }: FakeBucket): object => {
  const { retentionDurationSeconds: seconds } = settings["softDeletePolicy"] as { retentionDurationSeconds: unknown };
  const effectiveTime = String(seconds) === "0" ? undefined : time(created);
  return { retentionDurationSeconds: String(seconds), effectiveTime };
};

/** Cloud Storage returns the location in upper case, and `rpo` for multi-regions only. */
const locationOf = ({ settings }: FakeBucket): object => {
  const location = String(settings["location"] ?? "US").toUpperCase();
  return /^(US|EU|ASIA)$/.test(location)
    ? { location, locationType: "multi-region", rpo: "DEFAULT" }
    : { location, locationType: "region" };
};

/**
 * Fields as in traffic that k8s-config-connector recorded, under `pkg/test/resourcefixture/testdata/basic`
 * (`storage/v1beta1/storagebucket/storagebucketbasic/_http.log`,
 * `composer/v1beta1/composerenvironment/composerenvironmentwithrefs/_http.log`), without access control lists.
 */
export const bucketResource = (one: FakeBucket): Record<string, unknown> => ({
  kind: "storage#bucket",
  selfLink: `https://www.googleapis.com/storage/v1/b/${one.name}`,
  id: one.name,
  name: one.name,
  projectNumber: PROJECT_NUMBER,
  storageClass: "STANDARD",
  ...one.settings,
  ...locationOf(one),
  iamConfiguration: iamConfigurationOf(one),
  softDeletePolicy: softDeletePolicyOf(one),
  labels: Object.keys(one.labels).length === 0 ? undefined : one.labels,
  etag: Buffer.from(String(one.metageneration)).toString("base64"),
  generation: String(one.generation),
  metageneration: String(one.metageneration),
  timeCreated: time(one.created),
  updated: time(one.updated),
  softDeleteTime: time(one.softDeleted),
  hardDeleteTime: time(one.hardDeleted),
});

export const objectResource = (bucket: string, one: ObjectVersion): Record<string, unknown> => ({
  kind: "storage#object",
  id: `${bucket}/${one.name}/${one.generation}`,
  bucket,
  name: one.name,
  generation: String(one.generation),
  metageneration: "1",
  contentType: one.contentType,
  contentEncoding: one.contentEncoding,
  size: String(one.bytes.length),
  md5Hash: md5(one.bytes, "base64"),
  crc32c: crc32c(one.bytes),
  etag: Buffer.from(String(one.generation)).toString("base64"),
  metadata: Object.keys(one.metadata).length === 0 ? undefined : one.metadata,
  timeCreated: time(one.created),
  updated: time(one.created),
  softDeleteTime: time(one.softDeleted),
  hardDeleteTime: time(one.hardDeleted),
});

/** https://cloud.google.com/storage/docs/json_api#partial-response, in the form `items(a,b),nextPageToken` */
interface List extends Readonly<Record<string, unknown>> {
  readonly items?: readonly Record<string, unknown>[] | undefined;
}

const masked = (list: List, fields: string | null): unknown => {
  const inner = /items\(([^)]*)\)/.exec(fields ?? "")?.[1]?.split(",");
  if (inner === undefined || list.items === undefined) return list;
  const items = list.items.map((one) => Object.fromEntries(inner.map((field) => [field, one[field]])));
  return { ...list, items };
};

const PAGE_MAX = 1000;

/** The page after the token. The token encodes the last item's position, in the fake's own format. */
const pageOf = <T>(all: readonly T[], placeOf: (one: T) => string, query: URLSearchParams) => {
  const wanted = Number(query.get("maxResults") ?? PAGE_MAX);
  if (!(wanted >= 1)) throw failure(400, "invalid", "maxResults");
  const token = query.get("pageToken");
  const behind = token === null ? undefined : Buffer.from(token, "base64url").toString();
  const rest = behind === undefined ? all : all.filter((one) => byBytes(placeOf(one), behind) > 0);
  const page = rest.slice(0, Math.min(wanted, PAGE_MAX));
  const last = page.at(-1);
  const more = last !== undefined && rest.length > page.length;
  return { page, nextPageToken: more ? Buffer.from(placeOf(last)).toString("base64url") : undefined };
};

const listBuckets = (world: StorageWorld, query: URLSearchParams): Reply => {
  if (query.get("project") === null) throw failure(400, "required", "Required parameter: project");
  world.purge();
  const prefix = query.get("prefix") ?? "";
  const source = query.get("softDeleted") === "true" ? world.deleted : [...world.live.values()];
  const place = (one: FakeBucket) => `${one.name}#${one.generation}`;
  const all = source
    .filter(({ name }) => name.startsWith(prefix) && !world.foreign.has(name))
    .sort((a, b) => byBytes(place(a), place(b)));
  const { page, nextPageToken } = pageOf(all, place, query);
  const items = page.length === 0 ? undefined : page.map(bucketResource);
  return jsonReply(masked({ kind: "storage#buckets", nextPageToken, items }, query.get("fields")));
};

const listObjects = (world: StorageWorld, bucket: FakeBucket, query: URLSearchParams): Reply => {
  world.purge();
  const [prefix, from] = [query.get("prefix") ?? "", query.get("startOffset")];
  const source = query.get("softDeleted") === "true" ? bucket.deleted : [...bucket.objects.values()];
  // Padded generations sort numerically, so that a page may end between two generations of one name.
  const place = (one: ObjectVersion) => `${one.name}\n${String(one.generation).padStart(20, "0")}`;
  const all = source
    .filter(({ name }) => name.startsWith(prefix) && (from === null || byBytes(name, from) >= 0))
    .sort((a, b) => byBytes(a.name, b.name) || (a.generation < b.generation ? -1 : 1));
  const delimiter = query.get("delimiter") ?? "";
  const commonPrefix = ({ name }: ObjectVersion): string | undefined => {
    const end = delimiter === "" ? -1 : name.indexOf(delimiter, prefix.length);
    return end < 0 ? undefined : name.slice(0, end + delimiter.length);
  };
  // A common prefix counts as one item, which sorts where its first object does.
  const listed = [...new Set(all.map((one) => commonPrefix(one) ?? one))];
  const { page, nextPageToken } = pageOf(listed, (one) => (typeof one === "string" ? one : place(one)), query);
  const found = page.flatMap((one) => (typeof one === "string" ? [] : [objectResource(bucket.name, one)]));
  const common = page.filter((one) => typeof one === "string");
  const items = found.length === 0 ? undefined : found;
  const fields = query.get("fields");
  const isMasked = fields !== null && !fields.split(",").includes("prefixes");
  const prefixes = common.length === 0 || isMasked ? {} : { prefixes: common };
  return jsonReply(masked({ kind: "storage#objects", nextPageToken, ...prefixes, items }, fields));
};

const condition = (query: URLSearchParams, name: string, present: string): void => {
  const wanted = query.get(name);
  if (wanted !== null && wanted !== present)
    throw failure(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.");
};

/** 0 means that no live object exists: https://cloud.google.com/storage/docs/request-preconditions */
export const generationHolds = (bucket: FakeBucket, name: string, query: URLSearchParams): void =>
  condition(query, "ifGenerationMatch", String(bucket.objects.get(name)?.generation ?? 0));

const onBucket = (world: StorageWorld, name: string, { method, query, body }: JsonCall): Reply => {
  const metageneration = () => condition(query, "ifMetagenerationMatch", String(world.bucket(name).metageneration));
  switch (method) {
    case "storage.buckets.get":
      return jsonReply(bucketResource(world.bucket(name)));
    case "storage.buckets.patch":
      metageneration();
      return jsonReply(bucketResource(world.patchBucket(name, body())));
    case "storage.buckets.delete":
      metageneration();
      world.deleteBucket(name);
      return { status: 204 };
    case "storage.buckets.restore":
      return jsonReply(bucketResource(world.restoreBucket(name, query.get("generation") ?? "")));
    case "storage.buckets.getIamPolicy":
      return jsonReply({ kind: "storage#policy", ...world.bucket(name).policy });
    default:
      return jsonReply({ kind: "storage#policy", ...world.setPolicy(world.bucket(name), body()) });
  }
};

const objectOf = (bucket: FakeBucket, name: string, query: URLSearchParams): ObjectVersion => {
  const found = bucket.objects.get(name);
  const wanted = query.get("generation");
  if (found === undefined || (wanted !== null && wanted !== String(found.generation)))
    throw failure(404, "notFound", `No such object: ${bucket.name}/${name}`);
  return found;
};

const onObject = (world: StorageWorld, bucket: FakeBucket, name: string, call: JsonCall): Reply => {
  const { method, query, range } = call;
  switch (method) {
    case "storage.objects.get": {
      const found = objectOf(bucket, name, query);
      if (query.get("alt") !== "media") return jsonReply(objectResource(bucket.name, found));
      // .../json_api/v1/status-codes#416_Requested_Range_Not_Satisfiable
      return download(found, { range, refusal: "requestedRangeNotSatisfiable" });
    }
    // .../json_api/v1/objects/rewrite: within one location, a single call copies everything
    case "storage.objects.rewrite": {
      const found = objectOf(bucket, name, query);
      const [, , , , , to = "", , made = ""] = call.parts;
      const target = world.bucket(to);
      generationHolds(target, made, query);
      const { bytes, contentType, metadata } = found;
      const copy = world.putObject(target, { name: made, bytes, contentType, metadata });
      const size = String(bytes.length);
      const done = { kind: "storage#rewriteResponse", totalBytesRewritten: size, objectSize: size, done: true };
      return jsonReply({ ...done, resource: objectResource(to, copy) });
    }
    case "storage.objects.delete":
      objectOf(bucket, name, query);
      generationHolds(bucket, name, query);
      world.removeObject(bucket, name);
      return { status: 204 };
    default: {
      generationHolds(bucket, name, query);
      const restored = world.restoreObject(bucket, name, query.get("generation") ?? "");
      return jsonReply(objectResource(bucket.name, restored));
    }
  }
};

const methods: ReadonlyMap<string, string> = new Map([
  ["GET ", "buckets.list"],
  ["POST ", "buckets.insert"],
  ["GET b", "buckets.get"],
  ["PATCH b", "buckets.patch"],
  ["DELETE b", "buckets.delete"],
  ["POST b/restore", "buckets.restore"],
  ["GET b/iam", "buckets.getIamPolicy"],
  ["PUT b/iam", "buckets.setIamPolicy"],
  ["GET b/o", "objects.list"],
  ["GET b/o/o", "objects.get"],
  ["DELETE b/o/o", "objects.delete"],
  ["POST b/o/o/restore", "objects.restore"],
  ["POST b/o/o/rewriteTo/b/b/o/o", "objects.rewrite"],
]);

/** The method's name in the reference documentation; undefined if no method has this verb and path. */
export const jsonMethod = (verb: string, parts: readonly string[]): string | undefined => {
  // Bucket and object names are parts 0 and 2; those of a copy's target are parts 5 and 7.
  const shape = parts.map((part, at) => (at === 0 || at === 5 ? "b" : at === 2 || at === 7 ? "o" : part)).join("/");
  const method = methods.get(`${verb} ${shape}`);
  return method === undefined ? undefined : `storage.${method}`;
};

export const answerJson = (world: StorageWorld, call: JsonCall): Reply => {
  const [name, , object] = call.parts;
  if (call.method === "storage.buckets.list") return listBuckets(world, call.query);
  if (name === undefined) {
    if (call.query.get("project") === null) throw failure(400, "required", "Required parameter: project");
    return jsonReply(bucketResource(world.insertBucket(call.body())));
  }
  if (call.method.startsWith("storage.buckets.")) return onBucket(world, name, call);
  const bucket = world.bucket(name);
  return object === undefined ? listObjects(world, bucket, call.query) : onObject(world, bucket, object, call);
};
