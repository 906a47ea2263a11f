/**
 * Renders a template as requests to ECS and the load balancer. Fields that Portside does not manage keep the values of
 * the previous revision. Pure. The models of RegisterTaskDefinition, CreateService and CreateTargetGroup describe the
 * fields.
 */
import type {
  ContainerDefinition,
  CreateServiceCommandInput,
  RegisterTaskDefinitionCommandInput,
  TaskDefinition,
  Volume,
} from "@aws-sdk/client-ecs";
import type { CreateTargetGroupCommandInput } from "@aws-sdk/client-elastic-load-balancing-v2";
import { withAliases } from "../../../core/domain/deploy/environment.ts";
import type { HealthCheck } from "../../../core/domain/deploy/health.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { BoundMount } from "../../../core/domain/volumes/mounts.ts";
import type { AwsConfig } from "../config.ts";
import { streamPrefixOf } from "../logs/streams.ts";
import { folderKey, type MountSource, pathOf } from "../volumes/files/access-point.ts";
import { taskSizeOf } from "./fargate-sizes.ts";
import { CONTAINER, familyOf, tagsOf, targetGroupNameOf } from "./records/names.ts";

export type TargetGroupInput = CreateTargetGroupCommandInput;
export type DefinitionInput = RegisterTaskDefinitionCommandInput;

/** Name prefix of the platform's volumes. Volumes with other names were added manually. */
const VOLUME_PREFIX = "portside-";

export interface DefinitionSettings {
  readonly revision: string;
  /** ARN of the account's task role. */
  readonly taskRole: string;
  /** ARN of the role that ECS uses to start the service. */
  readonly executionRole: string;
  /** The ARN of each variable's secret. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Keyed by `folderKey`. */
  readonly fileSystems: ReadonlyMap<string, MountSource>;
}

