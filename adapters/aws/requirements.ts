/** What the identity that Portside runs as has to be allowed, by service and with why. */

export interface Need {
  readonly why: string;
  /** https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html */
  readonly actions: readonly string[];
}

export const needs: Readonly<Record<string, Need>> = {
  ecs: {
    why: "services run there",
    actions: [
      "ecs:CreateService",
      "ecs:DeleteService",
      "ecs:DescribeServices",
      "ecs:DescribeTasks",
      "ecs:ListTasks",
      "ecs:RegisterTaskDefinition",
      "ecs:DeregisterTaskDefinition",
      "ecs:DeleteTaskDefinitions",
      "ecs:DescribeTaskDefinition",
      "ecs:ListTaskDefinitions",
      "ecs:TagResource",
    ],
  },
  elasticloadbalancing: {
    why: "requests reach services through the load balancer",
    actions: [
      "elasticloadbalancing:CreateTargetGroup",
      "elasticloadbalancing:DeleteTargetGroup",
      "elasticloadbalancing:DescribeTargetGroups",
      "elasticloadbalancing:ModifyTargetGroupAttributes",
      "elasticloadbalancing:DescribeTargetHealth",
      "elasticloadbalancing:CreateRule",
      "elasticloadbalancing:ModifyRule",
      "elasticloadbalancing:DeleteRule",
      "elasticloadbalancing:DescribeRules",
      "elasticloadbalancing:AddTags",
    ],
  },
  "application-autoscaling": {
    why: "instances are added and taken away",
    actions: [
      "application-autoscaling:RegisterScalableTarget",
      "application-autoscaling:DeregisterScalableTarget",
      "application-autoscaling:PutScalingPolicy",
      // Of whoever asks for it: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/auto-scaling-IAM.html
      "ecs:UpdateService",
      "cloudwatch:DescribeAlarms",
      "cloudwatch:PutMetricAlarm",
      "cloudwatch:DeleteAlarms",
    ],
  },
  codebuild: {
    why: "sources are built there",
    actions: ["codebuild:StartBuild", "codebuild:StopBuild", "codebuild:BatchGetBuilds"],
  },
  ecr: { why: "images are kept there", actions: ["ecr:DescribeImages", "ecr:DescribeRepositories"] },
  s3: {
    why: "volumes, sources, and what is known of deployments are kept there",
    actions: [
      "s3:CreateBucket",
      // Of a bucket that is made with tags and an owner (CreateBucket), and of an object that is put with tags (PutObject).
      "s3:TagResource",
      "s3:PutBucketOwnershipControls",
      "s3:PutObjectTagging",
      "s3:DeleteBucket",
      "s3:ListBucket",
      "s3:ListBucketVersions",
      "s3:GetObject",
      "s3:PutObject",
      "s3:DeleteObject",
      "s3:DeleteObjectVersion",
      "s3:AbortMultipartUpload",
      "s3:PutBucketVersioning",
      "s3:PutBucketPublicAccessBlock",
      "s3:PutBucketPolicy",
      "s3:DeleteBucketPolicy",
      "s3:PutLifecycleConfiguration",
    ],
  },
  s3files: {
    why: "volumes are mounted through it",
    actions: [
      "s3files:CreateFileSystem",
      "s3files:TagResource",
      "s3files:DeleteFileSystem",
      "s3files:ListFileSystems",
      "s3files:CreateMountTarget",
      "s3files:DeleteMountTarget",
      "s3files:ListMountTargets",
      "s3files:PutFileSystemPolicy",
    ],
  },
  scheduler: {
    why: "schedules fire there",
    actions: [
      "scheduler:CreateSchedule",
      "scheduler:UpdateSchedule",
      "scheduler:GetSchedule",
      "scheduler:DeleteSchedule",
    ],
  },
  logs: {
    why: "logs are kept there",
    actions: ["logs:FilterLogEvents", "logs:GetLogEvents", "logs:PutLogEvents", "logs:CreateLogStream"],
  },
  iam: {
    why: "every account has a role of its own, which its services run as",
    actions: [
      "iam:CreateRole",
      "iam:TagRole",
      "iam:PutRolePolicy",
      "iam:GetRolePolicy",
      "iam:PassRole",
      // The first service of an AWS account makes a role of Application Auto Scaling's own (services-that-can-integrate-ecs).
      "iam:CreateServiceLinkedRole",
    ],
  },
};

/** Where SQL is set up. */
export const sqlNeeds: Readonly<Record<string, Need>> = {
  athena: {
    why: "SQL is answered there",
    actions: [
      "athena:StartQueryExecution",
      "athena:GetQueryExecution",
      "athena:GetQueryResults",
      "athena:StopQueryExecution",
      // Athena looks for tables, reads them and writes answers as whoever asks: https://docs.aws.amazon.com/athena/latest/ug/access.html
      "glue:GetDatabase",
      "glue:GetTable",
      "glue:GetPartitions",
      "s3:GetBucketLocation",
      "s3:ListMultipartUploadParts",
      "s3:ListBucketMultipartUploads",
    ],
  },
};
