/** The rights that the doctor asks for are those of the calls that the adapter makes, and of what such a call needs besides. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { needs, sqlNeeds } from "../../../adapters/aws/requirements.ts";

const allowed = Object.values({ ...needs, ...sqlNeeds }).flatMap(({ actions }) => actions);
const source = globSync("adapters/aws/**/*.ts")
  .map((path) => readFileSync(path, "utf8"))
  .join("\n");
const calls = [
  ...new Set([...source.matchAll(/new (?:sdk\.)?([A-Z]\w+)Command\(/g)].map(([, name]) => name as string)),
];

/** Calls whose action has another name: .../service-authorization/latest/reference/list_amazons3.html, "Operations". */
const actionsOf: Readonly<Record<string, readonly string[]>> = {
  HeadBucket: ["ListBucket"],
  HeadObject: ["GetObject"],
  ListObjectsV2: ["ListBucket"],
  ListObjectVersions: ["ListBucketVersions"],
  DeleteObjects: ["DeleteObject", "DeleteObjectVersion"],
  CreateMultipartUpload: ["PutObject"],
  UploadPart: ["PutObject"],
  CompleteMultipartUpload: ["PutObject"],
  PutPublicAccessBlock: ["PutBucketPublicAccessBlock"],
  PutBucketLifecycleConfiguration: ["PutLifecycleConfiguration"],
};

/** The doctor's own looks, which say themselves that they may not be made. */
const looks = ["GetCallerIdentity", "GetAccountSummary", "SimulatePrincipalPolicy", "DescribeStacks"];

test.each(calls.filter((call) => !looks.includes(call)))("%s is among them", (call) => {
  for (const action of actionsOf[call] ?? [call])
    expect(allowed.filter((one) => one.endsWith(`:${action}`))).toHaveLength(1);
});

/** From the comments of the commands in the service models, and the Service Authorization Reference. */
const besides: Readonly<Record<string, readonly string[]>> = {
  CreateBucket: ["s3:PutBucketOwnershipControls", "s3:TagResource"],
  PutObject: ["s3:PutObjectTagging"],
  CreateRole: ["iam:TagRole"],
  CreateService: ["ecs:TagResource", "iam:PassRole"],
  CreateTargetGroup: ["elasticloadbalancing:AddTags"],
  CreateFileSystem: ["s3files:TagResource", "iam:PassRole"],
  RegisterScalableTarget: ["iam:CreateServiceLinkedRole", "ecs:UpdateService"],
  PutScalingPolicy: ["cloudwatch:PutMetricAlarm", "cloudwatch:DescribeAlarms", "cloudwatch:DeleteAlarms"],
  StartQueryExecution: ["glue:GetTable", "glue:GetDatabase", "s3:GetBucketLocation"],
};

test.each(Object.entries(besides))("%s needs %j besides", (call, actions) => {
  expect(calls).toContain(call);
  expect(allowed).toEqual(expect.arrayContaining([...actions]));
});
