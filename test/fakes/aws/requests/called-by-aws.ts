/** The calls that AWS makes with the caller's rights while it serves a command, each with its source. Pure. */
import { awsConfig } from "../test-config.ts";
import { arn, ask, type Check, type Input } from "./check.ts";

/** Creates a missing service-linked role: .../IAM/latest/UserGuide/id_roles_create-service-linked-role.html */
const linkedRole = (service: string, name: string) =>
  ask(
    "iam:CreateServiceLinkedRole",
    arn("iam", `role/aws-service-role/${service}.amazonaws.com/AWSServiceRoleFor${name}`),
    { "iam:AWSServiceName": `${service}.amazonaws.com` },
  );

/**
 * "... without specifying any parameters", so IAM checks them on all alarms:
 * https://docs.aws.amazon.com/autoscaling/application/userguide/security_iam_permission_validation.html
 */
const alarms = ["PutMetricAlarm", "DescribeAlarms", "DeleteAlarms"].flatMap((action) =>
  ask(`cloudwatch:${action}`, arn("cloudwatch", "alarm:*")),
);

/**
 * S3 Files manages EventBridge rules for changes of the bucket: AmazonS3FilesFullAccess, and
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html
 */
const rule = (action: string) =>
  ask(`events:${action}`, arn("events", "rule/DO-NOT-DELETE-S3-Files-1"), {
    "events:ManagedBy": "elasticfilesystem.amazonaws.com",
  });
const rules = [
  ...["DeleteRule", "DescribeRule", "ListTargetsByRule", "PutRule", "PutTargets", "RemoveTargets"].flatMap(rule),
  ...ask("events:ListRules", arn("events", "rule/*")),
];

/** S3 Files creates network interfaces for mount targets: AmazonS3FilesFullAccess. */
const networkReads = [
  "DescribeSubnets",
  "DescribeVpcs",
  "DescribeAvailabilityZones",
  "DescribeSecurityGroups",
  "DescribeNetworkInterfaces",
  "DescribeNetworkInterfaceAttribute",
].flatMap((action) => ask(`ec2:${action}`));
const interfaces = arn("ec2", "network-interface/*");

/** The bucket of results and of the log table. */
const sqlBucket = `arn:aws:s3:::${awsConfig.stack}-sqlbucket`;
const database = ["catalog", "database/portside"].map((name) => arn("glue", name));
const table = [...database, arn("glue", "table/portside/logs")];

/** By the command's name without `Command`. */
export const calledByAws: Readonly<Record<string, (input: Input) => readonly Check[]>> = {
  // https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html
  CreateService: () => linkedRole("ecs", "ECS"),
  // Permission validation: see `alarms`.
  RegisterScalableTarget: ({ ResourceId }) => [
    ...ask("ecs:DescribeServices", arn("ecs", ResourceId)),
    ...ask("ecs:UpdateService", arn("ecs", ResourceId)),
    ...alarms,
    ...linkedRole("ecs.application-autoscaling", "ApplicationAutoScaling_ECSService"),
  ],
  DeregisterScalableTarget: () => alarms,
  PutScalingPolicy: () => alarms,
  CreateFileSystem: ({ bucket }) => [
    ...ask("s3:GetBucketNotification", bucket),
    ...ask("s3:PutBucketNotification", bucket),
    ...rules,
    ...linkedRole("elasticfilesystem", "AmazonElasticFileSystem"),
  ],
  DeleteFileSystem: () => rules,
  CreateMountTarget: ({ subnetId, securityGroups }) => [
    ...ask("ec2:CreateNetworkInterface", [
      interfaces,
      arn("ec2", `subnet/${subnetId}`),
      ...securityGroups.map((group: string) => arn("ec2", `security-group/${group}`)),
    ]),
    ...networkReads,
  ],
  DeleteMountTarget: () => ask("ec2:DeleteNetworkInterface", interfaces),
  // The managed policy ServiceQuotasReadOnlyAccess; the error DEPENDENCY_ACCESS_DENIED_ERROR of API_ErrorReason.
  ListServiceQuotas: ({ ServiceCode }) =>
    ServiceCode === "elasticloadbalancing" ? ask("elasticloadbalancing:DescribeAccountLimits") : [],
  // https://docs.aws.amazon.com/athena/latest/ug/s3-permissions.html,
  // https://docs.aws.amazon.com/athena/latest/ug/fine-grained-access-to-glue-resources.html
  StartQueryExecution: () => [
    ...ask("glue:GetDatabase", database),
    ...["GetTable", "GetPartitions"].flatMap((action) => ask(`glue:${action}`, table)),
    ...["GetBucketLocation", "ListBucket", "ListBucketMultipartUploads"].flatMap((action) =>
      ask(`s3:${action}`, sqlBucket),
    ),
    ...ask("s3:GetObject", [`${sqlBucket}/logs/1`, `${sqlBucket}/answers/1`]),
    ...["PutObject", "AbortMultipartUpload", "ListMultipartUploadParts"].flatMap((action) =>
      ask(`s3:${action}`, `${sqlBucket}/answers/1`),
    ),
  ],
  GetQueryResults: () => ask("s3:GetObject", `${sqlBucket}/answers/1`),
};
