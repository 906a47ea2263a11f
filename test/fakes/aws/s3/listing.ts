/**
 * Lists objects and versions: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html,
 * .../API_ListObjectVersions.html.
 */
import type { AwsReply } from "../server.ts";
import { xmlReply } from "./failure.ts";
import { byBytes, type FakeBucket, type Version } from "./world.ts";

const PAGE = 1000;

/** URL-encoded if the request has `encoding-type=url`. */
const encoded = (query: URLSearchParams, key: string): string =>
  query.get("encoding-type") === "url" ? encodeURIComponent(key).replaceAll("%2F", "/").replaceAll("%20", "+") : key;

const described = ({ at, etag, bytes }: Version) => ({
  LastModified: new Date(at).toISOString(),
  ETag: etag,
  Size: bytes.length,
  StorageClass: "STANDARD",
});

type Item = { readonly prefix: string } | { readonly version: Version };

export const listObjects = (bucket: FakeBucket, query: URLSearchParams): AwsReply => {
  const prefix = query.get("prefix") ?? "";
  const delimiter = query.get("delimiter") ?? "";
  const max = Math.min(PAGE, Number(query.get("max-keys") ?? PAGE));
  const token = query.get("continuation-token");
  const after = token === null ? (query.get("start-after") ?? "") : Buffer.from(token, "base64").toString();
  const keys = [...bucket.objects.keys()].filter((key) => key.startsWith(prefix)).sort(byBytes);
  const items: Item[] = [];
  let last = after;
  let isMore = false;
  for (const key of keys) {
    const end = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
    const common = end === -1 ? undefined : key.slice(0, end + delimiter.length);
    // A common prefix counts as one item; further keys with it are skipped.
    if (byBytes(common ?? key, last) <= 0) continue;
    if (items.length === max) {
      isMore = true;
      break;
    }
    items.push(common === undefined ? { version: bucket.objects.get(key) as Version } : { prefix: common });
    last = common ?? key;
  }
  return xmlReply("ListBucketResult", {
    Name: bucket.name,
    Prefix: encoded(query, prefix),
    KeyCount: items.length,
    MaxKeys: max,
    IsTruncated: isMore,
    NextContinuationToken: isMore ? Buffer.from(last).toString("base64") : undefined,
    Contents: items.flatMap((item) =>
      "version" in item ? [{ Key: encoded(query, item.version.key), ...described(item.version) }] : [],
    ),
    CommonPrefixes: items.flatMap((item) => ("prefix" in item ? [{ Prefix: encoded(query, item.prefix) }] : [])),
  });
};

export const listVersions = (bucket: FakeBucket, query: URLSearchParams): AwsReply => {
  const max = Math.min(PAGE, Number(query.get("max-keys") ?? PAGE));
  const all = [...bucket.versions].sort(([a], [b]) => byBytes(a, b)).flatMap(([, versions]) => versions);
  const isLatest = (one: Version) => bucket.versions.get(one.key)?.[0] === one;
  const page = all.slice(0, max);
  const shown = (one: Version) => ({
    Key: encoded(query, one.key),
    VersionId: one.versionId,
    IsLatest: isLatest(one),
  });
  return xmlReply("ListVersionsResult", {
    Name: bucket.name,
    MaxKeys: max,
    IsTruncated: all.length > max,
    Version: page.filter(({ isMarker }) => !isMarker).map((one) => ({ ...shown(one), ...described(one) })),
    DeleteMarker: page
      .filter(({ isMarker }) => isMarker)
      .map((one) => ({ ...shown(one), LastModified: new Date(one.at).toISOString() })),
  });
};
