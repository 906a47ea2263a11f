/**
 * The permissions that IAM checks for each command: actions on the resources that the request names. From the service
 * authorization reference, independently of the adapter's own list (`adapters/aws/requirements.ts`):
 * https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html
 * Pure.
 */
import { CERTIFICATE_TAG } from "../../../../adapters/aws/domains/certificates.ts";
import { awsConfig } from "../test-config.ts";
import { calledByAws } from "./called-by-aws.ts";
import { arn, ask, type Check, type Input } from "./check.ts";
import type { RecordedCommand } from "./record.ts";

const passRole = (role: string, service: string) =>
  ask("iam:PassRole", role, { "iam:PassedToService": `${service}.amazonaws.com` });

const idOf = (arnOrId: string): string => arnOrId.split("/").at(-1) ?? "";

// ECS. DescribeTasks and ListTasks: "list_amazonelasticcontainerservice.html".
const service = (cluster: string, name: string) => arn("ecs", `service/${cluster}/${idOf(name)}`);
const tagged = (tags: readonly unknown[] | undefined, action: string, resource: string) =>
  tags === undefined || tags.length === 0 ? [] : ask(action, resource);

// S3. A request with a version needs the action for versions: "list_amazons3.html".
const bucket = (name: string) => `arn:aws:s3:::${name}`;
const object = (name: string, key: string) => `arn:aws:s3:::${name}/${key}`;
const read = (name: string, key: string, version?: string) =>
  ask(version === undefined ? "s3:GetObject" : "s3:GetObjectVersion", object(name, key));
const remove = (name: string, key: string, version?: string) =>
  ask(version === undefined ? "s3:DeleteObject" : "s3:DeleteObjectVersion", object(name, key));
const write = ({ Bucket, Key }: Input) => ask("s3:PutObject", object(Bucket, Key));
const source = (copySource: string) => {
  const [path = "", version] = copySource.split("?versionId=");
  const [, name = "", key = ""] = /^\/?([^/]+)\/(.*)$/s.exec(decodeURIComponent(path)) ?? [];
  return read(name, key, version);
};

// S3 Files. Mount targets and access points belong to a file system, whose id the request may not contain.
const fileSystem = (id = "*") => arn("s3files", `file-system/${idOf(id)}`);

// ELB: "list_awselasticloadbalancingv2.html". A new rule's ARN begins with its listener's.
const ruleOf = (listener: string) => `${listener.replace(":listener/", ":listener-rule/")}/*`;

// ACM: "list_awscertificatemanager.html". `aws:RequestTag` and `aws:ResourceTag` have the tag's key.
const tagContext = (kind: string, tags: readonly Input[] = []): Check["context"] =>
  Object.fromEntries(tags.map(({ Key, Value }) => [`${kind}/${Key}`, Value]));

// CloudWatch Logs: "Use the second version, with the trailing :*, ... in IAM policies for all other API actions",
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/iam-access-control-overview-cwl.html
const logGroup = (name: string) => arn("logs", `log-group:${name}:*`);
const logStream = ({ logGroupName, logStreamName }: Input) =>
  arn("logs", `log-group:${logGroupName}:log-stream:${logStreamName}`);

// Secrets Manager: "list_awssecretsmanager.html". A secret's ARN ends with a hyphen and six random characters.
const secret = (nameOrArn: string) =>
  nameOrArn.startsWith("arn:") ? nameOrArn : arn("secretsmanager", `secret:${nameOrArn}-??????`);

const role = (name: string) => arn("iam", `role/${name}`);
const project = (name: string) => arn("codebuild", `project/${name.split(":")[0]}`);
const schedule = ({ GroupName, Name }: Input) => arn("scheduler", `schedule/${GroupName}/${Name}`);
const target = ({ ServiceNamespace }: Input) =>
  [
    arn("application-autoscaling", "scalable-target/*"),
    { "application-autoscaling:service-namespace": ServiceNamespace },
  ] as const;
const workGroup = (name: string | undefined) => arn("athena", `workgroup/${name}`);
const queries = () => workGroup(awsConfig.stack);

