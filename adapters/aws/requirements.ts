/**
 * The IAM actions that Portside needs, by service, with reasons. A command may need more than the action of the same
 * name. `docs/providers/aws-template.yaml` grants all of them. Source, unless a comment names a different one:
 * https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
 */

/** The stack outputs with the policies' ARNs. The actions exceed the size limit of a single policy. */
export const policyOutputs = ["platformPolicyArn", "platformStoragePolicyArn", "platformSqlPolicyArn"] as const;

export interface Need {
  readonly why: string;
  /** The stack output with the ARN of the policy that grants the actions. */
  readonly policy: (typeof policyOutputs)[number];
  /** The commands that the adapter sends to the service, each with the actions that it needs. */
  readonly calls: Readonly<Record<string, readonly string[]>>;
}

/** The distinct actions of a service's commands. */
export const actionsOf = ({ calls }: Need): readonly string[] => [...new Set(Object.values(calls).flat())];

/**
 * For the alarms of scaling policies:
 * https://docs.aws.amazon.com/autoscaling/application/userguide/security_iam_permission_validation.html
 */
const alarms = ["cloudwatch:PutMetricAlarm", "cloudwatch:DescribeAlarms", "cloudwatch:DeleteAlarms"];

/** For S3 Files. Source: its managed policy AmazonS3FilesFullAccess. */
const networkInterfaces = [
  "ec2:DescribeSubnets",
  "ec2:DescribeVpcs",
  "ec2:DescribeAvailabilityZones",
  "ec2:DescribeSecurityGroups",
  "ec2:DescribeNetworkInterfaces",
  "ec2:DescribeNetworkInterfaceAttribute",
];

/**
 * For the EventBridge rules that watch a bucket. S3 Files manages them with the caller's permissions:
 * AmazonS3FilesFullAccess, and https://github.com/awslabs/knfsd-file-cache/blob/HEAD/examples/s3-files/iam.json
 */
const watchRules = [
  "events:DeleteRule",
  "events:DescribeRule",
  "events:ListRules",
  "events:ListTargetsByRule",
  "events:PutRule",
  "events:PutTargets",
  "events:RemoveTargets",
];

