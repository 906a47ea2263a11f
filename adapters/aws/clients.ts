/**
 * AWS SDK clients. Each package loads at first use, so importing this adapter loads none of them. Embedders may pass
 * their own clients.
 */
import type { ACMClient } from "@aws-sdk/client-acm";
import type { ApplicationAutoScalingClient } from "@aws-sdk/client-application-auto-scaling";
import type { AthenaClient } from "@aws-sdk/client-athena";
import type { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import type { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import type { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import type { CodeBuildClient } from "@aws-sdk/client-codebuild";
import type { ECRClient } from "@aws-sdk/client-ecr";
import type { ECSClient } from "@aws-sdk/client-ecs";
import type { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { IAMClient } from "@aws-sdk/client-iam";
import type { S3Client } from "@aws-sdk/client-s3";
import type { S3FilesClient } from "@aws-sdk/client-s3files";
import type { SchedulerClient } from "@aws-sdk/client-scheduler";
import type { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { STSClient } from "@aws-sdk/client-sts";
import { needPackages } from "../shared/runtime/optional-package.ts";

/** The SDK client of each service that the provider uses. */
export interface AwsClients {
  readonly ecs: ECSClient;
  readonly balancer: ElasticLoadBalancingV2Client;
  readonly certificates: ACMClient;
  readonly scaling: ApplicationAutoScalingClient;
  readonly builds: CodeBuildClient;
  readonly registry: ECRClient;
  readonly s3: S3Client;
  readonly files: S3FilesClient;
  readonly scheduler: SchedulerClient;
  readonly secrets: SecretsManagerClient;
  readonly logs: CloudWatchLogsClient;
  readonly metrics: CloudWatchClient;
  readonly athena: AthenaClient;
  readonly iam: IAMClient;
  readonly sts: STSClient;
  /** Reads the outputs of the stack that created the shared resources. */
  readonly stacks: CloudFormationClient;
}

/**
 * The modules of the clients' packages. Declared explicitly, because an inferred type would copy the SDK's types into
 * the published declarations.
 */
interface Sdks {
  readonly ecs: typeof import("@aws-sdk/client-ecs");
  readonly balancer: typeof import("@aws-sdk/client-elastic-load-balancing-v2");
  readonly certificates: typeof import("@aws-sdk/client-acm");
  readonly scaling: typeof import("@aws-sdk/client-application-auto-scaling");
  readonly builds: typeof import("@aws-sdk/client-codebuild");
  readonly registry: typeof import("@aws-sdk/client-ecr");
  readonly s3: typeof import("@aws-sdk/client-s3");
  readonly files: typeof import("@aws-sdk/client-s3files");
  readonly scheduler: typeof import("@aws-sdk/client-scheduler");
  readonly secrets: typeof import("@aws-sdk/client-secrets-manager");
  readonly logs: typeof import("@aws-sdk/client-cloudwatch-logs");
  readonly metrics: typeof import("@aws-sdk/client-cloudwatch");
  readonly athena: typeof import("@aws-sdk/client-athena");
  readonly iam: typeof import("@aws-sdk/client-iam");
  readonly sts: typeof import("@aws-sdk/client-sts");
  readonly stacks: typeof import("@aws-sdk/client-cloudformation");
}

/** By default, most SDK clients wait without limit for a connection or a response. */
const TIMEOUTS = { connectionTimeout: 5000, socketTimeout: 60_000 } as const;

interface Options {
  readonly region: string;
  /** Only `providerCall` retries. */
  readonly maxAttempts: 1;
  /** Timeouts in milliseconds, for the connection and for response data. */
  readonly requestHandler: typeof TIMEOUTS;
}

interface SdkPackage<Module, Client> {
  readonly name: string;
  load(): Promise<Module>;
  create(options: Options): Promise<Client>;
}

/** @param load imports the package; must call `import()` with a literal, so that bundlers find the package */
const sdk = <Module, Client>(
  name: string,
  load: () => Promise<Module>,
  clientIn: (module: Module) => new (options: Options) => Client,
): SdkPackage<Module, Client> => ({
  name,
  load,
  create: async (options) => new (clientIn(await needPackages("The provider aws", [name], load)))(options),
});

const sdks: { readonly [K in keyof AwsClients]: SdkPackage<Sdks[K], AwsClients[K]> } = {
  ecs: sdk(
    "@aws-sdk/client-ecs",
    () => import("@aws-sdk/client-ecs"),
    (module) => module.ECSClient,
  ),
  balancer: sdk(
    "@aws-sdk/client-elastic-load-balancing-v2",
    () => import("@aws-sdk/client-elastic-load-balancing-v2"),
    (module) => module.ElasticLoadBalancingV2Client,
  ),
  certificates: sdk(
    "@aws-sdk/client-acm",
    () => import("@aws-sdk/client-acm"),
    (module) => module.ACMClient,
  ),
  scaling: sdk(
    "@aws-sdk/client-application-auto-scaling",
    () => import("@aws-sdk/client-application-auto-scaling"),
    (module) => module.ApplicationAutoScalingClient,
  ),
  builds: sdk(
    "@aws-sdk/client-codebuild",
    () => import("@aws-sdk/client-codebuild"),
    (module) => module.CodeBuildClient,
  ),
  registry: sdk(
    "@aws-sdk/client-ecr",
    () => import("@aws-sdk/client-ecr"),
    (module) => module.ECRClient,
  ),
  s3: sdk(
    "@aws-sdk/client-s3",
    () => import("@aws-sdk/client-s3"),
    (module) => module.S3Client,
  ),
  files: sdk(
    "@aws-sdk/client-s3files",
    () => import("@aws-sdk/client-s3files"),
    (module) => module.S3FilesClient,
  ),
  scheduler: sdk(
    "@aws-sdk/client-scheduler",
    () => import("@aws-sdk/client-scheduler"),
    (module) => module.SchedulerClient,
  ),
  secrets: sdk(
    "@aws-sdk/client-secrets-manager",
    () => import("@aws-sdk/client-secrets-manager"),
    (module) => module.SecretsManagerClient,
  ),
  logs: sdk(
    "@aws-sdk/client-cloudwatch-logs",
    () => import("@aws-sdk/client-cloudwatch-logs"),
    (module) => module.CloudWatchLogsClient,
  ),
  metrics: sdk(
    "@aws-sdk/client-cloudwatch",
    () => import("@aws-sdk/client-cloudwatch"),
    (module) => module.CloudWatchClient,
  ),
  athena: sdk(
    "@aws-sdk/client-athena",
    () => import("@aws-sdk/client-athena"),
    (module) => module.AthenaClient,
  ),
  iam: sdk(
    "@aws-sdk/client-iam",
    () => import("@aws-sdk/client-iam"),
    (module) => module.IAMClient,
  ),
  sts: sdk(
    "@aws-sdk/client-sts",
    () => import("@aws-sdk/client-sts"),
    (module) => module.STSClient,
  ),
  stacks: sdk(
    "@aws-sdk/client-cloudformation",
    () => import("@aws-sdk/client-cloudformation"),
    (module) => module.CloudFormationClient,
  ),
};

/** Returns a service's client, which is created at first use. Throws if the client's package is not installed. */
export type ClientSource = <K extends keyof AwsClients>(name: K) => Promise<AwsClients[K]>;

/** The required SDK packages. The package for Athena is not required, because only SQL uses it. */
export const packages = [
  ...Object.values(sdks).flatMap(({ name }) => (name === sdks.athena.name ? [] : [name])),
  "@aws-sdk/s3-request-presigner",
];

/**
 * Returns a source of clients that use the machine's credentials.
 *
 * @param given clients to use instead of new ones
 */
export const clientSource = (region: string, given: Partial<AwsClients> = {}): ClientSource => {
  const created = new Map<keyof AwsClients, Promise<unknown>>();
  return <K extends keyof AwsClients>(name: K): Promise<AwsClients[K]> => {
    const known = given[name] ?? created.get(name);
    if (known !== undefined) return Promise.resolve(known as AwsClients[K] | Promise<AwsClients[K]>);
    const client = sdks[name].create({ region, maxAttempts: 1, requestHandler: TIMEOUTS });
    created.set(name, client);
    return client;
  };
};

/** The class names of a client's commands. */
export type CommandName<K extends keyof AwsClients> = Extract<keyof Sdks[K], `${string}Command`>;

/** The input of a command. */
export type InputOf<K extends keyof AwsClients, C extends CommandName<K>> = Sdks[K][C] extends new (
  ...args: never[]
) => { readonly input: infer Input }
  ? Input
  : never;

/** The output of a command. */
export type OutputOf<K extends keyof AwsClients, C extends CommandName<K>> = Sdks[K][C] extends new (
  ...args: never[]
) => {
  resolveMiddleware(...args: never[]): (...args: never[]) => Promise<{ readonly output: infer Output }>;
}
  ? Output
  : never;

/**
 * Sends one command, named by its class. Throws the SDK's errors.
 *
 * @param signal aborts the request
 */
export const sendCommand = async <K extends keyof AwsClients, C extends CommandName<K>>(
  clients: ClientSource,
  name: K,
  command: C,
  input: InputOf<K, C>,
  signal?: AbortSignal,
): Promise<OutputOf<K, C>> => {
  // The SDK's types relate a command to its client only if both are known. Here, the parameter types relate them.
  const client = (await clients(name)) as { send(command: unknown, options: object): Promise<OutputOf<K, C>> };
  const commands = (await sdks[name].load()) as Record<C, new (input: unknown) => unknown>;
  return client.send(new commands[command](input), signal === undefined ? {} : { abortSignal: signal });
};
