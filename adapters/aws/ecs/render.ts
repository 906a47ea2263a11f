/**
 * A template as what ECS and the load balancer take, over what stands there: what a template does not speak of stays as
 * it was, whoever set it. Pure. Fields: RegisterTaskDefinition, CreateService and CreateTargetGroup of the models.
 */
import type {
  ContainerDefinition,
  CreateServiceCommandInput,
  RegisterTaskDefinitionCommandInput,
  TaskDefinition,
  Volume,
} from "@aws-sdk/client-ecs";
import type { CreateTargetGroupCommandInput } from "@aws-sdk/client-elastic-load-balancing-v2";
import { withAliases } from "../../../core/domain/environment.ts";
import type { BoundMount } from "../../../core/domain/mounts.ts";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import type { AwsConfig } from "../config.ts";
import { folderKey, type MountedFrom, pathOf } from "../files/access-point.ts";
import { streamPrefixOf } from "../log-streams.ts";
import { CONTAINER, familyOf, tagsOf, targetGroupNameOf } from "./names.ts";
import { taskSizeOf } from "./sizes.ts";

export type TargetGroupInput = CreateTargetGroupCommandInput;
export type DefinitionInput = RegisterTaskDefinitionCommandInput;

/** Volumes with this name are ours; all others were put there by hand. */
const VOLUME_PREFIX = "portside-";

export interface DefinitionNeeds {
  readonly revision: string;
  /** ARN of the account's task role. */
  readonly taskRole: string;
  /** By `folderKey`. */
  readonly fileSystems: ReadonlyMap<string, MountedFrom>;
}

/** One volume for each folder of a bucket that is mounted: whether it may be written is the mount point's. */
const volumesOf = (mounts: readonly BoundMount[], fileSystems: ReadonlyMap<string, MountedFrom>) => {
  const names = new Map<string, string>();
  const volumes: Volume[] = [];
  const mountPoints = mounts.map(({ path, bucket, readOnly, subPath }) => {
    const key = folderKey(bucket, subPath);
    const name = names.get(key) ?? `${VOLUME_PREFIX}${volumes.length + 1}`;
    if (!names.has(key)) {
      names.set(key, name);
      const { fileSystem: fileSystemArn = "", accessPoint: accessPointArn } = fileSystems.get(key) ?? {};
      // An access point has a root directory of its own, and takes no other.
      const folder =
        accessPointArn !== undefined
          ? { accessPointArn }
          : subPath === undefined
            ? {}
            : { rootDirectory: pathOf(subPath) };
      volumes.push({ name, s3filesVolumeConfiguration: { fileSystemArn, ...folder } });
    }
    return { sourceVolume: name, containerPath: path, readOnly };
  });
  return { volumes, mountPoints };
};

/** What the platform says to the service beside what was declared (contract 4.1, 4.5, 5.2). */
const ownVariables = ({ port, cronToken, mounts, envAliases }: ServiceTemplate): Readonly<Record<string, string>> =>
  withAliases(
    {
      PORT: String(port),
      CRON_TOKEN: cronToken,
      ...(mounts.length === 0
        ? {}
        : { PORTSIDE_VOLUMES: JSON.stringify(Object.fromEntries(mounts.map(({ path, bucket }) => [path, bucket]))) }),
    },
    envAliases,
  );

/** Variables that neither the former nor the new declaration names were set by hand. */
const environmentOf = (
  template: ServiceTemplate,
  present: ContainerDefinition,
  former: ServiceTemplate | undefined,
) => {
  const own = Object.entries({ ...template.env, ...ownVariables(template) });
  const before = [...Object.keys(former?.env ?? {}), ...Object.keys(former?.envAliases ?? {})];
  const known = new Set([...own.map(([name]) => name), ...before, "PORTSIDE_VOLUMES"]);
  const byHand = (present.environment ?? []).filter(({ name }) => !known.has(name ?? ""));
  return [...own.map(([name, value]) => ({ name, value })), ...byHand];
};

/** What ECS adds to a definition when it is registered (TaskDefinition), and does not take back. */
const asInput = ({
  taskDefinitionArn: _arn,
  revision: _revision,
  status: _status,
  requiresAttributes: _attributes,
  compatibilities: _compatibilities,
  registeredAt: _registered,
  deregisteredAt: _deregistered,
  registeredBy: _by,
  ...input
}: TaskDefinition) => input;

const isOurs = (name: string | undefined): boolean => name?.startsWith(VOLUME_PREFIX) === true;

/**
 * @param present the definition that stands there
 * @param former the declaration that it was rendered from
 */
