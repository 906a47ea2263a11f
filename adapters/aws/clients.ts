/**
 * AWS SDK clients. Each package loads at first use, so importing this adapter loads none of them. Embedders may pass
 * their own clients.
 */
import type { ApplicationAutoScalingClient } from "@aws-sdk/client-application-auto-scaling";
import type { AthenaClient } from "@aws-sdk/client-athena";
import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import type { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import type { CodeBuildClient } from "@aws-sdk/client-codebuild";
import type { ECRClient } from "@aws-sdk/client-ecr";
import type { ECSClient } from "@aws-sdk/client-ecs";
import type { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { IAMClient } from "@aws-sdk/client-iam";
import type { S3Client } from "@aws-sdk/client-s3";
import type { S3FilesClient } from "@aws-sdk/client-s3files";
import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import type { STSClient } from "@aws-sdk/client-sts";
import { needPackages } from "../shared/runtime/optional-package.ts";

export interface AwsClients {
  readonly ecs: ECSClient;
  readonly balancer: ElasticLoadBalancingV2Client;
  readonly scaling: ApplicationAutoScalingClient;
  readonly builds: CodeBuildClient;
  readonly registry: ECRClient;
  readonly s3: S3Client;
  readonly files: S3FilesClient;
  readonly scheduler: SchedulerClient;
  readonly logs: CloudWatchLogsClient;
  readonly athena: AthenaClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
  /** Reads the outputs of the stack that created the shared resources. */
  readonly stacks: CloudFormationClient;
}

/** Returns a client, created at first use. Throws if its package is not installed. */
export type ClientSource = <K extends keyof AwsClients>(name: K) => Promise<AwsClients[K]>;

const loadPackage = <T>(name: string, load: () => Promise<T>): Promise<T> =>
  needPackages("The provider aws", [name], load);

/** The SDK packages that the adapter needs: one per client, and the presigner. */
export const packages = [
  "@aws-sdk/client-ecs",
  "@aws-sdk/client-elastic-load-balancing-v2",
  "@aws-sdk/client-application-auto-scaling",
  "@aws-sdk/client-codebuild",
  "@aws-sdk/client-ecr",
  "@aws-sdk/client-s3",
  "@aws-sdk/client-s3files",
  "@aws-sdk/client-scheduler",
  "@aws-sdk/client-cloudwatch-logs",
  "@aws-sdk/client-iam",
  "@aws-sdk/client-sts",
  "@aws-sdk/client-cloudformation",
  "@aws-sdk/s3-request-presigner",
] as const;

/** Most SDK clients wait without limit for a connection or a response by default. */
const TIMEOUTS = { connectionTimeout: 5000, socketTimeout: 60_000 } as const;

interface Options {
  readonly region: string;
  /** Only `providerCall` retries. */
  readonly maxAttempts: 1;
  /** Milliseconds until a call without a connection, or without response data, fails. */
  readonly requestHandler: typeof TIMEOUTS;
}

type ClientFactories = { readonly [K in keyof AwsClients]: (options: Options) => Promise<AwsClients[K]> };

const factories: ClientFactories = {
  ecs: async (options) => {
    const { ECSClient } = await loadPackage("@aws-sdk/client-ecs", () => import("@aws-sdk/client-ecs"));
    return new ECSClient(options);
  },
  balancer: async (options) => {
    const name = "@aws-sdk/client-elastic-load-balancing-v2";
    const { ElasticLoadBalancingV2Client } = await loadPackage(
      name,
      () => import("@aws-sdk/client-elastic-load-balancing-v2"),
    );
    return new ElasticLoadBalancingV2Client(options);
  },
  scaling: async (options) => {
    const name = "@aws-sdk/client-application-auto-scaling";
    const { ApplicationAutoScalingClient } = await loadPackage(
      name,
      () => import("@aws-sdk/client-application-auto-scaling"),
    );
    return new ApplicationAutoScalingClient(options);
  },
  builds: async (options) => {
    const { CodeBuildClient } = await loadPackage(
      "@aws-sdk/client-codebuild",
      () => import("@aws-sdk/client-codebuild"),
    );
    return new CodeBuildClient(options);
  },
  registry: async (options) => {
    const { ECRClient } = await loadPackage("@aws-sdk/client-ecr", () => import("@aws-sdk/client-ecr"));
    return new ECRClient(options);
  },
  s3: async (options) => {
    const { S3Client } = await loadPackage("@aws-sdk/client-s3", () => import("@aws-sdk/client-s3"));
    return new S3Client(options);
  },
  files: async (options) => {
    const { S3FilesClient } = await loadPackage("@aws-sdk/client-s3files", () => import("@aws-sdk/client-s3files"));
    return new S3FilesClient(options);
  },
  scheduler: async (options) => {
    const { SchedulerClient } = await loadPackage(
      "@aws-sdk/client-scheduler",
      () => import("@aws-sdk/client-scheduler"),
    );
    return new SchedulerClient(options);
  },
  logs: async (options) => {
    const name = "@aws-sdk/client-cloudwatch-logs";
    const { CloudWatchLogsClient } = await loadPackage(name, () => import("@aws-sdk/client-cloudwatch-logs"));
    return new CloudWatchLogsClient(options);
  },
  athena: async (options) => {
    const { AthenaClient } = await loadPackage("@aws-sdk/client-athena", () => import("@aws-sdk/client-athena"));
    return new AthenaClient(options);
  },
  iam: async (options) => {
    const { IAMClient } = await loadPackage("@aws-sdk/client-iam", () => import("@aws-sdk/client-iam"));
    return new IAMClient(options);
  },
  sts: async (options) => {
    const { STSClient } = await loadPackage("@aws-sdk/client-sts", () => import("@aws-sdk/client-sts"));
    return new STSClient(options);
  },
  stacks: async (options) => {
    const name = "@aws-sdk/client-cloudformation";
    const { CloudFormationClient } = await loadPackage(name, () => import("@aws-sdk/client-cloudformation"));
    return new CloudFormationClient(options);
  },
};

/** @param given clients to use instead of new ones */
export const clientSource = (region: string, given: Partial<AwsClients> = {}): ClientSource => {
  const created = new Map<keyof AwsClients, Promise<unknown>>();
  return <K extends keyof AwsClients>(name: K): Promise<AwsClients[K]> => {
    const known = given[name] ?? created.get(name);
    if (known !== undefined) return Promise.resolve(known as AwsClients[K] | Promise<AwsClients[K]>);
    const client = factories[name]({ region, maxAttempts: 1, requestHandler: TIMEOUTS });
    created.set(name, client);
    return client;
  };
};
