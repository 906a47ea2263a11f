/**
 * Writes the digest of Google's discovery documents. google-api-python-client contains the documents
 * (https://github.com/googleapis/google-api-python-client/tree/main/googleapiclient/discovery_cache/documents):
 *
 *     pip download google-api-python-client==2.202.0 --no-deps
 *     unzip google_api_python_client-*.whl 'googleapiclient/discovery_cache/documents/*'
 *     node test/fakes/gcp/requests/renew-digest.ts googleapiclient/discovery_cache/documents
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Api, type Digest, digestFile, type Method, type Parameter, type Schema } from "./digest.ts";

// biome-ignore lint/suspicious/noExplicitAny: discovery documents have no types
type Document = any;

/** The APIs that `adapters/gcp` calls over REST. */
const restApis = [
  "artifactregistry.v1",
  "bigquery.v2",
  "cloudresourcemanager.v3",
  "iam.v1",
  "iamcredentials.v1",
  "monitoring.v3",
  "secretmanager.v1",
  "serviceusage.v1",
  "serviceusage.v1beta1",
  "storage.v1",
];

/** The APIs that it calls over gRPC: the proto's package, and the prefix of its messages in the document. */
const grpcApis = [
  ["artifactregistry.v1", "google.devtools.artifactregistry.v1", ""],
  ["cloudbuild.v1", "google.devtools.cloudbuild.v1", ""],
  ["cloudscheduler.v1", "google.cloud.scheduler.v1", ""],
  ["logging.v2", "google.logging.v2", ""],
  ["run.v2", "google.cloud.run.v2", "GoogleCloudRunV2"],
] as const;

/**
 * Storage's document does not mark output-only properties. These are the properties that are not "writable" at
 * https://docs.cloud.google.com/storage/docs/json_api/v1/buckets and .../objects, without those that a request may
 * repeat: the name of the bucket, and checksums.
 */
const storageOutputOnly: Readonly<Record<string, readonly string[]>> = {
  Bucket: [
    ..."etag generation hardDeleteTime id kind locationType metageneration owner projectNumber satisfiesPZI".split(" "),
    ..."satisfiesPZS selfLink softDeleteTime timeCreated updated".split(" "),
  ],
  Object: [
    ..."componentCount customerEncryption etag generation hardDeleteTime id kind mediaLink metageneration".split(" "),
    ..."owner restoreToken retentionExpirationTime selfLink size softDeleteTime timeCreated timeDeleted".split(" "),
    ..."timeFinalized timeStorageClassUpdated updated".split(" "),
  ],
};

const isOutputOnly = ({ readOnly, description = "" }: Document): boolean =>
  readOnly === true || /^(\[?Output[- ]only)/i.test(description);

const requiredOf = ({ annotations, description = "" }: Document): Schema["required"] =>
  annotations?.required ?? (/^\[?Required\b/.test(description) ? true : undefined);

const mapped = <T>(all: Record<string, Document> | undefined, act: (one: Document, name: string) => T) =>
  all && Object.fromEntries(Object.entries(all).map(([name, one]) => [name, act(one, name)]));

const schemaOf = (given: Document, outputOnly: readonly string[] = []): Schema =>
  JSON.parse(
    JSON.stringify({
      type: given.type,
      format: given.format,
      $ref: given.$ref,
      enum: given.enum,
      items: given.items && schemaOf(given.items),
      properties: mapped(given.properties, (one, name) => ({
        ...schemaOf(one),
        ...(isOutputOnly(one) || outputOnly.includes(name) ? { readOnly: true } : {}),
        required: requiredOf(one),
      })),
      additionalProperties: given.additionalProperties && schemaOf(given.additionalProperties),
    }),
  );

const parameterOf = ({ repeated, required, ...given }: Document): Parameter => ({
  ...schemaOf(given),
  ...(repeated ? { repeated } : {}),
  ...(required ? { required } : {}),
});

const queryOf = (all: Record<string, Document> = {}): Method["query"] =>
  Object.fromEntries(
    Object.entries(all)
      .filter(([, { location }]) => location === "query")
      .map(([name, one]) => [name, parameterOf(one)]),
  );

const methodsOf = (document: Document, within: Document): Method[] => {
  const own = Object.values<Document>(within.methods ?? {}).map((one) => ({
    id: one.id,
    verb: one.httpMethod,
    path: `/${document.servicePath}${one.flatPath ?? one.path}`,
    upload: one.mediaUpload?.protocols?.simple?.path,
    isDownload: one.supportsMediaDownload,
    query: queryOf(one.parameters),
    request: one.request?.$ref,
    response: one.response?.$ref,
  }));
  return [...own, ...Object.values<Document>(within.resources ?? {}).flatMap((one) => methodsOf(document, one))];
};

const apiOf = (document: Document): Api => ({
  methods: methodsOf(document, document),
  schemas: mapped(document.schemas, (one, name) =>
    schemaOf(one, document.name === "storage" ? storageOutputOnly[name] : []),
  ) as Api["schemas"],
  query: queryOf(document.parameters),
});

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("Missing folder of the discovery documents.");
const read = (name: string): Document => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));

const hosts: Record<string, Api[]> = {};
const outputOnly: Record<string, string[]> = {};
const revisions: Record<string, string> = {};
for (const name of restApis) {
  const document = read(name);
  revisions[name] = document.revision;
  const { host } = new URL(document.rootUrl);
  hosts[host] = [...(hosts[host] ?? []), apiOf(document)];
}
for (const [name, pack, prefix] of grpcApis) {
  const document = read(name);
  revisions[name] = document.revision;
  for (const [schema, { properties = {} }] of Object.entries<Document>(document.schemas)) {
    const fields = Object.keys(properties).filter((field) => isOutputOnly(properties[field]));
    if (fields.length > 0) outputOnly[`${pack}.${schema.replace(new RegExp(`^${prefix}`), "")}`] = fields;
  }
}
const made: Digest = { revisions, hosts, outputOnly };
writeFileSync(digestFile, gzipSync(JSON.stringify(made), { level: 9 }));