export const renderDefinition = (
  { region, shared }: Pick<AwsConfig, "region" | "shared">,
  template: ServiceTemplate,
  { revision, taskRole, fileSystems }: DefinitionNeeds,
  present: TaskDefinition = {},
  former?: ServiceTemplate,
): DefinitionInput => {
  const containers = present.containerDefinitions ?? [];
  const container = containers.find(({ name }) => name === CONTAINER) ?? {};
  const { volumes, mountPoints } = volumesOf(template.mounts, fileSystems);
  return {
    ...asInput(present),
    family: familyOf(template.owner, revision),
    requiresCompatibilities: ["FARGATE"],
    networkMode: "awsvpc",
    ...taskSizeOf(template),
    taskRoleArn: taskRole,
    executionRoleArn: shared.executionRoleArn,
    containerDefinitions: [
      {
        ...container,
        name: CONTAINER,
        image: template.image,
        // A tag is a source's digest: whatever was built of it will do. ECS would hold on to the very bytes that it had
        // first, and after another build of that source no tag holds those, until the repository clears them away.
        versionConsistency: "disabled",
        essential: true,
        portMappings: [{ containerPort: template.port, protocol: "tcp" }],
        environment: environmentOf(template, container, former),
        mountPoints: [...mountPoints, ...(container.mountPoints ?? []).filter((one) => !isOurs(one.sourceVolume))],
        logConfiguration: {
          logDriver: "awslogs",
          options: {
            "awslogs-group": shared.logGroup,
            "awslogs-region": region,
            "awslogs-stream-prefix": `${streamPrefixOf(template.owner, template.name)}${revision}`,
          },
        },
      },
      ...containers.filter(({ name }) => name !== CONTAINER),
    ],
    volumes: [...volumes, ...(present.volumes ?? []).filter(({ name }) => !isOurs(name))],
    tags: tagsOf({ ...template, revision }).map(([key, value]) => ({ key, value })),
  };
};

export interface ServiceNeeds {
  readonly revision: string;
  /** The write that makes it: CreateService's idempotency token. */
  readonly write: string;
  /** ARN. */
  readonly definition: string;
  /** ARN. */
  readonly group: string;
  /** As many as the revision before it has, so that it can take over its load. */
  readonly instances: number;
  /** Milliseconds. */
  readonly listenDeadline: number;
}

export const renderService = (
  { shared }: Pick<AwsConfig, "shared">,
  template: ServiceTemplate,
  { revision, write, definition, group, instances, listenDeadline }: ServiceNeeds,
): CreateServiceCommandInput => ({
  cluster: shared.cluster,
  serviceName: revision,
  clientToken: write,
  taskDefinition: definition,
  launchType: "FARGATE",
  desiredCount: instances,
  loadBalancers: [{ targetGroupArn: group, containerName: CONTAINER, containerPort: template.port }],
  deploymentConfiguration: {
    minimumHealthyPercent: 100,
    maximumPercent: 200,
    // There is nothing in this service to roll back to: what served before is another one, and has the traffic.
    deploymentCircuitBreaker: { enable: true, rollback: false },
  },
  networkConfiguration: {
    awsvpcConfiguration: {
      subnets: [...shared.subnets],
      securityGroups: [shared.serviceSecurityGroup],
      // Images are pulled over it where the subnets have no other way out; the security group lets only the balancer in.
      assignPublicIp: "ENABLED",
    },
  },
  healthCheckGracePeriodSeconds: Math.ceil(listenDeadline / 1000),
  tags: tagsOf({ ...template, revision }).map(([key, value]) => ({ key, value })),
  propagateTags: "SERVICE",
  enableECSManagedTags: true,
});

/** Health checks that somebody changed by hand stay as they are. */
const checksOf = (present: Partial<TargetGroupInput>): Partial<TargetGroupInput> => ({
  HealthCheckPath: present.HealthCheckPath ?? "/",
  HealthCheckIntervalSeconds: present.HealthCheckIntervalSeconds ?? 5,
  HealthCheckTimeoutSeconds: present.HealthCheckTimeoutSeconds ?? 4,
  HealthyThresholdCount: present.HealthyThresholdCount ?? 2,
  UnhealthyThresholdCount: present.UnhealthyThresholdCount ?? 6,
  // The load balancer checks by HTTP alone. Whoever answers listens, unless it says that it is broken; "the range is 200-499".
  Matcher: { HttpCode: present.Matcher?.HttpCode ?? "200-499" },
});

export const renderTargetGroup = (
  { shared }: Pick<AwsConfig, "shared">,
  template: ServiceTemplate,
  revision: string,
  present: Partial<TargetGroupInput> = {},
): TargetGroupInput => ({
  Name: targetGroupNameOf(revision),
  TargetType: "ip",
  Protocol: "HTTP",
  ProtocolVersion: template.useHttp2 ? "HTTP2" : "HTTP1",
  Port: template.port,
  VpcId: shared.vpc,
  ...checksOf(present),
  Tags: tagsOf({ ...template, revision }).map(([Key, Value]) => ({ Key, Value })),
});

/** A day: a cookie of the load balancer's own lasts this long (TargetGroupAttribute). */
const STICKY_SECONDS = 86_400;

export const attributesOf = ({ timeout, sessionAffinity }: ServiceTemplate): Readonly<Record<string, string>> => ({
  // Requests that an instance has when it is to go are waited for, as long as they may take.
  "deregistration_delay.timeout_seconds": String(timeout),
  "load_balancing.algorithm.type": "least_outstanding_requests",
  "stickiness.enabled": String(sessionAffinity),
  ...(sessionAffinity
    ? { "stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": String(STICKY_SECONDS) }
    : {}),
});
