/** Validates task definitions and services, from the comments of the model and the pages that they reference. */
import type { Message } from "../protocols.ts";
import { AwsError } from "../server.ts";
import { tagProblem } from "../tags.ts";

const client = (message: string): never => {
  throw new AwsError("ClientException", message);
};
const parameter = (message: string): never => {
  throw new AwsError("InvalidParameterException", message);
};

const range = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

/** MiB by CPU units: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html */
const sizes: Readonly<Record<string, readonly number[]>> = {
  256: [512, 1024, 2048],
  512: range(1024, 4096, 1024),
  1024: range(2048, 8192, 1024),
  2048: range(4096, 16_384, 1024),
  4096: range(8192, 30_720, 1024),
  8192: range(16_384, 61_440, 4096),
  16384: range(32_768, 122_880, 8192),
};

const NAME = /^[A-Za-z0-9_-]{1,255}$/;

const checkFiles = (files: Message): void => {
  if (!/^arn:[^:]+:s3files:/.test(files.fileSystemArn ?? "")) client("A file system's full ARN is required.");
  // S3FilesVolumeConfiguration: "the root directory parameter must either be omitted or set to /"
  if (files.accessPointArn !== undefined && (files.rootDirectory ?? "/") !== "/")
    client("An access point takes no root directory.");
};

/** "Transit encryption and task IAM role mandatory": developerguide/s3files-volumes */
const checkVolumes = ({ volumes = [], taskRoleArn, containerDefinitions }: Message): void => {
  const names = new Set(volumes.map(({ name }: Message) => name));
  for (const { name, s3filesVolumeConfiguration: files } of volumes) {
    if (!NAME.test(name ?? "")) client("Volume name should not be empty.");
    if (files === undefined) continue;
    checkFiles(files);
    if (!taskRoleArn) client("A task role is required for S3 Files volumes.");
  }
  for (const { mountPoints = [] } of containerDefinitions)
    for (const { sourceVolume } of mountPoints)
      if (!names.has(sourceVolume)) client(`Unknown volume '${sourceVolume}'.`);
};

/**
 * A name may belong to only one secret or variable: https://github.com/dagster-io/dagster/issues/11622. `valueFrom` is "the full
 * ARN of the Secrets Manager secret" (Secret), which requires an execution role.
 */
const checkSecrets = ({ secrets = [], environment = [] }: Message, { executionRoleArn }: Message): void => {
  const names = [...secrets, ...environment].map(({ name }: Message) => name);
  if (secrets.length > 0 && new Set(names).size < names.length)
    client("The secret name must be unique and not shared with any new or existing environment variables.");
  for (const { valueFrom = "" } of secrets)
    if (!/^arn:[^:]+:secretsmanager:[^:]+:\d+:secret:[^:]+$/.test(valueFrom)) client("Invalid secret ARN.");
  if (secrets.length > 0 && !executionRoleArn) client("An execution role is required for secrets.");
};

export const checkTags = (tags: readonly Message[] = []): void => {
  const problem = tagProblem(tags.map(({ key = "", value = "" }) => [key, value]));
  if (problem !== undefined) parameter(problem);
};

export const checkDefinition = (input: Message): void => {
  if (!NAME.test(input.family ?? "")) client("Family contains invalid characters.");
  const containers: Message[] = input.containerDefinitions ?? [];
  // "Task definition size limit": 64 KB, developerguide/service-quotas.
  if (JSON.stringify(input).length > 64 * 1024) client("Actual length of the task definition exceeds its maximum.");
  if (containers.length === 0) client("Container list cannot be empty.");
  if (!input.requiresCompatibilities?.includes("FARGATE")) return;
  if (input.networkMode !== "awsvpc") client("Fargate only supports network mode 'awsvpc'.");
  if (sizes[input.cpu]?.includes(Number(input.memory)) !== true)
    client("No Fargate configuration exists for given values.");
  if (containers.some(({ logConfiguration }) => logConfiguration?.logDriver === "awslogs") && !input.executionRoleArn)
    client("Fargate requires task definition to have execution role ARN to support log driver awslogs.");
  for (const { portMappings = [] } of containers)
    for (const { containerPort, hostPort } of portMappings)
      if (hostPort !== undefined && hostPort !== containerPort)
        client("When networkMode=awsvpc, the host ports and container ports in port mappings must match.");
  checkVolumes(input);
  for (const container of containers) checkSecrets(container, input);
};

export const checkService = (input: Message, definition: Message): void => {
  checkTags(input.tags);
  if (!NAME.test(input.serviceName ?? "")) parameter("Invalid service name.");
  if (!/^[\x21-\x7e]{0,36}$/.test(input.clientToken ?? "")) parameter("clientToken is not valid.");
  if (input.networkConfiguration?.awsvpcConfiguration?.subnets?.length === 0) parameter("subnets can not be empty.");
  if (input.networkConfiguration === undefined)
    parameter("Network Configuration must be provided when networkMode 'awsvpc' is specified.");
  for (const { containerName, containerPort } of input.loadBalancers ?? []) {
    const container = definition.containerDefinitions.find(({ name }: Message) => name === containerName);
    if (!container?.portMappings?.some((one: Message) => one.containerPort === containerPort))
      parameter(`The container ${containerName} did not have a container port ${containerPort} defined.`);
  }
};
