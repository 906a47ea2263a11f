/** The configuration that tests of the adapter begin with. */
import type { AwsConfig } from "../../../adapters/aws/config.ts";
import { ACCOUNT, REGION } from "./server.ts";

/** Of IAM's own there is no region. */
const arn = (service: string, rest: string) =>
  `arn:aws:${service}:${service === "iam" ? "" : REGION}:${ACCOUNT}:${rest}`;

export const awsConfig: AwsConfig = {
  region: REGION,
  stack: "portside",
  dataDir: "/nonexistent",
  settleSeconds: 0,
  logReadsPerMinute: 1_000_000,
  shared: {
    cluster: "portside",
    vpc: "vpc-0a1b2c3d",
    subnets: ["subnet-0a1b2c3d", "subnet-1a2b3c4d"],
    serviceSecurityGroup: "sg-0a1b2c3d",
    listenerArn: arn("elasticloadbalancing", "listener/app/portside/0a1b2c3d4e5f6071/0a1b2c3d4e5f6072"),
    domain: "example.com",
    scheme: "http",
    executionRoleArn: arn("iam", "role/portside-execution"),
    permissionsBoundaryArn: arn("iam", "policy/portside-boundary"),
    buildProject: "portside-build",
    repository: "portside",
    stateBucket: "portside-state",
    filesRoleArn: arn("iam", "role/portside-files"),
    filesSecurityGroup: "sg-1a2b3c4d",
    logGroup: "/portside/services",
    schedulerRoleArn: arn("iam", "role/portside-scheduler"),
    cronFunctionArn: arn("lambda", "function:portside-cron"),
  },
};