/** Returns one volume per mounted folder, and one mount point per mount. The mount point sets `readOnly`. */
const volumesOf = (mounts: readonly BoundMount[], fileSystems: ReadonlyMap<string, MountSource>) => {
  const names = new Map<string, string>();
  const volumes: Volume[] = [];
  const mountPoints = mounts.map(({ path, bucket, readOnly, subPath }) => {
    const key = folderKey(bucket, subPath);
    const name = names.get(key) ?? `${VOLUME_PREFIX}${volumes.length + 1}`;
    if (!names.has(key)) {
      names.set(key, name);
      const { fileSystem: fileSystemArn = "", accessPoint: accessPointArn } = fileSystems.get(key) ?? {};
      // An access point has its own root directory and rejects a different root directory.
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

/** The variables that the platform adds to the declared ones. */
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

/**
 * Keeps variables that are in neither the former nor the new template, because they were set manually. ECS reads the
 * values of secrets when a task starts:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/secrets-envvar-secrets-manager.html
 */
const environmentOf = (
  template: ServiceTemplate,
  secrets: ReadonlyMap<string, string>,
  present: ContainerDefinition,
  former: ServiceTemplate | undefined,
): Pick<ContainerDefinition, "environment" | "secrets"> => {
  const own = Object.entries({ ...template.env, ...ownVariables(template) });
  const before = [former?.env, former?.envAliases, former?.secrets].flatMap((one) => Object.keys(one ?? {}));
  // A rollback may restore a reference whose variable has become an alias. ECS rejects two variables of one name.
  const ownNames = new Set(own.map(([name]) => name));
  const referenced = [...secrets].filter(([name]) => !ownNames.has(name));
  const known = new Set([...ownNames, ...secrets.keys(), ...before, "PORTSIDE_VOLUMES"]);
  const isManual = ({ name }: { name?: string | undefined }) => !known.has(name ?? "");
  const references = [
    ...referenced.map(([name, valueFrom]) => ({ name, valueFrom })),
    ...(present.secrets ?? []).filter(isManual),
  ];
  return {
    environment: [...own.map(([name, value]) => ({ name, value })), ...(present.environment ?? []).filter(isManual)],
    ...(references.length === 0 && present.secrets === undefined ? {} : { secrets: references }),
  };
};

/** Removes the fields that ECS adds on registration (TaskDefinition) but rejects as input. */
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
 * @param present the existing task definition
 * @param former the template of the existing task definition
 */
export const renderDefinition = (
  { region, shared }: Pick<AwsConfig, "region" | "shared">,
  template: ServiceTemplate,
  { revision, taskRole, executionRole, secrets, fileSystems }: DefinitionSettings,
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
    executionRoleArn: executionRole,
    containerDefinitions: [
      {
        ...container,
        name: CONTAINER,
        image: template.image,
        // By default, ECS would pin the digest of the first image with the tag. After a rebuild, the source's tag
        // belongs to a different image, and the repository's lifecycle policy deletes the first one.
        versionConsistency: "disabled",
        essential: true,
        portMappings: [{ containerPort: template.port, protocol: "tcp" }],
        ...environmentOf(template, secrets, container, former),
        mountPoints: [...mountPoints, ...(container.mountPoints ?? []).filter((one) => !isOurs(one.sourceVolume))],
        logConfiguration: {
          logDriver: "awslogs",
          options: {
            "awslogs-group": shared.logGroup,
            "awslogs-region": region,
            // By default, ECS drops lines if a service prints faster than ECS sends them:
            // https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_LogConfiguration.html
            mode: "blocking",
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

const waitsForPermissions = ({ mounts, secrets = {} }: ServiceTemplate): boolean =>
  mounts.length > 0 || Object.keys(secrets).length > 0;

export interface ServiceSettings {
  readonly revision: string;
  /** The id of the rollout's first write, which is CreateService's idempotency token. */
  readonly write: string;
  /** ARN. */
  readonly definition: string;
  /** ARN. */
  readonly group: string;
  /** The former revision's number of instances. The new revision starts as many, to take over the load. */
  readonly instances: number;
  readonly listenDeadlineMs: number;
}

export const renderService = (
  { shared }: Pick<AwsConfig, "shared">,
  template: ServiceTemplate,
  { revision, write, definition, group, instances, listenDeadlineMs }: ServiceSettings,
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
    // A rollback is unnecessary, because the former revision is a separate ECS service and still has the traffic. The
    // circuit breaker trips when the number of failed tasks reaches half of the desired count, but at least 3 and at
    // most 200. With mounts or secrets, more tasks may fail before AWS applies the permissions for them. The breaker is
    // then off, and only the rollout's deadline applies:
    // https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_ServiceDeploymentCircuitBreaker.html
    deploymentCircuitBreaker: { enable: !waitsForPermissions(template), rollback: false },
  },
  networkConfiguration: {
    awsvpcConfiguration: {
      subnets: [...shared.subnets],
      securityGroups: [shared.serviceSecurityGroup],
      // Tasks need the address to pull images if the subnets have no other route to the internet. The security group
      // admits only the load balancer.
      assignPublicIp: "ENABLED",
    },
  },
  healthCheckGracePeriodSeconds: Math.ceil(listenDeadlineMs / 1000),
  tags: tagsOf({ ...template, revision }).map(([key, value]) => ({ key, value })),
  propagateTags: "SERVICE",
  enableECSManagedTags: true,
});

/**
 * The ranges of CreateTargetGroup: https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html.
 * AWS rejects a timeout that is not shorter than the interval.
 */
export const healthRanges = {
  interval: { min: 5, max: 300 },
  timeout: { min: 2, max: 120 },
  failures: { min: 2, max: 10 },
  interval_margin: 1,
};

type GroupChecks = Pick<
  TargetGroupInput,
  "HealthCheckPath" | "HealthCheckIntervalSeconds" | "HealthCheckTimeoutSeconds" | "UnhealthyThresholdCount" | "Matcher"
>;

const declaredChecks = ({ path, interval, timeout, failures }: HealthCheck): GroupChecks => ({
  HealthCheckPath: path,
  HealthCheckIntervalSeconds: interval,
  HealthCheckTimeoutSeconds: timeout,
  UnhealthyThresholdCount: failures,
  Matcher: { HttpCode: "200-399" },
});

/** The checks of a service without `health`. The load balancer has no TCP check, so the checks send HTTP requests. */
const defaultChecks: GroupChecks = {
  HealthCheckPath: "/",
  HealthCheckIntervalSeconds: 5,
  HealthCheckTimeoutSeconds: 4,
  UnhealthyThresholdCount: 6,
  // Any response except 5xx shows that the service listens. This is the widest range that AWS accepts.
  Matcher: { HttpCode: "200-499" },
};

const checkNames = Object.keys(defaultChecks) as (keyof GroupChecks)[];

/** Keeps settings that were changed manually, unless the service declares a check. */
const checksOf = (
  { health }: ServiceTemplate,
  present: Partial<TargetGroupInput>,
  former: ServiceTemplate | undefined,
): Partial<TargetGroupInput> => {
  // A check that only the former template declares is not a manual change.
  const changed = health === undefined && former?.health === undefined ? present : {};
  const manual = Object.fromEntries(checkNames.flatMap((name) => (changed[name] ? [[name, changed[name]]] : [])));
  const checks = health === undefined ? { ...defaultChecks, ...manual } : declaredChecks(health);
  // The threshold applies only to recovery: a new target "must pass one health check to be considered healthy",
  // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/target-group-health-checks.html
  return { ...checks, HealthyThresholdCount: present.HealthyThresholdCount ?? 2 };
};

export const renderTargetGroup = (
  { shared }: Pick<AwsConfig, "shared">,
  template: ServiceTemplate,
  revision: string,
  present: Partial<TargetGroupInput> = {},
  former?: ServiceTemplate,
): TargetGroupInput => ({
  Name: targetGroupNameOf(revision),
  TargetType: "ip",
  Protocol: "HTTP",
  ProtocolVersion: template.useHttp2 ? "HTTP2" : "HTTP1",
  Port: template.port,
  VpcId: shared.vpc,
  ...checksOf(template, present, former),
  Tags: tagsOf({ ...template, revision }).map(([Key, Value]) => ({ Key, Value })),
});

/** One day: the lifetime of the load balancer's cookie (TargetGroupAttribute). */
const STICKY_SECONDS = 86_400;

export const attributesOf = ({ timeout, sessionAffinity }: ServiceTemplate): Readonly<Record<string, string>> => ({
  // A stopping instance may finish its requests, up to the request timeout.
  "deregistration_delay.timeout_seconds": String(timeout),
  "load_balancing.algorithm.type": "least_outstanding_requests",
  "stickiness.enabled": String(sessionAffinity),
  ...(sessionAffinity
    ? { "stickiness.type": "lb_cookie", "stickiness.lb_cookie.duration_seconds": String(STICKY_SECONDS) }
    : {}),
});
