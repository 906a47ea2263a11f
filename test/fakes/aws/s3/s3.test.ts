/** The fake S3 matches the documentation when the official client calls it. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketTaggingCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  ListPartsCommand,
  PutBucketCorsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { type FakeS3, startFakeS3 } from "./index.ts";

let s3: FakeS3;
let count = 0;
let Bucket = "";
beforeAll(async () => {
  s3 = await startFakeS3();
});
afterAll(() => s3.close());
beforeEach(async () => {
  Bucket = `bucket-${++count}`;
  s3.faults.clear();
  await s3.client.send(
    new CreateBucketCommand({ Bucket, CreateBucketConfiguration: { LocationConstraint: "eu-west-1" } }),
  );
});

type Sent = Promise<unknown>;
const refused = (sent: Sent, name: string) => expect(sent).rejects.toMatchObject({ name });
const put = (Key: string, Body = Key, more: object = {}) =>
  s3.client.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength: Buffer.byteLength(Body), ...more }));
const get = (Key: string, more: object = {}) => s3.client.send(new GetObjectCommand({ Bucket, Key, ...more }));
const versioned = () =>
  s3.client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: "Enabled" } }));

describe("buckets", () => {
  test("are created once, in the request's region, with tags; names are global", async () => {
    const make = (name: string, more: object) =>
      s3.client.send(new CreateBucketCommand({ Bucket: name, CreateBucketConfiguration: more }));
    await refused(make(Bucket, { LocationConstraint: "eu-west-1" }), "BucketAlreadyOwnedByYou");
    s3.world.strangers.add("theirs");
    await refused(make("theirs", { LocationConstraint: "eu-west-1" }), "BucketAlreadyExists");
    await refused(make("elsewhere", { LocationConstraint: "us-west-2" }), "IllegalLocationConstraintException");
    await refused(make("No_Name", { LocationConstraint: "eu-west-1" }), "InvalidBucketName");
    await make("tagged", { LocationConstraint: "eu-west-1", Tags: [{ Key: "a", Value: "b" }] });
    const { TagSet } = await s3.client.send(new GetBucketTaggingCommand({ Bucket: "tagged" }));
    expect(TagSet).toEqual([{ Key: "a", Value: "b" }]);
    await refused(s3.client.send(new GetBucketTaggingCommand({ Bucket })), "NoSuchTagSet");
  });

  test("are listed by prefix, in pages", async () => {
    for (const name of ["p-1", "p-2", "p-3"]) s3.world.createBucket(name, {}, "BucketOwnerEnforced");
    const names: (string | undefined)[] = [];
    let ContinuationToken: string | undefined;
    let pages = 0;
    do {
      const input = { Prefix: "p-", MaxBuckets: 2, ContinuationToken };
      const page = await s3.client.send(new ListBucketsCommand(input));
      names.push(...(page.Buckets ?? []).map(({ Name }) => Name));
      ContinuationToken = page.ContinuationToken;
      pages += 1;
    } while (ContinuationToken !== undefined);
    expect([names, pages]).toEqual([["p-1", "p-2", "p-3"], 2]);
  });

  test("can be deleted only without versions and delete markers", async () => {
    await versioned();
    await put("a");
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
    const remove = () => s3.client.send(new DeleteBucketCommand({ Bucket }));
    await refused(remove(), "BucketNotEmpty");
    const { Versions = [], DeleteMarkers = [] } = await s3.client.send(new ListObjectVersionsCommand({ Bucket }));
    expect([Versions.length, DeleteMarkers.map(({ IsLatest }) => IsLatest)]).toEqual([1, [true]]);
    const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }));
    await s3.client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    await remove();
    await refused(remove(), "NoSuchBucket");
  });

  test("reject invalid lifecycle rules and policies", async () => {
    const rules = (Rules: object[]) =>
      s3.client.send(
        new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration: { Rules: Rules as never } }),
      );
    const rule = { ID: "r", Filter: { Prefix: "" }, Status: "Enabled" };
    const midnight = new Date("2026-01-01T00:00:00Z");
    await rules([{ ...rule, Expiration: { Date: midnight } }]);
    await refused(rules([{ ...rule, Expiration: { Date: new Date("2026-01-01T01:00:00Z") } }]), "InvalidArgument");
    const both = { Date: midnight, ExpiredObjectDeleteMarker: true };
    await refused(rules([{ ...rule, Expiration: both }]), "InvalidArgument");
    await refused(rules([rule, rule]), "MalformedXML");
    const former = { ...rule, ID: "former", Filter: undefined, Prefix: "" };
    await rules([former]);
    await refused(rules([rule, former]), "InvalidRequest");
    await refused(rules([{ ...former, Prefix: undefined }]), "MalformedXML");
    const policy = (Policy: string) => s3.client.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    await refused(policy("{"), "MalformedPolicy");
    const foreign = { Effect: "Deny", Principal: "*", Action: "s3:*", Resource: "arn:aws:s3:::another/*" };
    await refused(policy(JSON.stringify({ Version: "2012-10-17", Statement: [foreign] })), "MalformedPolicy");
  });

  test("deny exactly what their policy denies, even to their owner", async () => {
    await put("a/b");
    await put("c");
    const deny = { Effect: "Deny", Principal: "*", Action: "s3:Get*", Resource: `arn:aws:s3:::${Bucket}/a/*` };
    const deny2 = {
      ...deny,
      Resource: `arn:aws:s3:::${Bucket}/*`,
      Condition: { ArnNotEquals: { "aws:PrincipalArn": "arn:aws:iam::123456789012:role/platform" } },
    };
    const Policy = JSON.stringify({ Version: "2012-10-17", Statement: [deny, deny2] });
    await s3.client.send(new PutBucketPolicyCommand({ Bucket, Policy }));
    await refused(get("a/b"), "AccessDenied");
    expect(await (await get("c")).Body?.transformToString()).toBe("c");
    await put("a/b");
  });
});

describe("objects", () => {
  test("are put with conditions", async () => {
    await refused(put("a", "x", { IfMatch: '"none"' }), "NoSuchKey");
    const { ETag } = await put("a", "one", { IfNoneMatch: "*" });
    await refused(put("a", "two", { IfNoneMatch: "*" }), "PreconditionFailed");
    await refused(put("a", "two", { IfMatch: '"other"' }), "PreconditionFailed");
    await put("a", "two", { IfMatch: ETag });
    expect(await (await get("a")).Body?.transformToString()).toBe("two");
  });

  test("are read whole, in ranges, and with conditions", async () => {
    const { ETag } = await put("a", "0123456789");
    expect(await (await get("a", { Range: "bytes=2-4" })).Body?.transformToString()).toBe("234");
    await refused(get("a", { Range: "bytes=10-" }), "InvalidRange");
    await refused(get("a", { IfMatch: '"other"' }), "PreconditionFailed");
    await expect(get("a", { IfNoneMatch: ETag })).rejects.toMatchObject({ $metadata: { httpStatusCode: 304 } });
    const head = await s3.client.send(new HeadObjectCommand({ Bucket, Key: "a" }));
    expect([head.ContentLength, head.ETag]).toEqual([10, ETag]);
    await refused(s3.client.send(new HeadObjectCommand({ Bucket, Key: "b" })), "NotFound");
    await refused(get("b"), "NoSuchKey");
  });

  test("can be deleted if they are missing, unless a condition requires them", async () => {
    const remove = (Key: string, more: object = {}) =>
      s3.client.send(new DeleteObjectCommand({ Bucket, Key, ...more }));
    await remove("never");
    await refused(remove("never", { IfMatch: "*" }), "NoSuchKey");
    await put("a");
    await remove("a", { IfMatch: "*" });
    await refused(get("a"), "NoSuchKey");
  });

  test("reappear when their delete marker is deleted", async () => {
    await versioned();
    await put("a", "kept");
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "a" }));
    const { DeleteMarkers = [] } = await s3.client.send(new ListObjectVersionsCommand({ Bucket }));
    const VersionId = DeleteMarkers[0]?.VersionId;
    await s3.client.send(new DeleteObjectCommand({ Bucket, Key: "a", VersionId }));
    expect(await (await get("a")).Body?.transformToString()).toBe("kept");
  });

  test("are listed by their keys' bytes, by prefix, delimiter and token", async () => {
    for (const key of ["a/1", "a/2", "b", "b c", "ü"]) await put(key);
    const list = (more: object) => s3.client.send(new ListObjectsV2Command({ Bucket, ...more }));
    const { Contents, CommonPrefixes } = await list({ Delimiter: "/" });
    expect(Contents?.map(({ Key }) => Key)).toEqual(["b", "b c", "ü"]);
    expect(CommonPrefixes).toEqual([{ Prefix: "a/" }]);
    const first = await list({ MaxKeys: 2, EncodingType: "url" });
    expect([first.IsTruncated, first.Contents?.map(({ Key }) => Key)]).toEqual([true, ["a/1", "a/2"]]);
    const rest = await list({ ContinuationToken: first.NextContinuationToken, EncodingType: "url" });
    expect(rest.Contents?.map(({ Key }) => Key)).toEqual(["b", "b+c", "%C3%BC"]);
    expect((await list({ StartAfter: "b" })).KeyCount).toBe(2);
    expect((await list({ Delimiter: "/", MaxKeys: 1 })).CommonPrefixes).toEqual([{ Prefix: "a/" }]);
  });

  test("are assembled from ordered parts of sufficient size", async () => {
    const { UploadId } = await s3.client.send(new CreateMultipartUploadCommand({ Bucket, Key: "a" }));
    const at = { Bucket, Key: "a", UploadId };
    const part = async (PartNumber: number, Body: string) => {
      const { ETag } = await s3.client.send(new UploadPartCommand({ ...at, PartNumber, Body }));
      return { PartNumber, ETag };
    };
    const complete = (Parts: object[]) =>
      s3.client.send(new CompleteMultipartUploadCommand({ ...at, MultipartUpload: { Parts } }));
    const small = await part(1, "small");
    const last = await part(2, "last");
    await refused(complete([small, last]), "EntityTooSmall");
    await refused(complete([last, small]), "InvalidPartOrder");
    await refused(complete([{ PartNumber: 1, ETag: '"other"' }]), "InvalidPart");
    const large = await part(1, "x".repeat(5 * MiB));
    const listed = await s3.client.send(new ListPartsCommand({ ...at, MaxParts: 1 }));
    expect(listed.Parts).toMatchObject([{ PartNumber: 1, Size: 5 * MiB, ETag: large.ETag }]);
    expect([listed.IsTruncated, listed.NextPartNumberMarker]).toEqual([true, "1"]);
    const rest = await s3.client.send(new ListPartsCommand({ ...at, PartNumberMarker: "1" }));
    expect(rest.Parts).toMatchObject([{ PartNumber: 2, Size: 4, ETag: last.ETag }]);
    expect((await complete([large, last])).ETag).toMatch(/-2"$/);
    expect((await get("a")).ContentLength).toBe(5 * MiB + 4);
    await refused(complete([large, last]), "NoSuchUpload");
    await refused(s3.client.send(new ListPartsCommand(at)), "NoSuchUpload");
    await refused(s3.client.send(new AbortMultipartUploadCommand(at)), "NoSuchUpload");
  });
});

describe("requests", () => {
  test("of strangers and expired sessions are rejected", async () => {
    const of = (credentials: object) => new S3Client({ ...s3.clientConfig, credentials: credentials as never });
    const ask = (credentials: object) => of(credentials).send(new ListBucketsCommand({}));
    await refused(ask({ accessKeyId: "AKIAFAKE", secretAccessKey: "wrong" }), "SignatureDoesNotMatch");
    await refused(ask({ accessKeyId: "unknown", secretAccessKey: "secret" }), "InvalidAccessKeyId");
    const session = { accessKeyId: "ASIA", secretAccessKey: "s", sessionToken: "t", expiration: new Date(0) };
    s3.credentials.push(session);
    await refused(ask({ ...session, expiration: undefined }), "ExpiredToken");
    await refused(ask({ ...session, sessionToken: "other", expiration: undefined }), "InvalidToken");
    expect((await fetch(`${s3.url}/${Bucket}?list-type=2`)).status).toBe(403);
  });

  test("by a signed URL work for its method, object and time only", async () => {
    await put("a");
    const sign = (more: object) => getSignedUrl(s3.client, new GetObjectCommand({ Bucket, Key: "a" }), more);
    const url = await sign({ expiresIn: 60 });
    expect(await (await fetch(url)).text()).toBe("a");
    expect((await fetch(url, { method: "HEAD" })).status).toBe(403);
    expect((await fetch(url.replace("/a?", "/b?"))).status).toBe(403);
    expect((await fetch(url.replace("X-Amz-Expires=60", "X-Amz-Expires=600"))).status).toBe(403);
    expect((await fetch(url, { headers: { "x-amz-meta-a": "unsigned" } })).status).toBe(403);
    expect((await fetch(await sign({ expiresIn: 1, signingDate: new Date(Date.now() - 5000) }))).status).toBe(403);
  });

  test("with a wrong checksum or an unknown length are rejected", async () => {
    const checked = await getSignedUrl(s3.client, new PutObjectCommand({ Bucket, Key: "a" }));
    // The URL contains the checksum of the empty body.
    expect((await fetch(checked, { method: "PUT", body: "x" })).status).toBe(400);
    const plain = new S3Client({ ...s3.clientConfig, requestChecksumCalculation: "WHEN_REQUIRED" });
    const url = await getSignedUrl(plain, new PutObjectCommand({ Bucket, Key: "a" }));
    const body = new Blob(["x"]).stream();
    expect((await fetch(url, { method: "PUT", body, duplex: "half" } as RequestInit)).status).toBe(411);
    s3.world.putMax = 3;
    expect((await fetch(url, { method: "PUT", body: "long" })).status).toBe(400);
    s3.world.putMax = 5 * 1024 ** 3;
  });

  test("fail with injected faults, before or after their effect", async () => {
    s3.faults.inject({ method: "s3.PutObject", nth: 1, kind: "unavailable" });
    await refused(put("a"), "ServiceUnavailable");
    s3.faults.inject({ method: "s3.PutObject", nth: 1, kind: "resource_exhausted" });
    await refused(put("a"), "SlowDown");
    await refused(get("a"), "NoSuchKey");
    s3.faults.inject({ method: "s3.PutObject", nth: 1, kind: "reply_lost" });
    await expect(put("a")).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(await (await get("a")).Body?.transformToString()).toBe("a");
    expect(s3.faults.count("s3.PutObject")).toBe(3);
  });
});

test("the first CORS rule that matches the origin, the method and every header applies", async () => {
  const ask = (headers: Record<string, string>) =>
    fetch(`${s3.url}/${Bucket}/a`, {
      method: "OPTIONS",
      headers: { origin: "https://page.example", "access-control-request-method": "PUT", ...headers },
    });
  expect(await (await ask({})).text()).toContain("CORS is not enabled for this bucket");
  const rule = {
    AllowedOrigins: ["*"],
    AllowedMethods: ["PUT"],
    AllowedHeaders: ["Content-*"],
    ExposeHeaders: ["ETag"],
  };
  const own = { AllowedOrigins: ["https://*.example"], AllowedMethods: ["GET"] };
  const set = (CORSRules: object[]) =>
    s3.client.send(new PutBucketCorsCommand({ Bucket, CORSConfiguration: { CORSRules: CORSRules as never } }));
  await refused(set([{ ...rule, AllowedMethods: ["PATCH"] }]), "InvalidRequest");
  await set([rule, own]);
  const allowed = await ask({ "access-control-request-headers": "content-type" });
  expect([allowed.status, allowed.headers.get("access-control-allow-headers")]).toEqual([200, "content-type"]);
  expect((await ask({ "access-control-request-headers": "content-type, range" })).status).toBe(403);
  expect((await ask({ "access-control-request-method": "DELETE" })).status).toBe(403);
  const unsigned = await fetch(`${s3.url}/${Bucket}/a`, { headers: { origin: "https://page.example" } });
  expect([unsigned.status, unsigned.headers.get("access-control-allow-origin")]).toEqual([403, "https://page.example"]);
  expect(unsigned.headers.get("access-control-allow-credentials")).toBe("true");
});
