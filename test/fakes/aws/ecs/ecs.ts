/**
 * A fake ECS that stores task definitions and services and runs them on an engine. Sources: the model of client-ecs
 * with its comments, and the developer guide. Behaviour without a source is marked as an assumption.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { ECSClient } from "@aws-sdk/client-ecs";
import type { RunEngine, RunLine } from "../../engine/engine.ts";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse } from "../adverse.ts";
import { ecsBuckets, limitRates } from "../call-rates.ts";
import type { FakeBalancer } from "../elbv2/balancer.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import type { SecretOf } from "../secrets/server.ts";
import { AwsError, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";
import {
  type Ending,
  endingOf,
  engineRevisionOf,
  type Files,
  failedChecks,
  noImage,
  noSecret,
  refusedMount,
  secretsOf,
  streamOf,
} from "./tasks.ts";
import { checkDefinition, checkService, checkTags } from "./validation.ts";

export const CLUSTER = "portside";
const ARN = `arn:aws:ecs:${REGION}:${ACCOUNT}`;

interface Task {
  readonly arn: string;
  readonly id: string;
  status: "PENDING" | "RUNNING" | "STOPPED";
  ending?: Ending;
}

interface Stored {
  readonly input: Message;
  readonly name: string;
  readonly definition: Message;
  readonly group: string;
  readonly tasks: Task[];
  status: "ACTIVE" | "DRAINING" | "INACTIVE";
  desired: number;
  failed: number;
  rollout: "IN_PROGRESS" | "COMPLETED" | "FAILED";
  isWell: boolean;
  /** DescribeServices calls until the service is visible. */
  hidden: number;
  readonly events: { readonly message: string }[];
}

/** A line that a container wrote, with its log stream. */
export interface TaskLine {
  readonly group: string;
  readonly stream: string;
  readonly line: RunLine;
}

export interface FakeEcsOptions {
  readonly balancer: FakeBalancer;
  readonly engine: (onLine: (line: RunLine) => void) => RunEngine | Promise<RunEngine>;
  /** The engine's name for an image reference; undefined: no such image. */
  readonly resolveImage: (reference: string) => string | undefined;
  readonly onLine?: (line: TaskLine) => void;
  readonly files?: Files;
  /** Whether a role can be passed to ECS yet. */
  readonly canPass?: (role: string) => boolean;
  /** Whether ECS can assume its service-linked role yet. */
  readonly canAssume?: () => boolean;
  /** Whether a file system, given by ARN, allows mounts yet. */
  readonly canMount?: (fileSystem: string) => boolean;
  /** The value of a secret, given by ARN, for an execution role; defaults to no secrets. */
  readonly secretOf?: SecretOf;
  readonly adverse?: AdverseBehaviors;
  /** The time in milliseconds; defaults to the machine's. */
  readonly now?: () => number;
}

/** "The circuit breaker ... minimum threshold 3": developerguide/deployment-circuit-breaker */
const BREAKER = 3;
/** The shortest time between a task that cannot start and the next one. Assumption: ECS documents only the longest. */
const RESTART_MS = 20_000;

/** https://docs.aws.amazon.com/AmazonECS/latest/developerguide/service-unhealthy-event-messages.html */
const unhealthyEvent = ({ name, group, input }: Stored, task: string, reason: string): string =>
  `(service ${name}) (task ${task}) (port ${input.loadBalancers[0].containerPort}) is unhealthy in (target-group ${group}) due to (reason ${reason})`;

const lastPart = (name: string): string => name.split("/").at(-1) ?? "";

