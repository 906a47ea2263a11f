/** A REST request that Google's documents do not allow is a violation that names the method and the field. */
import { expect, test } from "vitest";
import { checkRest, type SentRequest } from "./check-rest.ts";
import { digest } from "./digest.ts";

const BUCKETS = "https://storage.googleapis.com/storage/v1/b";
const OBJECTS = "https://storage.googleapis.com/upload/storage/v1/b/b/o";
const ACCOUNTS = "https://iam.googleapis.com/v1/projects/p/serviceAccounts";
const QUERIES = "https://bigquery.googleapis.com/bigquery/v2/projects/p/queries";

const checked = (verb: string, address: string, body?: object | string, more: Partial<SentRequest> = {}) => {
  const url = new URL(address);
  const sent = typeof body === "object" ? JSON.stringify(body) : body;
  return checkRest(digest(), { host: url.host, verb, url, body: sent, ...more });
};
const problems = (...args: Parameters<typeof checked>) => checked(...args).problems;

test("names the method and its path template", () => {
  expect(checked("GET", `${BUCKETS}/b/o/a%2Fb?alt=media`)).toEqual({
    method: "storage.objects.get GET /storage/v1/b/{bucket}/o/{object}",
    problems: [],
  });
  expect(
    checked("POST", "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/a@b.c:signBlob", {
      payload: "YQ==",
    }).method,
  ).toBe(
    "iamcredentials.projects.serviceAccounts.signBlob POST /v1/projects/{projectsId}/serviceAccounts/{serviceAccountsId}:signBlob",
  );
});

test.each([
  ["an unknown path", ["GET", `${BUCKETS}/b/objects`], "no method has this verb and path"],
  ["a verb that the path does not have", ["PUT", `${ACCOUNTS}`], "no method has this verb and path"],
  ["another API's host", ["GET", "https://run.googleapis.com/storage/v1/b/b"], "no method has this verb and path"],
  ["an unknown parameter", ["GET", `${BUCKETS}/b?generaton=1`], "query generaton: unknown parameter"],
  ["a parameter of the wrong type", ["GET", `${BUCKETS}/b?generation=x`], "query generation: 'x' is not an integer"],
  [
    "a parameter outside its enum",
    ["GET", `${BUCKETS}/b?projection=all`],
    "query projection: 'all' is not in the enum",
  ],
  ["a repeated parameter", ["GET", `${BUCKETS}/b?generation=1&generation=2`], "query generation: given 2 times"],
  ["a missing parameter", ["GET", BUCKETS], "query project: missing"],
  [
    "an unknown field in a selector",
    ["GET", `${BUCKETS}?project=p&fields=items(name,nam)`],
    "query fields: items.nam: unknown field",
  ],
  ["a download of a bucket", ["GET", `${BUCKETS}/b?alt=media`], "query alt: the method downloads no media"],
  ["an upload without its type", ["POST", OBJECTS, { name: "a" }], "query uploadType: missing"],
  [
    "an upload of an unknown type",
    ["POST", `${OBJECTS}?uploadType=chunked`, ""],
    "query uploadType: 'chunked' does not fit the path",
  ],
  [
    "an upload to the wrong path",
    ["POST", `${BUCKETS}/b/o?uploadType=media`, "x"],
    "query uploadType: 'media' does not fit the path",
  ],
  [
    "an unknown field",
    ["PATCH", `${BUCKETS}/b`, { versioning: { enable: true } }],
    "body.versioning.enable: unknown field",
  ],
  [
    "an unknown field in an array",
    ["PATCH", `${BUCKETS}/b`, { lifecycle: { rule: [{ actions: {} }] } }],
    "body.lifecycle.rule[0].actions: unknown field",
  ],
  [
    "a value of the wrong type",
    ["PATCH", `${BUCKETS}/b`, { labels: { a: 1 } }],
    "body.labels.a: number instead of a string",
  ],
  ["null in a request that is not a patch", ["POST", QUERIES, { query: "x", location: null }], "body.location: null"],
  [
    "an unknown enum value",
    ["POST", QUERIES, { query: "x", jobCreationMode: "MAYBE" }],
    "body.jobCreationMode: 'MAYBE' is not in the enum",
  ],
  [
    "a written output-only field",
    ["POST", ACCOUNTS, { accountId: "a", serviceAccount: { email: "a@b.c" } }],
    "body.serviceAccount.email: output-only field",
  ],
  [
    "an output-only field that only Storage's pages name",
    ["PATCH", `${BUCKETS}/b`, { timeCreated: "2026-01-01T00:00:00Z" }],
    "body.timeCreated: output-only field",
  ],
  ["a missing required field", ["POST", ACCOUNTS, { serviceAccount: {} }], "body.accountId: missing required field"],
  ["a field that this method requires", ["POST", `${BUCKETS}?project=p`, {}], "body.name: missing required field"],
  [
    "a body of a method without one",
    ["POST", `${BUCKETS}/b/restore?generation=1`, { a: 1 }],
    "body: the method has none",
  ],
  ["a body that is not JSON", ["PATCH", `${BUCKETS}/b`, "{"], "body: not JSON"],
] as const)("refuses %s", (_, args, problem) => {
  expect(problems(...(args as unknown as Parameters<typeof checked>))).toEqual([problem]);
});

test("checks the description of a multipart upload, and not the object", () => {
  const body = '--x\r\ncontent-type: application/json\r\n\r\n{"nam":"a"}\r\n--x\r\n\r\n{"bytes":1}\r\n--x--';
  expect(
    problems("POST", `${OBJECTS}?uploadType=multipart`, body, { contentType: "multipart/related; boundary=x" }),
  ).toEqual(["body.nam: unknown field"]);
});

test.each([
  ["a patch that deletes a label", "PATCH", `${BUCKETS}/b?ifMetagenerationMatch=2`, { labels: { a: null } }],
  [
    "a number for a 64-bit integer",
    "PATCH",
    `${BUCKETS}/b`,
    { softDeletePolicy: { retentionDurationSeconds: 604800 } },
  ],
  ["parameters of every method", "GET", `${BUCKETS}/b?prettyPrint=false&fields=name`, undefined],
  ["a patch without the fields that a creation needs", "PATCH", `${BUCKETS}/b`, {}],
  [
    "a repeatable parameter",
    "GET",
    "https://serviceusage.googleapis.com/v1/projects/p/services:batchGet?names=a&names=b",
    undefined,
  ],
  ["bytes", "POST", `${OBJECTS}?uploadType=media&name=a`, "{"],
  ["a piece of a resumable upload", "PUT", `${OBJECTS}?uploadType=resumable&upload_id=1`, "x"],
] as const)("allows %s", (_, verb, address, body) => {
  expect(problems(verb, address, body)).toEqual([]);
});
