/**
 * AWS SDK clients. Each package loads at first use, so importing this adapter loads none of them. Embedders may pass
 * their own clients.
 */
import { needPackages } from "../shared/runtime/optional-package.ts";

/** Most SDK clients wait without limit for a connection or a response by default. */
const TIMEOUTS = { connectionTimeout: 5000, socketTimeout: 60_000 } as const;

interface Options {
  readonly region: string;
  /** Only `providerCall` retries. */
  readonly maxAttempts: 1;
  /** Milliseconds until a call without a connection, or without response data, fails. */
  readonly requestHandler: typeof TIMEOUTS;
}

/** @param load imports the package. Its `import()` must have a literal, which bundlers find. */
const sdk = <Module, Client>(
  name: string,
  load: () => Promise<Module>,
  clientIn: (module: Module) => new (options: Options) => Client,
) => ({
  name,
  load,
  create: async (options: Options): Promise<Client> =>
    new (clientIn(await needPackages("The provider aws", [name], load)))(options),
});

const sdks = {
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
  logs: sdk(
    "@aws-sdk/client-cloudwatch-logs",
    () => import("@aws-sdk/client-cloudwatch-logs"),
    (module) => module.CloudWatchLogsClient,
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
  /** Reads the outputs of the stack that created the shared resources. */
  stacks: sdk(
    "@aws-sdk/client-cloudformation",
    () => import("@aws-sdk/client-cloudformation"),
    (module) => module.CloudFormationClient,
  ),
};

/** The SDK client of each service that the provider uses. */
export type AwsClients = { readonly [K in keyof typeof sdks]: Awaited<ReturnType<(typeof sdks)[K]["create"]>> };

/** The module of a client's package, which contains its commands. */
export type Sdk<K extends keyof AwsClients> = Awaited<ReturnType<(typeof sdks)[K]["load"]>>;

/** Returns a client, created at first use. Throws if its package is not installed. */
export type ClientSource = <K extends keyof AwsClients>(name: K) => Promise<AwsClients[K]>;

/** The SDK packages that the adapter needs: one per client, and the presigner. Only SQL needs Athena's. */
export const packages = [
  ...Object.values(sdks).flatMap(({ name }) => (name === sdks.athena.name ? [] : [name])),
  "@aws-sdk/s3-request-presigner",
];

const factories: { readonly [K in keyof AwsClients]: { create(options: Options): Promise<AwsClients[K]> } } = sdks;

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
    const client = factories[name].create({ region, maxAttempts: 1, requestHandler: TIMEOUTS });
    created.set(name, client);
    return client;
  };
};

/** The class names of a client's commands. */
export type CommandName<K extends keyof AwsClients> = Extract<keyof Sdk<K>, `${string}Command`>;

/** The input of a command. */
export type InputOf<K extends keyof AwsClients, C extends CommandName<K>> = Sdk<K>[C] extends new (
  ...args: never[]
) => { readonly input: infer Input }
  ? Input
  : never;

/** The output of a command. */
export type OutputOf<K extends keyof AwsClients, C extends CommandName<K>> = Sdk<K>[C] extends new (
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
  // The SDK's types relate a command to its client only if both are known. The types of the parameters do it here.
  const client = (await clients(name)) as { send(command: unknown, options: object): Promise<OutputOf<K, C>> };
  const commands = (await sdks[name].load()) as Record<C, new (input: unknown) => unknown>;
  return client.send(new commands[command](input), signal === undefined ? {} : { abortSignal: signal });
};
