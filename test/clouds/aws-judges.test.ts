/**
 * The judges of requests to AWS find violations. CI judges every request of `npm run test:cloud`; see
 * `test/fakes/aws/requests/judge.ts`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type ActionsOfRun,
  judgeActions,
  judgePermissions,
  judgeShapes,
  neverRecorded,
  undeclared,
} from "../fakes/aws/requests/judges.ts";
import type { RecordedCommand } from "../fakes/aws/requests/record.ts";
import { needs } from "../support/vitest/machine.ts";

const put = { Bucket: "ps-a", Key: "k" };

/** A request, and the problem that the judge must report; undefined if the request is valid. */
const shapes: readonly (readonly [RecordedCommand["client"], string, object, string?])[] = [
  ["s3", "PutObject", { ...put, Body: "(body)", IfNoneMatch: "*" }],
  [
    "s3",
    "PutObject",
    { ...put, Acl: "private" },
    's3 PutObject: Unknown parameter in input: "Acl", must be one of: ACL, ',
  ],
  ["s3", "PutObject", { Bucket: "ps-a" }, 's3 PutObject: Missing required parameter in input: "Key"'],
  [
    "s3",
    "PutObject",
    { ...put, Key: "" },
    "s3 PutObject: Invalid length for parameter Key, value: 0, valid min length: 1",
  ],
  [
    "s3",
    "PutObject",
    { ...put, StorageClass: "COLD" },
    "s3 PutObject: StorageClass: 'COLD' is not in the enum StorageClass",
  ],
  ["s3", "PutObjects", {}, "s3 PutObjects: unknown operation"],
  [
    "ecs",
    "DescribeServices",
    { services: "one" },
    "ecs DescribeServices: Invalid type for parameter services, value: one, ",
  ],
  [
    "ecs",
    "RunTask",
    { taskDefinition: "t", overrides: { containerOverrides: [{ cpu: "1" }] } },
    "ecs RunTask: Invalid type for parameter overrides.containerOverrides[0].cpu, value: 1, ",
  ],
  [
    "balancer",
    "CreateRule",
    { ListenerArn: "l", Conditions: [], Actions: [], Priority: 50_001 },
    "elbv2 CreateRule: Priority: value 50001 is more than 50000",
  ],
  ["iam", "GetRole", { RoleName: "a b" }, "iam GetRole: RoleName: 'a b' does not match [\\w+=,.@-]+"],
  [
    "logs",
    "GetLogEvents",
    { logStreamName: "s".repeat(513) },
    "logs GetLogEvents: logStreamName: length 513 is more than 512",
  ],
  [
    "scaling",
    "DescribeScalableTargets",
    { ServiceNamespace: "ecs", ResourceIds: Array(51).fill("a") },
    "application-autoscaling DescribeScalableTargets: ResourceIds: number of items 51 is more than 50",
  ],
];

test("botocore finds unknown, missing and invalid parameters", (context) => {
  needs(context, "botocore");
  const found = judgeShapes(shapes.map(([client, name, input]) => ({ client, command: `${name}Command`, input })));
  const expected = shapes.flatMap(([, , , problem]) => problem ?? []);
  expect(found).toEqual(expected.map((problem) => expect.stringContaining(problem)));
});

const service = "arn:aws:ecs:eu-west-1:123456789012:service/portside/app-1";
const files = { "iam:PassedToService": "elasticfilesystem.amazonaws.com" };
const role = "arn:aws:iam::123456789012:role/portside-files";

const run = (...checks: readonly (readonly [action: string, resource: string, context?: object])[]): ActionsOfRun => ({
  operations: {},
  checks: checks.map(([action, resource, context]) => ({
    operation: "op",
    action,
    resource,
    ...(context && { context: { ...context } }),
  })),
});

const listener = (balancer: string, kind = "listener") =>
  `arn:aws:elasticloadbalancing:eu-west-1:123456789012:${kind}/app/${balancer}/50dc6c495c0c9188/f2f7dc8efc522ab2`;