export const needs: Readonly<Record<string, Need>> = {
  // Tagging a new resource needs separate actions:
  // https://docs.aws.amazon.com/AmazonECS/latest/developerguide/supported-iam-actions-tagging.html
  // ECS creates a missing service-linked role with the caller's permissions:
  // https://docs.aws.amazon.com/AmazonECS/latest/developerguide/using-service-linked-roles.html
  ecs: {
    why: "services run there",
    policy: "platformPolicyArn",
    calls: {
      CreateServiceCommand: ["ecs:CreateService", "ecs:TagResource", "iam:CreateServiceLinkedRole"],
      DeleteServiceCommand: ["ecs:DeleteService"],
      DescribeServicesCommand: ["ecs:DescribeServices"],
      DescribeTasksCommand: ["ecs:DescribeTasks"],
      ListTasksCommand: ["ecs:ListTasks"],
      RegisterTaskDefinitionCommand: ["ecs:RegisterTaskDefinition", "ecs:TagResource", "iam:PassRole"],
      DeregisterTaskDefinitionCommand: ["ecs:DeregisterTaskDefinition"],
      DeleteTaskDefinitionsCommand: ["ecs:DeleteTaskDefinitions"],
      DescribeTaskDefinitionCommand: ["ecs:DescribeTaskDefinition"],
      ListTaskDefinitionsCommand: ["ecs:ListTaskDefinitions"],
    },
  },
  elasticloadbalancing: {
    why: "requests reach services through the load balancer",
    policy: "platformPolicyArn",
    calls: {
      CreateTargetGroupCommand: ["elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:AddTags"],
      DeleteTargetGroupCommand: ["elasticloadbalancing:DeleteTargetGroup"],
      DescribeTargetGroupsCommand: ["elasticloadbalancing:DescribeTargetGroups"],
      ModifyTargetGroupAttributesCommand: ["elasticloadbalancing:ModifyTargetGroupAttributes"],
      DescribeTargetHealthCommand: ["elasticloadbalancing:DescribeTargetHealth"],
      CreateRuleCommand: ["elasticloadbalancing:CreateRule", "elasticloadbalancing:AddTags"],
      ModifyRuleCommand: ["elasticloadbalancing:ModifyRule"],
      DeleteRuleCommand: ["elasticloadbalancing:DeleteRule"],
      DescribeRulesCommand: ["elasticloadbalancing:DescribeRules"],
      DescribeLoadBalancersCommand: ["elasticloadbalancing:DescribeLoadBalancers"],
      AddListenerCertificatesCommand: ["elasticloadbalancing:AddListenerCertificates"],
      RemoveListenerCertificatesCommand: ["elasticloadbalancing:RemoveListenerCertificates"],
    },
  },
  // "To tag a certificate when you request it, you must also have acm:AddTagsToCertificate" (userguide, tags.html).
  acm: {
    why: "the certificates of custom domains are issued there",
    policy: "platformStoragePolicyArn",
    calls: {
      RequestCertificateCommand: ["acm:RequestCertificate", "acm:AddTagsToCertificate"],
      ListCertificatesCommand: ["acm:ListCertificates"],
      ListTagsForCertificateCommand: ["acm:ListTagsForCertificate"],
      DescribeCertificateCommand: ["acm:DescribeCertificate"],
      DeleteCertificateCommand: ["acm:DeleteCertificate"],
    },
  },
  // Application Auto Scaling checks its caller's permissions on ECS and CloudWatch, and creates a missing
  // service-linked role:
  // https://docs.aws.amazon.com/autoscaling/application/userguide/security_iam_permission_validation.html
  "application-autoscaling": {
    why: "services scale there",
    policy: "platformPolicyArn",
    calls: {
      RegisterScalableTargetCommand: [
        "application-autoscaling:RegisterScalableTarget",
        "ecs:DescribeServices",
        "ecs:UpdateService",
        "iam:CreateServiceLinkedRole",
        ...alarms,
      ],
      DeregisterScalableTargetCommand: ["application-autoscaling:DeregisterScalableTarget", ...alarms],
      PutScalingPolicyCommand: ["application-autoscaling:PutScalingPolicy", ...alarms],
    },
  },
  codebuild: {
    why: "sources are built there",
    policy: "platformPolicyArn",
    calls: {
      StartBuildCommand: ["codebuild:StartBuild"],
      StopBuildCommand: ["codebuild:StopBuild"],
      BatchGetBuildsCommand: ["codebuild:BatchGetBuilds"],
      GetLogEventsCommand: ["logs:GetLogEvents"],
    },
  },
  ecr: {
    why: "images are stored there",
    policy: "platformPolicyArn",
    calls: {
      DescribeImagesCommand: ["ecr:DescribeImages"],
      BatchGetImageCommand: ["ecr:BatchGetImage"],
      PutImageCommand: ["ecr:PutImage"],
      BatchDeleteImageCommand: ["ecr:BatchDeleteImage"],
      DescribeRepositoriesCommand: ["ecr:DescribeRepositories"],
    },
  },
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html
  s3: {
    why: "volumes, sources and records of deployments are stored there",
    policy: "platformStoragePolicyArn",
    calls: {
      CreateBucketCommand: ["s3:CreateBucket", "s3:PutBucketOwnershipControls", "s3:TagResource"],
      DeleteBucketCommand: ["s3:DeleteBucket"],
      HeadBucketCommand: ["s3:ListBucket"],
      ListObjectsV2Command: ["s3:ListBucket"],
      ListObjectVersionsCommand: ["s3:ListBucketVersions"],
      HeadObjectCommand: ["s3:GetObject"],
      GetObjectCommand: ["s3:GetObject"],
      PutObjectCommand: ["s3:PutObject", "s3:PutObjectTagging"],
      DeleteObjectCommand: ["s3:DeleteObject"],
      DeleteObjectsCommand: ["s3:DeleteObjectVersion"],
      CreateMultipartUploadCommand: ["s3:PutObject"],
      UploadPartCommand: ["s3:PutObject"],
      CompleteMultipartUploadCommand: ["s3:PutObject"],
      AbortMultipartUploadCommand: ["s3:AbortMultipartUpload"],
      ListPartsCommand: ["s3:ListMultipartUploadParts"],
      ListMultipartUploadsCommand: ["s3:ListBucketMultipartUploads"],
      CopyObjectCommand: ["s3:GetObject", "s3:PutObject"],
      PutBucketCorsCommand: ["s3:PutBucketCORS"],
      GetBucketCorsCommand: ["s3:GetBucketCORS"],
      PutBucketVersioningCommand: ["s3:PutBucketVersioning"],
      PutPublicAccessBlockCommand: ["s3:PutBucketPublicAccessBlock"],
      PutBucketPolicyCommand: ["s3:PutBucketPolicy"],
      DeleteBucketPolicyCommand: ["s3:DeleteBucketPolicy"],
      PutBucketLifecycleConfigurationCommand: ["s3:PutLifecycleConfiguration"],
      GetBucketLifecycleConfigurationCommand: ["s3:GetLifecycleConfiguration"],
    },
  },
  s3files: {
    why: "services mount volumes through it",
    policy: "platformStoragePolicyArn",
    calls: {
      CreateFileSystemCommand: [
        "s3files:CreateFileSystem",
        "s3files:TagResource",
        "iam:PassRole",
        // S3 Files watches the bucket for changes:
        // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html
        "s3:GetBucketNotification",
        "s3:PutBucketNotification",
        ...watchRules,
        "iam:CreateServiceLinkedRole",
      ],
      DeleteFileSystemCommand: ["s3files:DeleteFileSystem", ...watchRules],
      ListFileSystemsCommand: ["s3files:ListFileSystems"],
      CreateMountTargetCommand: ["s3files:CreateMountTarget", "ec2:CreateNetworkInterface", ...networkInterfaces],
      DeleteMountTargetCommand: ["s3files:DeleteMountTarget", "ec2:DeleteNetworkInterface"],
      ListMountTargetsCommand: ["s3files:ListMountTargets"],
      CreateAccessPointCommand: ["s3files:CreateAccessPoint"],
      DeleteAccessPointCommand: ["s3files:DeleteAccessPoint"],
      ListAccessPointsCommand: ["s3files:ListAccessPoints"],
      PutFileSystemPolicyCommand: ["s3files:PutFileSystemPolicy"],
    },
  },
  scheduler: {
    why: "schedules run there",
    policy: "platformPolicyArn",
    calls: {
      CreateScheduleCommand: ["scheduler:CreateSchedule", "iam:PassRole"],
      UpdateScheduleCommand: ["scheduler:UpdateSchedule", "iam:PassRole"],
      GetScheduleCommand: ["scheduler:GetSchedule"],
      DeleteScheduleCommand: ["scheduler:DeleteSchedule"],
    },
  },
  // "If you include tags in the secret, you also need secretsmanager:TagResource" (API_CreateSecret). Portside reads
  // the values to remove them from the last lines of failed deploys.
  secretsmanager: {
    why: "secrets are stored there",
    policy: "platformStoragePolicyArn",
    calls: {
      CreateSecretCommand: ["secretsmanager:CreateSecret", "secretsmanager:TagResource"],
      GetSecretValueCommand: ["secretsmanager:GetSecretValue"],
      DeleteSecretCommand: ["secretsmanager:DeleteSecret"],
    },
  },
  logs: {
    why: "logs are stored there",
    policy: "platformPolicyArn",
    calls: {
      FilterLogEventsCommand: ["logs:FilterLogEvents"],
      PutLogEventsCommand: ["logs:PutLogEvents"],
      CreateLogStreamCommand: ["logs:CreateLogStream"],
    },
  },
  cloudwatch: {
    why: "metrics of deployments are read there",
    policy: "platformStoragePolicyArn",
    calls: {
      GetMetricDataCommand: ["cloudwatch:GetMetricData"],
      ListMetricsCommand: ["cloudwatch:ListMetrics"],
    },
  },
  iam: {
    why: "each account has its own roles: one that its services assume, and one with which ECS starts services that use secrets",
    policy: "platformPolicyArn",
    calls: {
      CreateRoleCommand: ["iam:CreateRole", "iam:TagRole"],
      PutRolePolicyCommand: ["iam:PutRolePolicy"],
      GetRolePolicyCommand: ["iam:GetRolePolicy"],
    },
  },
  doctor: {
    why: "the platform checks its setup at start",
    policy: "platformPolicyArn",
    calls: {
      // "No permissions are required to perform this operation" (API_GetCallerIdentity).
      GetCallerIdentityCommand: [],
      DescribeStacksCommand: ["cloudformation:DescribeStacks"],
      SimulatePrincipalPolicyCommand: ["iam:SimulatePrincipalPolicy"],
      GetAccountSummaryCommand: ["iam:GetAccountSummary"],
      DescribeClustersCommand: ["ecs:DescribeClusters"],
      DescribeListenersCommand: ["elasticloadbalancing:DescribeListeners"],
      BatchGetProjectsCommand: ["codebuild:BatchGetProjects"],
      GetRoleCommand: ["iam:GetRole"],
    },
  },
  servicequotas: {
    why: "doctor reads the AWS account's quotas there",
    policy: "platformStoragePolicyArn",
    calls: {
      // Service Quotas queries the load balancer's service with the caller's permissions (API_ErrorReason,
      // DEPENDENCY_ACCESS_DENIED_ERROR). The managed policy ServiceQuotasReadOnlyAccess contains the required action.
      ListServiceQuotas: ["servicequotas:ListServiceQuotas", "elasticloadbalancing:DescribeAccountLimits"],
      ListAWSDefaultServiceQuotas: ["servicequotas:ListAWSDefaultServiceQuotas"],
    },
  },
};

/** Required only with SQL. */
export const sqlNeeds: Readonly<Record<string, Need>> = {
  athena: {
    why: "SQL queries run there",
    policy: "platformSqlPolicyArn",
    calls: {
      // Athena reads tables and objects with the caller's permissions:
      // https://docs.aws.amazon.com/athena/latest/ug/s3-permissions.html,
      // https://docs.aws.amazon.com/athena/latest/ug/fine-grained-access-to-glue-resources.html
      StartQueryExecutionCommand: [
        "athena:StartQueryExecution",
        "glue:GetDatabase",
        "glue:GetTable",
        "glue:GetPartitions",
        "s3:GetBucketLocation",
        "s3:ListBucket",
        "s3:GetObject",
        "s3:PutObject",
        "s3:AbortMultipartUpload",
        "s3:ListBucketMultipartUploads",
        "s3:ListMultipartUploadParts",
      ],
      GetQueryExecutionCommand: ["athena:GetQueryExecution"],
      GetQueryResultsCommand: ["athena:GetQueryResults", "s3:GetObject"],
      StopQueryExecutionCommand: ["athena:StopQueryExecution"],
      GetWorkGroupCommand: ["athena:GetWorkGroup"],
    },
  },
};
