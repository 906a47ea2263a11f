/** A recorded command, as a line of JSON. Pure. */
import type { AwsClients } from "../../../../adapters/aws/clients.ts";

/** The adapter calls Service Quotas without a client. */
export type RecordedClient = keyof AwsClients | "quotas";

/** The name of each client's service in botocore: https://docs.aws.amazon.com/boto3/latest/reference/services/ */
export const botocoreServices: Readonly<Record<RecordedClient, string>> = {
  ecs: "ecs",
  balancer: "elbv2",
  certificates: "acm",
  scaling: "application-autoscaling",
  builds: "codebuild",
  registry: "ecr",
  s3: "s3",
  files: "s3files",
  scheduler: "scheduler",
  secrets: "secretsmanager",
  logs: "logs",
  metrics: "cloudwatch",
  athena: "athena",
  iam: "iam",
  sts: "sts",
  stacks: "cloudformation",
  quotas: "service-quotas",
};

export interface RecordedCommand {
  readonly client: RecordedClient;
  /** The command's class, such as `CreateServiceCommand`. */
  readonly command: string;
  // biome-ignore lint/suspicious/noExplicitAny: the input of any command
  readonly input: any;
}

/** The text in place of bytes and streams. */
const BODY = "(body)";

const isBody = (value: object): boolean =>
  ArrayBuffer.isView(value) || value instanceof Blob || "pipe" in value || "getReader" in value;

const plain = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (isBody(value)) return BODY;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, plain(inner)]));
};

export const encodeRecord = (client: RecordedClient, command: string, input: unknown): string =>
  JSON.stringify({ client, command, input: plain(input) } satisfies RecordedCommand);
