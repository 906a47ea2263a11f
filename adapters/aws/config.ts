/** The configuration of the AWS provider. `docs/reference/configuration.md` and the CLI help are generated from it. */
import { z } from "zod";
import { spoolSetting } from "../shared/archives/spool-place.ts";
import type { AwsClients } from "./clients.ts";

const text = z.string().min(1);

/**
 * The resources that all deployments share. Each name except `moreListenerArns` is also the name of an output of
 * `docs/providers/aws-template.yaml`. A configured value takes precedence over the stack's output.
 */
export const sharedResourcesSchema = z.strictObject({
  cluster: text.describe("Name of the ECS cluster"),
  vpc: text.describe("ID of the VPC of tasks"),
  subnets: z.array(text).min(1).describe("IDs of the subnets of tasks"),
  serviceSecurityGroup: text.describe("ID of the security group of tasks, which must admit the load balancer"),
  listenerArn: text.describe("ARN of the load balancer's listener that routes by host name"),
  moreListenerArns: z
    .array(text)
    .optional()
    .describe("ARNs of the listeners of further load balancers: the second serves NAME.2.DOMAIN"),
  domain: text.describe(
    "Domain of services, whose subdomains must all resolve to the load balancer: a service has the host NAME.DOMAIN. Add the port if it is not the scheme's default, as in apps.example.com:8443",
  ),
  scheme: z.enum(["http", "https"]).describe("Scheme of the listener"),
  executionRoleArn: text.describe("ARN of the role that starts tasks, pulls images and writes logs"),
  permissionsBoundaryArn: text.describe("ARN of the policy that limits every account's role"),
  buildProject: text.describe("Name of the CodeBuild project that builds sources, with a separate role"),
  repository: text.describe("Name of the ECR repository for images"),
  stateBucket: text.describe("Bucket for records of deployments and volumes, and for the sources of builds"),
  filesRoleArn: text.describe("ARN of the role with which S3 Files reads and writes volumes"),
  filesSecurityGroup: text.describe("ID of the security group of mount targets"),
  logGroup: text.describe("CloudWatch log group of services"),
  scheduleGroup: text.describe("Name of the EventBridge Scheduler group of schedules"),
  schedulerRoleArn: text.describe("ARN of the role with which EventBridge Scheduler calls the function for schedules"),
  cronFunctionArn: text.describe("ARN of the function for schedules, which sends POST /cron to services"),
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
      "Maximum log reads of this server per minute. AWS allows an account 600 in most regions. With replicas, divide the limit by their number",
    ),
  imageRetentionDays: z
    .int()
    .min(1)
    .default(30)
    .describe("Days after an image's last deploy until it is deleted, if no deployment uses it"),
  athenaWorkgroup: text.optional().describe("Athena workgroup of queries; required for SQL"),
  logTable: text.optional().describe("Athena table of the log, as CATALOG.DATABASE.TABLE"),
  billingTable: text.optional().describe("Athena table of the cost and usage report, as CATALOG.DATABASE.TABLE"),
});

/** The configuration as an application passes it. Omitted settings have their defaults. */
export type AwsConfigInput = z.input<typeof awsConfigSchema> & {
  /** SDK clients to use instead of those created with the machine's credentials. */
  readonly clients?: Partial<AwsClients>;
};

/** The configuration with its defaults. `shared` contains only the configured resources. */
export type AwsSettings = z.output<typeof awsConfigSchema>;

/** `AwsSettings` with every shared resource. */
export type AwsConfig = Omit<AwsSettings, "shared"> & { readonly shared: SharedResources };

/** Applies the defaults. Throws a `ZodError` if a value is invalid. */
export const awsSettingsOf = ({ clients: _clients, ...input }: AwsConfigInput): AwsSettings =>
  awsConfigSchema.parse(input);
