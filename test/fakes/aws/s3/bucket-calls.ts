/** The fake's bucket calls. Sources are below https://docs.aws.amazon.com/AmazonS3/latest/API. */
import type { AwsReply, AwsRequest } from "../server.ts";
import { childOf, childrenOf, parseXml, textOf, type XmlElement } from "../xml.ts";
import { parseCors, printCors } from "./cors.ts";
import { failure, xmlReply } from "./failure.ts";
import { parseLifecycle } from "./lifecycle.ts";
import { parsePolicy } from "./policy.ts";
import { byBytes, type S3World } from "./world.ts";

export interface BucketCall {
  readonly world: S3World;
  readonly request: AwsRequest;
  readonly bucket: string;
  readonly region: string;
}

type Act = (call: BucketCall) => AwsReply;

const done = (status = 200): AwsReply => ({ status });

const tagsOf = (element: XmlElement | undefined): Record<string, string> =>
  Object.fromEntries(
    childrenOf(element ?? { name: "", children: [], text: "" }, "Tag").map((tag) => [
      textOf(tag, "Key") ?? "",
      childOf(tag, "Value")?.text ?? "",
    ]),
  );

/** API_CreateBucket.html: LocationConstraint is omitted in us-east-1 and must be the request's region elsewhere. */
const createBucket: Act = ({ world, request, bucket, region }) => {
  const text = request.body.toString();
  const configuration = text === "" ? undefined : parseXml(text);
  const place = configuration === undefined ? undefined : textOf(configuration, "LocationConstraint");
  if ((place ?? "us-east-1") !== region)
    throw failure(400, "IllegalLocationConstraintException", "The location constraint is incompatible.");
  const tags = configuration === undefined ? {} : tagsOf(childOf(configuration, "Tags"));
  world.createBucket(bucket, tags, request.headers["x-amz-object-ownership"] ?? "BucketOwnerEnforced");
  return { status: 200, headers: { location: `/${bucket}` } };
};

/** API_ListBuckets.html */
const listBuckets: Act = ({ world, request }) => {
  const { query } = request;
  const prefix = query.get("prefix") ?? "";
  const max = Number(query.get("max-buckets") ?? 10_000);
  const after = Buffer.from(query.get("continuation-token") ?? "", "base64").toString();
  const found = [...world.live.values()]
    .filter(({ name }) => name.startsWith(prefix) && byBytes(name, after) > 0)
    .sort((a, b) => byBytes(a.name, b.name));
  const page = found.slice(0, max);
  const last = page.at(-1)?.name ?? "";
  return xmlReply("ListAllMyBucketsResult", {
    Buckets: {
      Bucket: page.map(({ name, created }) => ({ Name: name, CreationDate: new Date(created).toISOString() })),
    },
    ContinuationToken: found.length > max ? Buffer.from(last).toString("base64") : undefined,
    Prefix: prefix,
  });
};

const putPublicAccessBlock: Act = ({ world, request, bucket }) => {
  const configuration = parseXml(request.body.toString());
  world.known(bucket).publicAccessBlock = Object.fromEntries(
    configuration.children.map(({ name, text }) => [name, text.trim() === "true"]),
  );
  return done();
};

const putVersioning: Act = ({ world, request, bucket }) => {
  const status = textOf(parseXml(request.body.toString()), "Status");
  if (status !== "Enabled" && status !== "Suspended") throw failure(400, "MalformedXML", "Status");
  world.known(bucket).versioning = status;
  return done();
};

const MINIMUM_SIZE = "x-amz-transition-default-minimum-object-size";

const putLifecycle: Act = ({ world, request, bucket }) => {
  const body = request.body.toString();
  const found = world.known(bucket);
  found.lifecycle = parseLifecycle(body);
  found.sentLifecycle = { body, minimumSize: request.headers[MINIMUM_SIZE] ?? "all_storage_classes_128K" };
  return done();
};

/** API_GetBucketLifecycleConfiguration.html: the response has the elements of the request. */
const getLifecycle: Act = ({ world, bucket }) => {
  const { sentLifecycle: sent } = world.known(bucket);
  if (sent === undefined)
    throw failure(404, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist");
  const headers = { "content-type": "application/xml", [MINIMUM_SIZE]: sent.minimumSize };
  return { status: 200, headers, body: sent.body };
};

const putCors: Act = ({ world, request, bucket }) => {
  world.known(bucket).cors = parseCors(request.body.toString());
  return done();
};

const getCors: Act = ({ world, bucket }) => printCors(world.known(bucket).cors);

const putPolicy: Act = ({ world, request, bucket }) => {
  world.known(bucket).policy = parsePolicy(request.body.toString(), bucket);
  return done(204);
};

const deletePolicy: Act = ({ world, bucket }) => {
  world.known(bucket).policy = undefined;
  return done(204);
};

const getPolicy: Act = ({ world, bucket }) => {
  const { policy } = world.known(bucket);
  if (policy === undefined) throw failure(404, "NoSuchBucketPolicy", "The bucket policy does not exist");
  return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(policy) };
};

const getTagging: Act = ({ world, bucket }) => {
  const tags = Object.entries(world.known(bucket).tags).map(([Key, Value]) => ({ Key, Value }));
  if (tags.length === 0) throw failure(404, "NoSuchTagSet", "The TagSet does not exist");
  return xmlReply("Tagging", { TagSet: { Tag: tags } });
};

const getVersioning: Act = ({ world, bucket }) =>
  xmlReply("VersioningConfiguration", { Status: world.known(bucket).versioning });

const headBucket: Act = ({ world, bucket, region }) => {
  world.bucket(bucket);
  return { status: 200, headers: { "x-amz-bucket-region": region } };
};

const deleteBucket: Act = ({ world, bucket }) => {
  world.deleteBucket(bucket);
  return done(204);
};

const byQuery: Readonly<Record<string, readonly [string, Act]>> = {
  "PUT publicAccessBlock": ["PutPublicAccessBlock", putPublicAccessBlock],
  "PUT versioning": ["PutBucketVersioning", putVersioning],
  "GET versioning": ["GetBucketVersioning", getVersioning],
  "PUT lifecycle": ["PutBucketLifecycle", putLifecycle],
  "GET lifecycle": ["GetBucketLifecycle", getLifecycle],
  "PUT cors": ["PutBucketCors", putCors],
  "GET cors": ["GetBucketCors", getCors],
  "PUT policy": ["PutBucketPolicy", putPolicy],
  "GET policy": ["GetBucketPolicy", getPolicy],
  "DELETE policy": ["DeleteBucketPolicy", deletePolicy],
  "GET tagging": ["GetBucketTagging", getTagging],
};

const plain: Readonly<Record<string, readonly [string, Act]>> = {
  PUT: ["CreateBucket", createBucket],
  HEAD: ["HeadBucket", headBucket],
  DELETE: ["DeleteBucket", deleteBucket],
};

/** Undefined: the call does not concern a bucket's settings. */
export const bucketCallOf = ({ verb, query }: AwsRequest, bucket: string): readonly [string, Act] | undefined => {
  if (bucket === "") return verb === "GET" ? ["ListBuckets", listBuckets] : undefined;
  const setting = Object.keys(byQuery).find((one) => {
    const [method, name = ""] = one.split(" ");
    return method === verb && query.has(name);
  });
  return setting === undefined ? plain[verb] : byQuery[setting];
};
