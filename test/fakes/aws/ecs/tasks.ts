/** Converts a task definition to an engine revision, and the revision's end to ECS terms. */
import type { EngineRevision, RunLine } from "../../engine/engine.ts";
import type { Message } from "../protocols.ts";
import type { SecretOf } from "../secrets/server.ts";

/**
 * Variables that the local engine sets itself because services share a machine. In containers, the definition sets
 * them.
 */
const ENGINE_OWN = ["PORT", "PORTSIDE_VOLUMES"];

/** Looks up a file system's bucket and an access point's root directory by ARN. */
export interface Files {
  readonly bucketOf: (fileSystemArn: string) => string;
  readonly rootOf: (accessPointArn: string) => string;
}

const mountsOf = ({ volumes = [] }: Message, container: Message, places: Files): EngineRevision["mounts"] =>
  (container.mountPoints ?? []).map(({ sourceVolume, containerPath, readOnly = false }: Message) => {
    const files = volumes.find(({ name }: Message) => name === sourceVolume)?.s3filesVolumeConfiguration ?? {};
    const root = files.accessPointArn === undefined ? files.rootDirectory : places.rootOf(files.accessPointArn);
    const subPath = String(root ?? "/").replace(/^\//, "");
    const bucket = places.bucketOf(files.fileSystemArn);
    return { path: containerPath, bucket, readOnly, ...(subPath === "" ? {} : { subPath }) };
  });

export const engineRevisionOf = (
  service: Message,
  definition: Message,
  image: string,
  places: Files,
  isHttp2: boolean,
): EngineRevision => {
  const [{ containerName, containerPort }] = service.loadBalancers;
  const container = definition.containerDefinitions.find(({ name }: Message) => name === containerName);
  const env: [string, string][] = (container.environment ?? []).map(({ name, value }: Message) => [name, value]);
  return {
    service: service.serviceName,
    revision: service.serviceName,
    image,
    port: containerPort,
    env: Object.fromEntries(env.filter(([name]) => !ENGINE_OWN.includes(name))),
    memory: Number(definition.memory) * 1024 * 1024,
    cpu: Number(definition.cpu) / 1024,
    // The load balancer does not limit a request's duration.
    timeout: 3600,
    concurrency: 1000,
    maxInstances: 2,
    sessionAffinity: false,
    // The protocol is the target group's.
    http2: isHttp2,
    mounts: mountsOf(definition, container, places),
    // The scheduler ignores failed checks during the grace period. After that, six failed checks make a target
    // unhealthy.
    listenMillis: (service.healthCheckGracePeriodSeconds ?? 0) * 1000 + 30_000,
  };
};

/** Returns the values of a container's secrets, or why ECS cannot read one: developerguide/secrets-envvar-secrets-manager */
export const secretsOf = (
  { executionRoleArn }: Message,
  { secrets = [] }: Message,
  secretOf: SecretOf,
): { readonly values: Readonly<Record<string, string>>; readonly problem?: string } => {
  const values: Record<string, string> = {};
  for (const { name, valueFrom } of secrets) {
    const read = secretOf(executionRoleArn, valueFrom);
    if ("problem" in read) return { values: {}, problem: read.problem };
    values[name] = read.value;
  }
  return { values };
};

/** `awslogs-stream-prefix`/container/task: developerguide/specify-log-config */
export const streamOf = (definition: Message, containerName: string, taskId: string): string | undefined => {
  const container = definition.containerDefinitions.find(({ name }: Message) => name === containerName);
  const prefix = container?.logConfiguration?.options?.["awslogs-stream-prefix"];
  return prefix === undefined ? undefined : `${prefix}/${containerName}/${taskId}`;
};

export interface Ending {
  readonly stopCode: string;
  readonly stoppedReason: string;
  readonly exitCode?: number;
  readonly reason?: string;
}

export const failedChecks = (group: string): Ending => ({
  stopCode: "ServiceSchedulerInitiated",
  stoppedReason: `Task failed ELB health checks in (target-group ${group})`,
});

/** Stop codes and reasons: developerguide/stopped-task-error-codes. */
export const endingOf = (words: readonly RunLine[], group: string): Ending => {
  const essential = { stopCode: "EssentialContainerExited", stoppedReason: "Essential container in task exited" };
  const text = words.map((line) => line.text ?? "");
  if (text.some((line) => line.startsWith("Memory limit")))
    return { ...essential, exitCode: 137, reason: "OutOfMemoryError: Container killed due to memory usage" };
  const code = text.map((line) => /^Container called exit\((\d+)\)/.exec(line)?.[1]).findLast(Boolean);
  if (code !== undefined) return { ...essential, exitCode: Number(code) };
  const signal = text.map((line) => /^Container terminated on signal (\d+)/.exec(line)?.[1]).findLast(Boolean);
  // Shells report 128 plus the signal's number.
  if (signal !== undefined) return { ...essential, exitCode: 128 + Number(signal) };
  return failedChecks(group);
};

/** https://github.com/aws-samples/aws-cdk-examples/issues/920 */
export const refusedMount = (fileSystem: string): Ending => ({
  stopCode: "TaskFailedToStart",
  stoppedReason: `ResourceInitializationError: failed to invoke EFS utils commands to set up EFS volumes: stderr: b'mount.nfs4: access denied by server while mounting ${fileSystem}:/' : unsuccessful EFS utils command execution; code: 32`,
});

/** developerguide/stopped-task-error-codes, ResourceInitializationError. */
export const noSecret = (stoppedReason: string): Ending => ({ stopCode: "TaskFailedToStart", stoppedReason });

/** developerguide/stopped-task-error-codes, CannotPullContainerError. */
export const noImage = (image: string): Ending => ({
  stopCode: "TaskFailedToStart",
  stoppedReason: `CannotPullContainerError: pull image manifest has been retried 1 time(s): failed to resolve ref ${image}: not found`,
});