export const startFakeEcs = async (options: FakeEcsOptions) => {
  const { balancer, resolveImage, onLine, files = { bucketOf: lastPart, rootOf: () => "/" } } = options;
  const {
    canPass = () => true,
    canAssume = () => true,
    canMount = () => true,
    secretOf = () => ({ problem: "ResourceInitializationError: unable to retrieve secret from asm" }),
    now = Date.now,
    adverse = noneAdverse,
  } = options;
  const faults = new Faults();
  const rates = limitRates(ecsBuckets, adverse.has("call_rates"), now);
  const definitions = new Map<string, Message>();
  const services = new Map<string, Stored>();
  /**
   * "The Amazon ECS API follows an eventual consistency model" (API_RunTask): how many calls of each kind return stale
   * data.
   */
  const settings = { looksUntilVisible: 0, triesUntilAssociated: 0, listsUntilTasks: 0, listsUntilInactive: 0 };
  /** How long a task takes until it runs, and then until it is healthy, in milliseconds. */
  const startMillis = { pending: 0, unhealthy: 0 };
  const words: RunLine[] = [];

  const engine = await options.engine((line) => {
    if (line.log === "varlog/system") return void words.push(line);
    const stored = services.get(line.service);
    if (stored === undefined) return;
    const { containerName } = stored.input.loadBalancers[0];
    const stream = streamOf(stored.definition, containerName, stored.tasks.at(-1)?.id ?? "");
    const group = stored.definition.containerDefinitions[0].logConfiguration?.options?.["awslogs-group"];
    if (stream !== undefined) onLine?.({ group, stream, line });
  });

  const definition = (named: string): Message => {
    const id = lastPart(named);
    const found =
      definitions.get(id) ?? [...definitions.values()].findLast((one) => one.family === id && one.status === "ACTIVE");
    if (found === undefined) throw new AwsError("ClientException", "Unable to describe task definition.");
    return found;
  };

  const cluster = (given: string | undefined): void => {
    if (lastPart(given ?? "default") !== CLUSTER) throw new AwsError("ClusterNotFoundException", "Cluster not found.");
  };

  const setTargets = ({ group, tasks }: Stored, state: "initial" | "healthy" | "draining" | undefined): void => {
    for (const { id } of tasks) balancer.setTarget(group, id, state);
  };

  const startTasks = (stored: Stored): Task[] =>
    Array.from({ length: Math.max(stored.desired, 1) }, () => {
      const id = randomUUID().replaceAll("-", "");
      const task: Task = { arn: `${ARN}:task/${CLUSTER}/${id}`, id, status: "PENDING" };
      stored.tasks.push(task);
      return task;
    });

  const fail = (stored: Stored, tasks: readonly Task[], ending: Ending): void => {
    for (const task of tasks) Object.assign(task, { status: "STOPPED", ending });
    for (const { id } of tasks) balancer.setTarget(stored.group, id, undefined);
    stored.failed += tasks.length;
    stored.events.unshift({ message: `(service ${stored.name}) is unable to consistently start tasks successfully.` });
  };

  /** Waits until `millis` have passed on the shared clock, or until `isWanted` returns false. */
  const pass = async (millis: number, isWanted = () => true): Promise<void> => {
    const end = now() + millis;
    while (isWanted() && now() < end) await pause(1, undefined, { ref: false });
  };

  /**
   * Checks the tasks' health as the load balancer does. Returns false once the grace period has ended and they are
   * unhealthy, or once the service is deleted.
   */
  const becomesHealthy = async (stored: Stored, tasks: readonly Task[], graceEnds: number): Promise<boolean> => {
    const { intervalMillis, failures } = balancer.checksOf(stored.group);
    for (let failed = 1; stored.status === "ACTIVE"; failed++) {
      const detail = await balancer.check(stored.group, await engine.url(stored.name));
      if (detail === undefined) return stored.status === "ACTIVE";
      const isUnhealthy = failed >= failures;
      if (isUnhealthy) for (const { id } of tasks) balancer.setTarget(stored.group, id, "unhealthy", detail);
      if (isUnhealthy && now() >= graceEnds) {
        stored.events.unshift(...tasks.map(({ id }) => ({ message: unhealthyEvent(stored, id, detail.Description) })));
        return false;
      }
      await pass(intervalMillis, () => stored.status === "ACTIVE");
    }
    return false;
  };

  /** Returns the file system whose mount is refused; undefined if there is none. */
  const refusedFileSystem = ({ definition: { volumes = [] } }: Stored): string | undefined =>
    volumes
      .map((volume: Message) => volume.s3filesVolumeConfiguration?.fileSystemArn)
      .find((fileSystem: string | undefined) => fileSystem !== undefined && !canMount(fileSystem));

  /** Returns why a container cannot start; undefined if it can. */
  const cannotStart = (
    stored: Stored,
    container: Message,
    image: string,
    { problem }: ReturnType<typeof secretsOf>,
  ): Ending | undefined => {
    if (image === "") return noImage(container.image);
    const refused = refusedFileSystem(stored);
    if (refused !== undefined) return refusedMount(refused);
    return problem === undefined ? undefined : noSecret(problem);
  };

  /** Tries once to start the service. Returns whether it is healthy. */
  const attempt = async (stored: Stored): Promise<boolean> => {
    const tasks = startTasks(stored);
    const container = stored.definition.containerDefinitions.find(
      ({ name }: Message) => name === stored.input.loadBalancers[0].containerName,
    );
    const image = resolveImage(container.image) ?? "";
    const secrets = secretsOf(stored.definition, container, secretOf);
    const ending = cannotStart(stored, container, image, secrets);
    if (ending !== undefined) {
      fail(stored, tasks, ending);
      return false;
    }
    await pass(startMillis.pending);
    for (const task of tasks) task.status = "RUNNING";
    setTargets(stored, "initial");
    const graceEnds = now() + (stored.input.healthCheckGracePeriodSeconds ?? 0) * 1000;
    const since = words.length;
    const isHttp2 = balancer.isHttp2(stored.group);
    const revision = engineRevisionOf(stored.input, stored.definition, image, files, isHttp2);
    const listens = await engine.start({ ...revision, env: { ...revision.env, ...secrets.values } });
    if (listens) await pass(startMillis.unhealthy);
    if (stored.status !== "ACTIVE") return false;
    if (!listens) {
      const own = words.slice(since).filter(({ service }) => service === stored.name);
      fail(stored, tasks, endingOf(own, stored.group));
      return false;
    }
    await engine.serve(stored.name, stored.name);
    if (!(await becomesHealthy(stored, tasks, graceEnds))) {
      if (stored.status === "ACTIVE") fail(stored, tasks, failedChecks(stored.group));
      return false;
    }
    for (const { id } of tasks) balancer.setTarget(stored.group, id, "healthy");
    stored.isWell = true;
    return true;
  };

  /** ECS retries until the circuit breaker trips; without one, until the service is deleted. */
  const run = async (stored: Stored): Promise<void> => {
    const hasBreaker = stored.input.deploymentConfiguration?.deploymentCircuitBreaker?.enable === true;
    while (stored.status === "ACTIVE" && !(hasBreaker && stored.failed >= BREAKER)) {
      if (await attempt(stored)) return;
      if (!hasBreaker) await pass(RESTART_MS, () => stored.status === "ACTIVE");
    }
    if (stored.status === "ACTIVE") stored.rollout = "FAILED";
  };

  const serviceView = (stored: Stored): Message => {
    const running = stored.tasks.filter(({ status }) => status === "RUNNING").length;
    const pending = stored.tasks.filter(({ status }) => status === "PENDING").length;
    // Reports completion only on the next call: a service "reaches a steady state" after its targets are healthy.
    if (stored.isWell && stored.rollout === "IN_PROGRESS") {
      stored.isWell = false;
      setTimeout(() => {
        if (stored.rollout === "IN_PROGRESS") stored.rollout = "COMPLETED";
      });
    }
    const deployment = {
      id: `ecs-svc/${stored.name}`,
      status: "PRIMARY",
      taskDefinition: stored.definition.taskDefinitionArn,
      desiredCount: stored.desired,
      runningCount: running,
      pendingCount: pending,
      failedTasks: stored.failed,
      rolloutState: stored.rollout,
      rolloutStateReason:
        stored.rollout === "FAILED"
          ? "ECS deployment circuit breaker: tasks failed to start."
          : `ECS deployment ${stored.rollout}.`,
    };
    return {
      serviceArn: `${ARN}:service/${CLUSTER}/${stored.name}`,
      serviceName: stored.name,
      status: stored.status,
      desiredCount: stored.desired,
      runningCount: running,
      pendingCount: pending,
      taskDefinition: stored.definition.taskDefinitionArn,
      loadBalancers: stored.input.loadBalancers,
      deployments: [deployment],
      events: stored.events,
      tags: stored.input.tags,
    };
  };

  const taskView = (stored: Stored, { arn, status, ending }: Task): Message => {
    const container = {
      name: stored.input.loadBalancers[0].containerName,
      lastStatus: status,
      ...(ending?.exitCode === undefined ? {} : { exitCode: ending.exitCode }),
      ...(ending?.reason === undefined ? {} : { reason: ending.reason }),
    };
    return {
      taskArn: arn,
      lastStatus: status,
      desiredStatus: status === "STOPPED" ? "STOPPED" : "RUNNING",
      containers: [container],
      ...(ending && { stopCode: ending.stopCode, stoppedReason: ending.stoppedReason }),
    };
  };

  const create = (input: Message): Message => {
    cluster(input.cluster);
    const known = services.get(input.serviceName);
    if (known !== undefined && known.status !== "INACTIVE") {
      if (known.input.clientToken !== undefined && known.input.clientToken === input.clientToken)
        return { service: serviceView(known) };
      throw new AwsError("InvalidParameterException", "Creation of service was not idempotent.");
    }
    const found = definition(input.taskDefinition);
    if (found.status !== "ACTIVE") throw new AwsError("ClientException", "TaskDefinition is inactive");
    checkService(input, found);
    if (!canAssume())
      throw new AwsError(
        "InvalidParameterException",
        "Unable to assume the service linked role. Please verify that the ECS service linked role exists.",
      );
    const group = input.loadBalancers?.[0]?.targetGroupArn ?? "";
    // ECS also rejects a group right after a rule references it. Source:
    // https://github.com/hashicorp/terraform-provider-aws, which retries when it creates an `aws_ecs_service`.
    if (!balancer.isAssociated(group) || settings.triesUntilAssociated-- > 0)
      throw new AwsError(
        "InvalidParameterException",
        `The target group with targetGroupArn ${group} does not have an associated load balancer.`,
      );
    const stored: Stored = {
      input,
      name: input.serviceName,
      definition: found,
      group,
      tasks: [],
      status: "ACTIVE",
      desired: input.desiredCount ?? 0,
      failed: 0,
      rollout: "IN_PROGRESS",
      isWell: false,
      hidden: settings.looksUntilVisible,
      events: [],
    };
    services.set(stored.name, stored);
    void run(stored);
    return { service: serviceView(stored) };
  };

  const remove = async ({ cluster: at, service, force = false }: Message): Promise<Message> => {
    cluster(at);
    const stored = services.get(lastPart(service));
    // Assumption: an INACTIVE service counts as missing (ServiceNotFoundException).
    if (stored === undefined || stored.status === "INACTIVE")
      throw new AwsError("ServiceNotFoundException", "Service not found.");
    if (!force && stored.desired > 0)
      throw new AwsError("InvalidParameterException", "The service cannot be stopped while it is scaled above 0.");
    // "The service status moves from ACTIVE to DRAINING ... to INACTIVE" once its tasks have stopped.
    stored.status = "DRAINING";
    setTargets(stored, "draining");
    const view = serviceView(stored);
    for (const task of stored.tasks)
      if (task.status !== "STOPPED")
        Object.assign(task, {
          status: "STOPPED",
          ending: { stopCode: "ServiceSchedulerInitiated", stoppedReason: "Scaling activity initiated by deployment" },
        });
    void engine.remove(stored.name).then(() => {
      stored.status = "INACTIVE";
    });
    return { service: view };
  };

  const definitionTags = new Map<string, readonly Message[]>();
  const tagsOf = (arn: string): readonly Message[] => definitionTags.get(arn) ?? [];

  const methods = {
    RegisterTaskDefinition: ({ tags, ...input }: Message) => {
      checkTags(tags);
      checkDefinition(input);
      const refused = [input.taskRoleArn, input.executionRoleArn].find((role) => !canPass(role));
      if (refused !== undefined)
        throw new AwsError(
          "AccessDeniedException",
          `User: arn:aws:sts::${ACCOUNT}:assumed-role/portside/i-0 is not authorized to perform: iam:PassRole on resource: ${refused}`,
        );
      const revision = [...definitions.values()].filter(({ family }) => family === input.family).length + 1;
      const id = `${input.family}:${revision}`;
      const made = {
        ...input,
        taskDefinitionArn: `${ARN}:task-definition/${id}`,
        revision,
        status: "ACTIVE",
        compatibilities: ["EC2", "FARGATE"],
        registeredAt: Date.now() / 1000,
      };
      definitions.set(id, made);
      definitionTags.set(made.taskDefinitionArn, tags ?? []);
      return { taskDefinition: made, tags };
    },
    DescribeTaskDefinition: ({ taskDefinition }: Message) => ({ taskDefinition: definition(taskDefinition) }),
    ListTaskDefinitions: ({ familyPrefix, status = "ACTIVE" }: Message) => {
      const shows = status !== "INACTIVE" || settings.listsUntilInactive-- <= 0;
      return {
        taskDefinitionArns: [...definitions.values()]
          .filter((one) => one.status === status && (familyPrefix === undefined || one.family === familyPrefix))
          .filter(() => shows)
          .map((one) => one.taskDefinitionArn),
      };
    },
    DeregisterTaskDefinition: ({ taskDefinition }: Message) => {
      const found = definition(taskDefinition);
      found.status = "INACTIVE";
      return { taskDefinition: found };
    },
    DeleteTaskDefinitions: ({ taskDefinitions }: Message) => {
      if (taskDefinitions.length > 10) throw new AwsError("InvalidParameterException", "10 task definitions at most");
      // Assumption: a missing definition is a failure in the response (DeleteTaskDefinitionsResponse.failures), not an
      // error.
      const found = taskDefinitions.flatMap((named: string) => definitions.get(lastPart(named)) ?? []);
      // "You must deregister a task definition revision before you delete it."
      for (const one of found)
        if (one.status !== "INACTIVE") throw new AwsError("InvalidParameterException", "It is not INACTIVE.");
      for (const one of found) definitions.delete(lastPart(one.taskDefinitionArn));
      return { taskDefinitions: found, failures: [] };
    },
    // A missing cluster is a failure in the response (DescribeClustersResponse.failures).
    DescribeClusters: ({ clusters }: Message) => ({
      clusters: clusters
        .filter((one: string) => one === CLUSTER)
        .map(() => ({ clusterName: CLUSTER, status: "ACTIVE" })),
      failures: clusters
        .filter((one: string) => one !== CLUSTER)
        .map((one: string) => ({ arn: `${ARN}:cluster/${one}`, reason: "MISSING" })),
    }),
    CreateService: create,
    DescribeServices: ({ cluster: at, services: named }: Message) => {
      cluster(at);
      if (named.length > 10)
        throw new AwsError("InvalidParameterException", "Services cannot have more than 10 items.");
      const found: Message[] = [];
      const failures: Message[] = [];
      for (const name of named) {
        const stored = services.get(lastPart(name));
        // "The Amazon ECS API follows an eventual consistency model" (API_RunTask).
        const isHidden = stored !== undefined && stored.hidden > 0;
        if (isHidden) stored.hidden -= 1;
        if (stored === undefined || isHidden) failures.push({ arn: `${ARN}:service/${name}`, reason: "MISSING" });
        else found.push(serviceView(stored));
      }
      return { services: found, failures };
    },
    DeleteService: remove,
    ListTasks: ({ cluster: at, serviceName, desiredStatus = "RUNNING" }: Message) => {
      cluster(at);
      const stored = services.get(serviceName);
      if (stored === undefined || settings.listsUntilTasks-- > 0)
        throw new AwsError("ServiceNotFoundException", "Service not found.");
      const isStopped = desiredStatus === "STOPPED";
      return {
        taskArns: stored.tasks.filter(({ status }) => (status === "STOPPED") === isStopped).map(({ arn }) => arn),
      };
    },
    DescribeTasks: ({ cluster: at, tasks }: Message) => {
      cluster(at);
      const found = [...services.values()].flatMap((stored) =>
        stored.tasks.filter(({ arn }) => tasks.includes(arn)).map((task) => taskView(stored, task)),
      );
      return { tasks: found, failures: [] };
    },
  };

  const server = await serveAws(faults, jsonProtocol(rates.limited(methods)));
  const client = recorded("ecs", new ECSClient(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    settings,
    startMillis,
    /** Calls that exceeded a rate. */
    throttled: rates.refused,
    methods,
    services: (): readonly Message[] =>
      [...services.values()].filter(({ status }) => status === "ACTIVE").map(serviceView),
    definitions: (): readonly Message[] => [...definitions.values()],
    /**
     * The tags of a service's tasks, which bills for Fargate use: "no tags are propagated" by default (CreateService).
     */
    tagsOfTasks: (name: string): readonly Message[] => {
      const stored = services.get(name);
      if (stored?.input.propagateTags === "SERVICE") return stored.input.tags ?? [];
      return stored?.input.propagateTags === "TASK_DEFINITION" ? tagsOf(stored.definition.taskDefinitionArn) : [];
    },
    /** A definition's tags, as ListTagsForResource returns them. */
    tagsOf,
    /** The service whose targets are in the group. */
    serviceIn: (group: string): string | undefined =>
      [...services.values()].find((stored) => stored.group === group && stored.status === "ACTIVE")?.name,
    /** Adds an event to a service, as ECS does. */
    say: (name: string, message: string): void => void services.get(name)?.events.unshift({ message }),
    /** Sets the desired count, as Application Auto Scaling does. */
    scale: (name: string, desired: number): void => {
      const stored = services.get(name);
      if (stored !== undefined) stored.desired = desired;
    },
    engine,
    close: async () => {
      for (const stored of services.values()) stored.status = "INACTIVE";
      client.destroy();
      await server.close();
    },
  };
};

export type FakeEcs = Awaited<ReturnType<typeof startFakeEcs>>;
