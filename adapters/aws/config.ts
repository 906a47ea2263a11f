/** The configuration of the AWS provider. `docs/reference/configuration.md` and the CLI help are generated from it. */
import { z } from "zod";
import { spoolSetting } from "../shared/archives/spool-location.ts";
import { releasesKept } from "../shared/deploy/releases-kept.ts";
import type { AwsClients } from "./clients.ts";

const text = z.string().min(1);

/**
 * The resources that all deployments share. Each field except `moreListenerArns` has the same name as an output of
 * `docs/providers/aws-template.yaml`. A configured value takes precedence over the stack's output.
 */
export const sharedResourcesSchema = z.strictObject({
  cluster: text.describe("Name of the ECS cluster"),
  vpc: text.describe("ID of the VPC for tasks"),
  subnets: z.array(text).min(1).describe("IDs of the subnets for tasks"),
  serviceSecurityGroup: text.describe(
    "ID of the security group for tasks, which must allow traffic from the load balancer",
  ),
  listenerArn: text.describe("ARN of the load balancer's listener that routes by host name"),
  moreListenerArns: z
    .array(text)
    .optional()
    .describe("ARNs of the listeners of additional load balancers; the second load balancer serves NAME.2.DOMAIN"),
  domain: text.describe(
    "Domain for services, each at the host NAME.DOMAIN; all subdomains must resolve to the load balancer. Add the port if it is not the scheme's default, as in apps.example.com:8443",
  ),
  scheme: z.enum(["http", "https"]).describe("Scheme of the listener"),
  executionRoleArn: text.describe("ARN of the role that starts tasks, pulls images and writes logs"),
  permissionsBoundaryArn: text.describe("ARN of the policy that limits every account's role"),
  buildProject: text.describe("Name of the CodeBuild project that builds sources under a separate role"),
  repository: text.describe("Name of the ECR repository for images"),
  stateBucket: text.describe("Bucket for deployment records, volume records and build sources"),
  filesRoleArn: text.describe("ARN of the role that S3 Files uses to read and write volumes"),
  filesSecurityGroup: text.describe("ID of the security group for mount targets"),
  logGroup: text.describe("CloudWatch log group for services"),
  scheduleGroup: text.describe("Name of the schedule group in EventBridge Scheduler"),
  schedulerRoleArn: text.describe("ARN of the role that EventBridge Scheduler uses to call the cron function"),
  cronFunctionArn: text.describe("ARN of the cron function, which sends scheduled POST /cron requests to services"),
});

/** The names of the resources that all deployments share. */
export type SharedResources = z.output<typeof sharedResourcesSchema>;

export const awsConfigSchema = z.strictObject({
  region: text.describe("Region for services, such as eu-west-1"),
  stack: text.default("portside").describe("CloudFormation stack whose outputs name the shared resources"),
  shared: sharedResourcesSchema.partial().default({}),
  dataDir: text.describe("Folder on the server's machine for API keys and for sources waiting to be built"),
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
      "Maximum log reads per minute by this server. AWS allows 600 per account in most regions, and 300 in some. Divide that quota among all replicas",
    ),
  releasesKept,
  imageRetentionDays: z.int().min(1).default(30).describe("Days to keep an unused image after its last deploy"),
  athenaWorkgroup: text.optional().describe("Athena workgroup for queries; required for SQL"),
  logTable: text.optional().describe("Athena table that contains the log, as CATALOG.DATABASE.TABLE"),
  billingTable: text
    .optional()
    .describe("Athena table that contains the cost and usage report, as CATALOG.DATABASE.TABLE"),
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
