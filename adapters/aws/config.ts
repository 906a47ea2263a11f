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
  cluster: text.describe("The name of the ECS cluster."),
  vpc: text.describe("The id of the VPC that tasks run in."),
  subnets: z.array(text).min(1).describe("The ids of the subnets that tasks run in."),
  serviceSecurityGroup: text.describe("The id of the security group of tasks; the load balancer may reach it."),
  listenerArn: text.describe("The ARN of the load balancer's listener that routes by host name."),
  domain: text.describe(
    "The domain whose every sub-domain is the load balancer: a service answers at NAME.DOMAIN. With a port, as in apps.example.com:8443, where the listener's is not its scheme's own.",
  ),
  scheme: z.enum(["http", "https"]).describe("What the listener speaks."),
  executionRoleArn: text.describe("The ARN of the role that starts tasks: it pulls images and writes logs."),
  permissionsBoundaryArn: text.describe("The ARN of the policy that no account's role can go beyond."),
  buildProject: text.describe("The name of the CodeBuild project that builds sources, with its own role."),
  repository: text.describe("The name of the ECR repository that holds the images."),
  stateBucket: text.describe("The bucket of sources on their way to a build, and of claims on names."),
  filesRoleArn: text.describe("The ARN of the role by which S3 Files reads and writes volumes."),
  filesSecurityGroup: text.describe("The id of the security group of mount targets."),
  logGroup: text.describe("The CloudWatch log group of services."),
  schedulerRoleArn: text.describe("The ARN of the role by which EventBridge Scheduler fires."),
  cronFunctionArn: text.describe("The ARN of the function that brings a fire to its service."),
});

export type SharedResources = z.output<typeof sharedResourcesSchema>;

export const awsConfigSchema = z.strictObject({
  region: text.describe("Where services run, e.g. eu-west-1."),
  stack: text.default("portside").describe("The CloudFormation stack whose outputs name the shared parts."),
  shared: sharedResourcesSchema.partial().default({}),
  dataDir: text.describe(
    "The folder that holds what the platform keeps on its own machine: sources on their way, and keys.",
  ),
  sourceSpool: spoolSetting,
  settleSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(10)
    .describe("How long an entry may take to show in CloudWatch Logs."),
  logReadsPerMinute: z
    .int()
    .min(1)
    .default(300)
    .describe("Reads of the log that this server may make a minute; with replicas, the account's 300 by their number."),
  athenaWorkgroup: text.optional().describe("The Athena work group that SQL runs in; SQL needs it."),
  logTable: text.optional().describe("The table of the log in Athena, as CATALOG.DATABASE.TABLE."),
  billingTable: text
    .optional()
    .describe("The table of the cost and usage report in Athena, as CATALOG.DATABASE.TABLE."),
});

export type AwsConfigInput = z.input<typeof awsConfigSchema> & {
  /** SDK clients to use instead of those created with the machine's credentials. */
  readonly clients?: Partial<AwsClients>;
};

/** Defaults applied. Of the shared resources, it holds only the configured ones. */
export type AwsSettings = z.output<typeof awsConfigSchema>;

/** `AwsSettings` with every shared resource. */
export type AwsConfig = Omit<AwsSettings, "shared"> & { readonly shared: SharedResources };

/** Throws a `ZodError` if a value is invalid. */
export const awsSettingsOf = ({ clients: _clients, ...input }: AwsConfigInput): AwsSettings =>
  awsConfigSchema.parse(input);
