/** Reports parts of a gRPC request that its proto does not allow. The client drops most such parts silently. */
import { describe, expect, test } from "vitest";
import { rootOf } from "../grpc.ts";
import { checkMessage } from "./check-message.ts";
import { digest } from "./digest.ts";

const problems = (packageName: string, type: string, message: object) =>
  checkMessage(digest().outputOnly, rootOf(packageName).lookupType(type), message);

const run = (type: string, message: object) => problems("@google-cloud/run", `google.cloud.run.v2.${type}`, message);
const job = (message: object) =>
  problems("@google-cloud/scheduler", "google.cloud.scheduler.v1.UpdateJobRequest", message);

const service = { template: { containers: [{ image: "i" }] } };
const update = (fields: object, updateMask?: object) =>
  run("UpdateServiceRequest", { service: { ...service, ...fields }, updateMask });

test.each([
  ["an unknown field", { templat: {} }, "service.templat: unknown field"],
  [
    "an unknown field in an array",
    { template: { containers: [{ image: "i", command_: [] }] } },
    "service.template.containers[0].command_: unknown field",
  ],
  ["a name in snake case", { invoker_iam_disabled: true }, "service.invoker_iam_disabled: unknown field"],
  [
    "an unknown enum value",
    { ingress: "INGRESS_ALL" },
    "service.ingress: 'INGRESS_ALL' is not in the enum IngressTraffic",
  ],
  ["an unknown enum number", { ingress: 77 }, "service.ingress: '77' is not in the enum IngressTraffic"],
  ["a written output-only field", { uri: "https://x" }, "service.uri: output-only field"],
  [
    "a missing required field",
    { template: { containers: [{}] } },
    "service.template.containers[0].image: missing required field",
  ],
  ["a string for a boolean", { invokerIamDisabled: "true" }, "service.invokerIamDisabled: string instead of a boolean"],
  [
    "words for a number",
    { scaling: { minInstanceCount: "two" } },
    "service.scaling.minInstanceCount: 'two' is not a number",
  ],
  ["a number in a map of strings", { labels: { a: 1 } }, "service.labels.a: number instead of a string"],
  ["a string for a message", { template: "x" }, "service.template: string instead of an object"],
  ["an object for an array", { traffic: {} }, "service.traffic: object instead of an array"],
] as const)("refuses %s", (_, fields, problem) => {
  expect(update(fields)).toEqual([problem]);
});

describe("a mask", () => {
  test.each([
    ["an unknown field", "templat", "updateMask: 'templat' is not a field of Service"],
    ["a name in camel case", "invokerIamDisabled", "updateMask: 'invokerIamDisabled' is not a field of Service"],
    ["an output-only field", "uri", "updateMask: 'uri' is output-only in Service"],
    [
      "an unknown field within a field",
      "template.contaners",
      "updateMask: 'contaners' is not a field of RevisionTemplate",
    ],
    ["a field within a scalar", "description.text", "updateMask: 'description' has no fields"],
  ])("refuses %s", (_, path, problem) => {
    expect(update({}, { paths: [path] })).toEqual([problem]);
  });

  test("limits the required fields to those that it names", () => {
    const masked = (path: string) => run("UpdateServiceRequest", { service: {}, updateMask: { paths: [path] } });
    expect(masked("labels")).toEqual([]);
    expect(masked("template")).toEqual(["service.template: missing required field"]);
  });

  test("allows fields, fields within fields, keys of maps and all fields", () => {
    expect(update({}, { paths: ["invoker_iam_disabled", "template.containers", "labels.a", "*"] })).toEqual([]);
  });
});

test("refuses a field that only a comment of the proto calls output-only", () => {
  expect(job({ job: { state: "ENABLED" } })).toEqual(["job.state: output-only field"]);
});

test("a request without a required field is a violation, and an empty string counts as missing", () => {
  expect(run("GetServiceRequest", {})).toEqual(["name: missing required field"]);
  expect(run("GetServiceRequest", { name: "" })).toEqual(["name: missing required field"]);
  expect(run("UpdateServiceRequest", { service: undefined })).toEqual(["service: missing required field"]);
});

test("allows a request that repeats a response, if the response's output-only fields are empty", () => {
  const read = { ...service, uri: "", conditions: [], createTime: null, generation: "0", annotations: { a: "b" } };
  expect(
    update({
      ...read,
      template: { ...service.template, volumes: [{ name: "v", gcs: { bucket: "b" }, volumeType: "gcs" }] },
    }),
  ).toEqual([]);
});
