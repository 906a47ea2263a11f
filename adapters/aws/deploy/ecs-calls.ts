/** The ECS API calls of rollouts: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ */
import type { CreateServiceCommandInput, Service, Task, TaskDefinition } from "@aws-sdk/client-ecs";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import type { ClientSource } from "../clients.ts";
import type { RetryOptions } from "../state-bucket.ts";
import type { DefinitionInput } from "./render.ts";

const load = () => import("@aws-sdk/client-ecs");

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

export interface EcsServices {
  /** Returns the new definition's ARN. */
  register(input: DefinitionInput, retry?: RetryOptions): Called<string>;
  definition(arn: string, retry?: RetryOptions): Called<TaskDefinition>;
  /** Deletes every definition of a family, and thereby the service's environment variables. */
  forget(family: string, retry?: RetryOptions): Called<void>;
  /** Idempotent: calls with the same token create one service. */
  create(input: CreateServiceCommandInput, retry?: RetryOptions): Called<void>;
  /**
   * Undefined if the service does not exist or is not visible yet. A deleted service stays visible for a while, but is
   * not `ACTIVE`.
   */
  find(name: string, retry?: RetryOptions): Called<Service | undefined>;
  /** Returns the service's stopped tasks, which ECS shows for an hour. */
  stopped(name: string, retry?: RetryOptions): Called<readonly Task[]>;
  /** Deletes the service and stops its tasks. Succeeds if it does not exist. */
  remove(name: string, retry?: RetryOptions): Called<void>;
}

/** Maximum definitions per DeleteTaskDefinitions. */
const DELETE_BATCH = 10;

export const ecsServices = (cluster: string, clients: ClientSource, call: ProviderCall): EcsServices => {
  /** Returns the client, its commands and the call options. */
  const sdk = async ({ signal }: RetryOptions) =>
    [await clients("ecs"), await load(), signal === undefined ? {} : { abortSignal: signal }] as const;

  const definitionsOf = (family: string, status: "ACTIVE" | "INACTIVE", retry: RetryOptions) =>
    call({ what: "ecs.ListTaskDefinitions", ...retry }, async () => {
      const [client, { ListTaskDefinitionsCommand }, options] = await sdk(retry);
      const { taskDefinitionArns } = await client.send(
        new ListTaskDefinitionsCommand({ familyPrefix: family, status }),
        options,
      );
      return taskDefinitionArns ?? [];
    });

  return {
    register: (input, retry = {}) =>
      call({ what: "ecs.RegisterTaskDefinition", ...retry }, async () => {
        const [client, { RegisterTaskDefinitionCommand }, options] = await sdk(retry);
        const { taskDefinition } = await client.send(new RegisterTaskDefinitionCommand(input), options);
        return taskDefinition?.taskDefinitionArn ?? "";
      }),

    definition: (arn, retry = {}) =>
      call({ what: "ecs.DescribeTaskDefinition", ...retry }, async () => {
        const [client, { DescribeTaskDefinitionCommand }, options] = await sdk(retry);
        const command = new DescribeTaskDefinitionCommand({ taskDefinition: arn });
        return (await client.send(command, options)).taskDefinition ?? {};
      }),

    forget: async (family, retry = {}) => {
      const active = await definitionsOf(family, "ACTIVE", retry);
      if (active.isErr()) return err(active.error);
      for (const arn of active.value) {
        const left = await call({ what: "ecs.DeregisterTaskDefinition", ...retry }, async () => {
          const [client, { DeregisterTaskDefinitionCommand }, options] = await sdk(retry);
          await client.send(new DeregisterTaskDefinitionCommand({ taskDefinition: arn }), options);
        });
        if (left.isErr() && !isCallState(left.error)) return left;
      }
      // Includes definitions that an interrupted call deregistered but did not delete.
      const inactive = await definitionsOf(family, "INACTIVE", retry);
      if (inactive.isErr()) return err(inactive.error);
      // The list may not include the definitions that were just deregistered.
      const all = [...new Set([...active.value, ...inactive.value])];
      for (let from = 0; from < all.length; from += DELETE_BATCH) {
        const some = all.slice(from, from + DELETE_BATCH);
        const deleted = await call({ what: "ecs.DeleteTaskDefinitions", ...retry }, async () => {
          const [client, { DeleteTaskDefinitionsCommand }, options] = await sdk(retry);
          await client.send(new DeleteTaskDefinitionsCommand({ taskDefinitions: some }), options);
        });
        // An earlier call, whose response was lost, has deleted them.
        if (deleted.isErr() && !isCallState(deleted.error)) return deleted;
      }
      return ok(undefined);
    },

    create: (input, retry = {}) =>
      call({ what: "ecs.CreateService", ...retry }, async () => {
        const [client, { CreateServiceCommand }, options] = await sdk(retry);
        await client.send(new CreateServiceCommand(input), options);
      }),

    find: (name, retry = {}) =>
      call({ what: "ecs.DescribeServices", ...retry }, async () => {
        const [client, { DescribeServicesCommand }, options] = await sdk(retry);
        const { services } = await client.send(new DescribeServicesCommand({ cluster, services: [name] }), options);
        return services?.[0];
      }),

    stopped: async (name, retry = {}) => {
      const listed = await call({ what: "ecs.ListTasks", ...retry }, async () => {
        const [client, { ListTasksCommand }, options] = await sdk(retry);
        const command = new ListTasksCommand({ cluster, serviceName: name, desiredStatus: "STOPPED" });
        return (await client.send(command, options)).taskArns ?? [];
      });
      // ListTasks may not show a service that `find` already returns.
      if (listed.isErr() && isCallState(listed.error) && listed.error.code === "not_found") return ok([]);
      if (listed.isErr()) return err(listed.error);
      const { value: tasks } = listed;
      if (tasks.length === 0) return ok([]);
      return call({ what: "ecs.DescribeTasks", ...retry }, async () => {
        const [client, { DescribeTasksCommand }, options] = await sdk(retry);
        return (await client.send(new DescribeTasksCommand({ cluster, tasks }), options)).tasks ?? [];
      });
    },

    remove: async (name, retry = {}) => {
      const removed = await call({ what: "ecs.DeleteService", ...retry }, async () => {
        const [client, { DeleteServiceCommand }, options] = await sdk(retry);
        await client.send(new DeleteServiceCommand({ cluster, service: name, force: true }), options);
      });
      return removed.isErr() && isCallState(removed.error) && removed.error.code === "not_found"
        ? ok(undefined)
        : removed;
    },
  };
};