/** By the command's name without `Command`. */
const commands: Readonly<Record<string, (input: Input) => readonly Check[]>> = {
  CreateService: ({ cluster, serviceName, tags }) => [
    ...ask("ecs:CreateService", service(cluster, serviceName)),
    ...tagged(tags, "ecs:TagResource", service(cluster, serviceName)),
  ],
  DeleteService: (input) => ask("ecs:DeleteService", service(input.cluster, input.service)),
  DescribeServices: ({ cluster, services }) =>
    ask(
      "ecs:DescribeServices",
      services.map((name: string) => service(cluster, name)),
    ),
  DescribeTasks: ({ cluster, tasks }) =>
    ask(
      "ecs:DescribeTasks",
      tasks.map((task: string) => arn("ecs", `task/${cluster}/${idOf(task)}`)),
    ),
  ListTasks: ({ cluster }) => ask("ecs:ListTasks", arn("ecs", `container-instance/${cluster}/*`)),
  RegisterTaskDefinition: ({ family, tags, taskRoleArn, executionRoleArn }) => [
    ...ask("ecs:RegisterTaskDefinition", arn("ecs", `task-definition/${family}:*`)),
    ...tagged(tags, "ecs:TagResource", arn("ecs", `task-definition/${family}:*`)),
    ...passRole(taskRoleArn, "ecs-tasks"),
    ...passRole(executionRoleArn, "ecs-tasks"),
  ],
  DeregisterTaskDefinition: () => ask("ecs:DeregisterTaskDefinition"),
  DeleteTaskDefinitions: ({ taskDefinitions }) =>
    ask(
      "ecs:DeleteTaskDefinitions",
      taskDefinitions.map((one: string) => arn("ecs", `task-definition/${idOf(one)}`)),
    ),
  DescribeTaskDefinition: () => ask("ecs:DescribeTaskDefinition"),
  ListTaskDefinitions: () => ask("ecs:ListTaskDefinitions"),
  DescribeClusters: ({ clusters }) =>
    ask(
      "ecs:DescribeClusters",
      clusters.map((name: string) => arn("ecs", `cluster/${name}`)),
    ),

  CreateTargetGroup: ({ Name, Tags }) => [
    ...ask("elasticloadbalancing:CreateTargetGroup", arn("elasticloadbalancing", `targetgroup/${Name}/*`)),
    ...tagged(Tags, "elasticloadbalancing:AddTags", arn("elasticloadbalancing", `targetgroup/${Name}/*`)),
  ],
  DeleteTargetGroup: ({ TargetGroupArn }) => ask("elasticloadbalancing:DeleteTargetGroup", TargetGroupArn),
  DescribeTargetGroups: () => ask("elasticloadbalancing:DescribeTargetGroups"),
  ModifyTargetGroupAttributes: ({ TargetGroupArn }) =>
    ask("elasticloadbalancing:ModifyTargetGroupAttributes", TargetGroupArn),
  DescribeTargetHealth: () => ask("elasticloadbalancing:DescribeTargetHealth"),
  CreateRule: ({ ListenerArn, Tags }) => [
    ...ask("elasticloadbalancing:CreateRule", ListenerArn),
    ...tagged(Tags, "elasticloadbalancing:AddTags", ruleOf(ListenerArn)),
  ],
  ModifyRule: ({ RuleArn }) => ask("elasticloadbalancing:ModifyRule", RuleArn),
  DeleteRule: ({ RuleArn }) => ask("elasticloadbalancing:DeleteRule", RuleArn),
  DescribeRules: () => ask("elasticloadbalancing:DescribeRules"),
  DescribeListeners: () => ask("elasticloadbalancing:DescribeListeners"),
  DescribeLoadBalancers: () => ask("elasticloadbalancing:DescribeLoadBalancers"),
  AddListenerCertificates: ({ ListenerArn }) => ask("elasticloadbalancing:AddListenerCertificates", ListenerArn),
  RemoveListenerCertificates: ({ ListenerArn }) => ask("elasticloadbalancing:RemoveListenerCertificates", ListenerArn),

  RequestCertificate: ({ Tags }) => [
    ...ask("acm:RequestCertificate", "*", tagContext("aws:RequestTag", Tags)),
    ...ask("acm:AddTagsToCertificate", arn("acm", "certificate/*"), tagContext("aws:RequestTag", Tags)),
  ],
  ListCertificates: () => ask("acm:ListCertificates"),
  ListTagsForCertificate: ({ CertificateArn }) => ask("acm:ListTagsForCertificate", CertificateArn),
  DescribeCertificate: ({ CertificateArn }) => ask("acm:DescribeCertificate", CertificateArn),
  DeleteCertificate: ({ CertificateArn }) =>
    ask("acm:DeleteCertificate", CertificateArn, tagContext("aws:ResourceTag", [CERTIFICATE_TAG])),

  RegisterScalableTarget: (input) => ask("application-autoscaling:RegisterScalableTarget", ...target(input)),
  DeregisterScalableTarget: (input) => ask("application-autoscaling:DeregisterScalableTarget", ...target(input)),
  PutScalingPolicy: (input) => ask("application-autoscaling:PutScalingPolicy", ...target(input)),

  StartBuild: ({ projectName }) => ask("codebuild:StartBuild", project(projectName)),
  StopBuild: ({ id }) => ask("codebuild:StopBuild", project(id)),
  BatchGetBuilds: ({ ids }) => ask("codebuild:BatchGetBuilds", ids.map(project)),
  BatchGetProjects: ({ names }) => ask("codebuild:BatchGetProjects", names.map(project)),
  DescribeImages: ({ repositoryName }) => ask("ecr:DescribeImages", arn("ecr", `repository/${repositoryName}`)),
  BatchDeleteImage: ({ repositoryName }) => ask("ecr:BatchDeleteImage", arn("ecr", `repository/${repositoryName}`)),
  BatchGetImage: ({ repositoryName }) => ask("ecr:BatchGetImage", arn("ecr", `repository/${repositoryName}`)),
  PutImage: ({ repositoryName }) => ask("ecr:PutImage", arn("ecr", `repository/${repositoryName}`)),
  DescribeRepositories: ({ repositoryNames }) =>
    ask(
      "ecr:DescribeRepositories",
      repositoryNames.map((name: string) => arn("ecr", `repository/${name}`)),
    ),

  CreateBucket: ({ Bucket, ObjectOwnership, CreateBucketConfiguration: { Tags } = {} }) => [
    ...ask("s3:CreateBucket", bucket(Bucket)),
    ...(ObjectOwnership === undefined ? [] : ask("s3:PutBucketOwnershipControls", bucket(Bucket))),
    ...tagged(Tags, "s3:TagResource", bucket(Bucket)),
  ],
  DeleteBucket: ({ Bucket }) => ask("s3:DeleteBucket", bucket(Bucket)),
  HeadBucket: ({ Bucket }) => ask("s3:ListBucket", bucket(Bucket)),
  ListObjectsV2: ({ Bucket }) => ask("s3:ListBucket", bucket(Bucket)),
  ListObjectVersions: ({ Bucket }) => ask("s3:ListBucketVersions", bucket(Bucket)),
  HeadObject: ({ Bucket, Key, VersionId }) => read(Bucket, Key, VersionId),
  GetObject: ({ Bucket, Key, VersionId }) => read(Bucket, Key, VersionId),
  PutObject: ({ Bucket, Key, Tagging }) => [
    ...write({ Bucket, Key }),
    ...(Tagging === undefined ? [] : ask("s3:PutObjectTagging", object(Bucket, Key))),
  ],
  DeleteObject: ({ Bucket, Key, VersionId }) => remove(Bucket, Key, VersionId),
  DeleteObjects: ({ Bucket, Delete }) =>
    Delete.Objects.flatMap(({ Key, VersionId }: Input) => remove(Bucket, Key, VersionId)),
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions
  CreateMultipartUpload: write,
  UploadPart: write,
  CompleteMultipartUpload: write,
  ListMultipartUploads: ({ Bucket }) => ask("s3:ListBucketMultipartUploads", bucket(Bucket)),
  ListParts: ({ Bucket, Key }) => ask("s3:ListMultipartUploadParts", object(Bucket, Key)),
  AbortMultipartUpload: ({ Bucket, Key }) => ask("s3:AbortMultipartUpload", object(Bucket, Key)),
  CopyObject: (input) => [...source(input.CopySource), ...write(input)],
  PutBucketVersioning: ({ Bucket }) => ask("s3:PutBucketVersioning", bucket(Bucket)),
  PutPublicAccessBlock: ({ Bucket }) => ask("s3:PutBucketPublicAccessBlock", bucket(Bucket)),
  PutBucketPolicy: ({ Bucket }) => ask("s3:PutBucketPolicy", bucket(Bucket)),
  DeleteBucketPolicy: ({ Bucket }) => ask("s3:DeleteBucketPolicy", bucket(Bucket)),
  PutBucketCors: ({ Bucket }) => ask("s3:PutBucketCORS", bucket(Bucket)),
  GetBucketCors: ({ Bucket }) => ask("s3:GetBucketCORS", bucket(Bucket)),
  GetBucketLifecycleConfiguration: ({ Bucket }) => ask("s3:GetLifecycleConfiguration", bucket(Bucket)),
  PutBucketLifecycleConfiguration: ({ Bucket }) => ask("s3:PutLifecycleConfiguration", bucket(Bucket)),

  CreateFileSystem: ({ roleArn, tags }) => [
    ...ask("s3files:CreateFileSystem"),
    ...tagged(tags, "s3files:TagResource", fileSystem()),
    ...passRole(roleArn, "elasticfilesystem"),
  ],
  DeleteFileSystem: ({ fileSystemId }) => ask("s3files:DeleteFileSystem", fileSystem(fileSystemId)),
  ListFileSystems: () => ask("s3files:ListFileSystems", fileSystem()),
  CreateMountTarget: ({ fileSystemId }) => ask("s3files:CreateMountTarget", fileSystem(fileSystemId)),
  DeleteMountTarget: () => ask("s3files:DeleteMountTarget", fileSystem()),
  ListMountTargets: ({ fileSystemId }) => ask("s3files:ListMountTargets", fileSystem(fileSystemId)),
  CreateAccessPoint: ({ fileSystemId }) => ask("s3files:CreateAccessPoint", fileSystem(fileSystemId)),
  DeleteAccessPoint: () => ask("s3files:DeleteAccessPoint", `${fileSystem()}/access-point/*`),
  ListAccessPoints: ({ fileSystemId }) => ask("s3files:ListAccessPoints", fileSystem(fileSystemId)),
  PutFileSystemPolicy: ({ fileSystemId }) => ask("s3files:PutFileSystemPolicy", fileSystem(fileSystemId)),

  CreateSchedule: (input) => [
    ...ask("scheduler:CreateSchedule", schedule(input)),
    ...passRole(input.Target.RoleArn, "scheduler"),
  ],
  UpdateSchedule: (input) => [
    ...ask("scheduler:UpdateSchedule", schedule(input)),
    ...passRole(input.Target.RoleArn, "scheduler"),
  ],
  GetSchedule: (input) => ask("scheduler:GetSchedule", schedule(input)),
  DeleteSchedule: (input) => ask("scheduler:DeleteSchedule", schedule(input)),

  CreateSecret: ({ Name, Tags }) => [
    ...ask("secretsmanager:CreateSecret", secret(Name)),
    ...tagged(Tags, "secretsmanager:TagResource", secret(Name)),
  ],
  GetSecretValue: ({ SecretId }) => ask("secretsmanager:GetSecretValue", secret(SecretId)),
  DeleteSecret: ({ SecretId }) => ask("secretsmanager:DeleteSecret", secret(SecretId)),

  FilterLogEvents: ({ logGroupName }) => ask("logs:FilterLogEvents", logGroup(logGroupName)),
  GetLogEvents: (input) => ask("logs:GetLogEvents", logStream(input)),
  PutLogEvents: (input) => ask("logs:PutLogEvents", logStream(input)),
  CreateLogStream: (input) => ask("logs:CreateLogStream", logStream(input)),

  CreateRole: ({ RoleName, PermissionsBoundary, Tags }) => [
    ...ask("iam:CreateRole", role(RoleName), { "iam:PermissionsBoundary": PermissionsBoundary }),
    ...tagged(Tags, "iam:TagRole", role(RoleName)),
  ],
  // IAM reads the boundary of the role: every role that the adapter creates has it.
  PutRolePolicy: ({ RoleName }) =>
    ask("iam:PutRolePolicy", role(RoleName), {
      "iam:PermissionsBoundary": awsConfig.shared.permissionsBoundaryArn,
    }),
  GetRolePolicy: ({ RoleName }) => ask("iam:GetRolePolicy", role(RoleName)),
  GetRole: ({ RoleName }) => ask("iam:GetRole", role(RoleName)),
  GetAccountSummary: () => ask("iam:GetAccountSummary"),
  SimulatePrincipalPolicy: ({ PolicySourceArn }) => ask("iam:SimulatePrincipalPolicy", PolicySourceArn),
  // "No permissions are required to perform this operation" (API_GetCallerIdentity).
  GetCallerIdentity: () => [],
  // IAM checks a call that names a stack on `stack/NAME/*`: https://github.com/aws/aws-parallelcluster/pull/754
  DescribeStacks: ({ StackName }) =>
    ask("cloudformation:DescribeStacks", arn("cloudformation", `stack/${StackName}/*`)),

  // CloudWatch has no resources for metrics: "list_amazoncloudwatch.html".
  GetMetricData: () => ask("cloudwatch:GetMetricData"),
  ListMetrics: () => ask("cloudwatch:ListMetrics"),

  ListServiceQuotas: () => ask("servicequotas:ListServiceQuotas"),
  ListAWSDefaultServiceQuotas: () => ask("servicequotas:ListAWSDefaultServiceQuotas"),

  StartQueryExecution: (input) => ask("athena:StartQueryExecution", workGroup(input.WorkGroup)),
  GetQueryExecution: () => ask("athena:GetQueryExecution", queries()),
  GetQueryResults: () => ask("athena:GetQueryResults", queries()),
  StopQueryExecution: () => ask("athena:StopQueryExecution", queries()),
  GetWorkGroup: (input) => ask("athena:GetWorkGroup", workGroup(input.WorkGroup)),
};

/** Undefined if the table above does not have the command. */
export const checksOf = ({ command, input }: RecordedCommand): readonly Check[] | undefined => {
  const name = command.replace(/Command$/, "");
  const own = commands[name]?.(input);
  return own && [...own, ...(calledByAws[name]?.(input) ?? [])];
};
