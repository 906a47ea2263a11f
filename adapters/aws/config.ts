/** The configuration of the AWS provider. `docs/reference/configuration.md` and the CLI help are generated from it. */
import { z } from "zod";
import { spoolSetting } from "../shared/archives/spool-place.ts";
import type { AwsClients } from "./clients.ts";

const text = z.string().min(1);

/**
 * The resources that all deployments share. The names are those of the outputs of `docs/providers/aws-template.yaml`. A value set
 * here takes precedence over the stack's output.
 */
export const sharedResourcesSchema = z.strictObject({
  cluster: text.describe("Name of the ECS cluster"),
  vpc: text.describe("ID of the VPC of tasks"),
  subnets: z.array(text).min(1).describe("IDs of the subnets of tasks"),
  serviceSecurityGroup: text.describe("ID of the security group of tasks, which the load balancer may reach"),
  listenerArn: text.describe("ARN of the load balancer's listener that routes by host name"),
  moreListenerArns: z
    .array(text)
    .optional()
    .describe("ARNs of the listeners of further load balancers: the second serves NAME.2.DOMAIN"),
  domain: text.describe(
    "Domain whose sub-domains all lead to the load balancer: NAME.DOMAIN is a service. With a port, as in apps.example.com:8443, if the listener does not use its scheme's default port",
  ),
  scheme: z.enum(["http", "https"]).describe("Scheme of the listener"),
  executionRoleArn: text.describe("ARN of the role that starts tasks, pulls images and writes logs"),
  permissionsBoundaryArn: text.describe("ARN of the policy that limits every account's role"),
  buildProject: text.describe("Name of the CodeBuild project that builds sources, with a separate role"),
  repository: text.describe("Name of the ECR repository for images"),
  stateBucket: text.describe("Bucket for sources that wait for their build, and for claims of names"),
  filesRoleArn: text.describe("ARN of the role with which S3 Files reads and writes volumes"),
  filesSecurityGroup: text.describe("ID of the security group of mount targets"),
  logGroup: text.describe("CloudWatch log group of services"),
  scheduleGroup: text.describe("Name of the EventBridge Scheduler group of schedules"),
  schedulerRoleArn: text.describe("ARN of the role with which EventBridge Scheduler fires"),
  cronFunctionArn: text.describe("ARN of the function that sends a fire to its service"),
});

/** The names of the resources that all deployments share. */
export type SharedResources = z.output<typeof sharedResourcesSchema>;

export const awsConfigSchema = z.strictObject({
  region: text.describe("Region of services, such as eu-west-1"),
  stack: text.default("portside").describe("CloudFormation stack whose outputs name the shared resources"),
  shared: sharedResourcesSchema.partial().default({}),
  dataDir: text.describe("Folder for data on the server's machine: sources that wait for their build, and API keys"),
  sourceSpool: spoolSetting,
  settleSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(10)
    .describe("Maximum delay until a log entry appears in CloudWatch Logs"),
  logReadsPerMinute: z
    .int()
    .min(1)
    .default(300)
    .describe(
      "Maximum log reads of this server per minute. The limit of an account is 600 in most regions. With replicas, divide it by their number",
    ),
  imageRetentionDays: z
    .int()
    .min(1)
    .default(30)
    .describe("Days after its last deploy until an image that no deployment uses is deleted"),
  athenaWorkgroup: text.optional().describe("Athena workgroup of queries; required for SQL"),
  logTable: text.optional().describe("Athena table of the log, as CATALOG.DATABASE.TABLE"),
  billingTable: text.optional().describe("Athena table of the cost and usage report, as CATALOG.DATABASE.TABLE"),
});

/** The configuration as an application passes it. Omitted settings have their defaults. */
export type AwsConfigInput = z.input<typeof awsConfigSchema> & {
  /** SDK clients to use instead of those created with the machine's credentials. */
  readonly clients?: Partial<AwsClients>;
};

/** Defaults applied. Of the shared resources, it holds only the configured ones. */
export type AwsSettings = z.output<typeof awsConfigSchema>;

/** `AwsSettings` with every shared resource. */
export type AwsConfig = Omit<AwsSettings, "shared"> & { readonly shared: SharedResources };

/** Applies the defaults. Throws a `ZodError` if a value is invalid. */
export const awsSettingsOf = ({ clients: _clients, ...input }: AwsConfigInput): AwsSettings =>
  awsConfigSchema.parse(input);
