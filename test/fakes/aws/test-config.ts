/** The provider's configuration in tests, without clients. */
import type { AwsConfig } from "../../../adapters/aws/config.ts";

export const ACCOUNT = "123456789012";
export const REGION = "eu-west-1";
export const STATE_BUCKET = "portside-state-123456789012";

export const awsConfig: AwsConfig = {
  region: REGION,
  stack: "portside",
  dataDir: "/nonexistent",
  sourceSpool: "disk",
  settleSeconds: 0,
  logReadsPerMinute: 1_000_000,
  releasesKept: 10,
  imageRetentionDays: 30,
  athenaWorkgroup: undefined,
  logTable: undefined,
  billingTable: undefined,
  shared: {
    cluster: "portside",
    vpc: "vpc-0123456789abcdef0",
    subnets: ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    serviceSecurityGroup: "sg-0123456789abcdef0",
    listenerArn: `arn:aws:elasticloadbalancing:${REGION}:${ACCOUNT}:listener/app/portside/50dc6c495c0c9188/f2f7dc8efc522ab2`,
    domain: "apps.example.com",
    scheme: "http",
    executionRoleArn: `arn:aws:iam::${ACCOUNT}:role/portside-execution`,
    permissionsBoundaryArn: `arn:aws:iam::${ACCOUNT}:policy/portside-boundary`,
    buildProject: "portside",
    repository: "portside",
    stateBucket: STATE_BUCKET,
    filesRoleArn: `arn:aws:iam::${ACCOUNT}:role/portside-files`,
    filesSecurityGroup: "sg-0123456789abcdef1",
    logGroup: "/portside/services",
    scheduleGroup: "portside",
    schedulerRoleArn: `arn:aws:iam::${ACCOUNT}:role/portside-scheduler`,
    cronFunctionArn: `arn:aws:lambda:${REGION}:${ACCOUNT}:function:portside-cron`,
  },
};