const sound = run(
  ["elasticloadbalancing:CreateRule", listener("portside")],
  ["elasticloadbalancing:CreateRule", listener("portside-2")],
  ["elasticloadbalancing:DeleteRule", `${listener("portside-20", "listener-rule")}/9683b2d02a6cabee`],
  ["ecs:CreateService", service],
  ["iam:PassRole", role, files],
  ["ecs:ListTaskDefinitions", "*"],
  ["logs:PutLogEvents", "arn:aws:logs:eu-west-1:123456789012:log-group:/portside/services:log-stream:a/b/c"],
);

const ofCluster = service.replace(":service/", ":cluster/");

test("policy_sentry finds unknown actions and resources of the wrong type", (context) => {
  needs(context, "policy_sentry");
  const unsound = run(
    ["s3:HeadObject", "arn:aws:s3:::ps-a/k"],
    ["ecs:CreateService", ofCluster],
    ["ecs:CreateService", "*"],
  );
  const operations = {
    "ecs:CreateService": ["ecs:UpdateService"],
    "s3:PutObject": ["s3:PutObject"],
    "s3:HeadBucket": [],
  };
  expect(judgeActions({ checks: [...sound.checks, ...unsound.checks], operations })).toEqual([
    "ecs:CreateService: IAM has an action of this name, but the request is not checked for it",
    `op: ecs:CreateService: the action does not support ${ofCluster}, only service`,
    "op: ecs:CreateService: the request names no resource, but the action needs service",
    "op: s3:HeadObject: no such action",
  ]);
});

test("moto finds an action, a resource and a condition that the template's policies do not allow", (context) => {
  needs(context, "moto");
  const denied = run(
    // No policy has these actions.
    ["s3:GetBucketAcl", "arn:aws:s3:::ps-a"],
    ["ecs:RunTask", "arn:aws:ecs:eu-west-1:123456789012:task-definition/app-1:1"],
    // The policies have the action, for other resources.
    ["ecs:CreateService", service.replace("/portside/", "/theirs/")],
    ["ecs:CreateService", service.replace("123456789012", "210987654321")],
    ["elasticloadbalancing:CreateRule", listener("portside-other-2")],
    ["elasticloadbalancing:CreateRule", listener("portside-")],
    ["s3:GetObject", "arn:aws:s3:::theirs/k"],
    // The policies have a condition.
    ["iam:PassRole", role, { "iam:PassedToService": "ec2.amazonaws.com" }],
    ["iam:PassRole", role],
  );
  expect(judgePermissions({ checks: [...sound.checks, ...denied.checks] })).toEqual(
    denied.checks.map(
      ({ action, resource }) => `op: ${action} on ${resource}: the template's policies do not allow it`,
    ),
  );
});

test("a template with a missing grant, or with a condition that an action does not have, is refused", (context) => {
  needs(context, "policy_sentry", "moto");
  const folder = mkdtempSync(join(tmpdir(), "portside-template-"));
  const path = join(folder, "template.yaml");
  const template = readFileSync("docs/providers/aws-template.yaml", "utf8");
  const changed = template
    .replace("              - ecs:CreateService\n", "")
    .replace("{ iam:PassedToService: elasticfilesystem", "{ iam:PassedTo: elasticfilesystem");
  writeFileSync(path, changed);
  const problems = [...judgeActions(sound, path), ...judgePermissions(sound, path)];
  rmSync(folder, { recursive: true });
  expect(problems).toEqual([
    "template: iam:PassRole has no condition key iam:PassedTo",
    `op: ecs:CreateService on ${service}: the template's policies do not allow it`,
    `op: iam:PassRole on ${role}: the template's policies do not allow it`,
  ]);
});

test("a command that the requirements do not declare, and one that no test sends, are found", () => {
  const versioned = { client: "s3", command: "GetObjectCommand", input: { ...put, VersionId: "1" } } as const;
  const other = { client: "s3", command: "GetBucketAclCommand", input: { Bucket: "ps-a" } } as const;
  expect(undeclared([versioned, other])).toEqual([
    "GetObjectCommand: requirements.ts does not declare s3:GetObjectVersion",
    "GetBucketAclCommand: authorization.ts does not have this command",
  ]);
  const missing = neverRecorded([versioned]);
  expect(missing).not.toContain("GetObjectCommand: not recorded");
  expect(missing).toContain("GetObjectCommand s3:GetObject: not recorded");
  expect(missing).toContain("StopBuildCommand: not recorded");
});
