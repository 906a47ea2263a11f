/** The ECS API calls of rollouts: https://docs.aws.amazon.com/AmazonECS/latest/APIReference/ */
import type { CreateServiceCommandInput, Service, Task, TaskDefinition } from "@aws-sdk/client-ecs";
import { err, ok, safeTry } from "../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../cloud/calls/provider-call.ts";
import { type Called, commandSender, isState, missingAsOk, type RetryOptions } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { DefinitionInput } from "./render.ts";

export interface EcsServices {
  /** Returns the new definition's ARN. */
  register(input: DefinitionInput, retry?: RetryOptions): Called<string>;
  definition(arn: string, retry?: RetryOptions): Called<TaskDefinition>;
  /** Deletes every definition of a family. Definitions contain the service's environment variables. */
  forget(family: string, retry?: RetryOptions): Called<void>;
  /** Idempotent: calls with the same token create one service. */
  create(input: CreateServiceCommandInput, retry?: RetryOptions): Called<void>;
  /**
   * Returns undefined if the service does not exist or is not visible yet. A deleted service stays visible for a while,
   * but is not `ACTIVE`.
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
  const send = commandSender("ecs", "ecs", clients, call);

  const definitionsOf = (family: string, status: "ACTIVE" | "INACTIVE", retry: RetryOptions | undefined) =>
    send("ListTaskDefinitionsCommand", { familyPrefix: family, status }, retry).map(
      ({ taskDefinitionArns }) => taskDefinitionArns ?? [],
    );

  return {
    register: (input, retry) =>
      send("RegisterTaskDefinitionCommand", input, retry).map(
        ({ taskDefinition }) => taskDefinition?.taskDefinitionArn ?? "",
      ),

    definition: (arn, retry) =>
      send("DescribeTaskDefinitionCommand", { taskDefinition: arn }, retry).map(
        ({ taskDefinition }) => taskDefinition ?? {},
      ),

    forget: (family, retry) =>
      safeTry(async function* () {
        const active = yield* await definitionsOf(family, "ACTIVE", retry);
        for (const arn of active) {
          const left = await send("DeregisterTaskDefinitionCommand", { taskDefinition: arn }, retry);
          if (left.isErr() && !isCallState(left.error)) return err(left.error);
        }
        // Includes definitions that an interrupted call deregistered but did not delete.
        const inactive = yield* await definitionsOf(family, "INACTIVE", retry);
        // The list may not include the definitions that were just deregistered.
        const all = [...new Set([...active, ...inactive])];
        for (let from = 0; from < all.length; from += DELETE_BATCH) {
          const taskDefinitions = all.slice(from, from + DELETE_BATCH);
          const deleted = await send("DeleteTaskDefinitionsCommand", { taskDefinitions }, retry);
          // The definitions may be missing, because an earlier call deleted them and its response was lost.
          if (deleted.isErr() && !isCallState(deleted.error)) return err(deleted.error);
        }
        return ok(undefined);
      }),

    create: (input, retry) => send("CreateServiceCommand", input, retry).map(() => undefined),

    find: (name, retry) =>
      send("DescribeServicesCommand", { cluster, services: [name] }, retry).map(({ services }) => services?.[0]),

    stopped: (name, retry) =>
      safeTry(async function* () {
        const listed = await send("ListTasksCommand", { cluster, serviceName: name, desiredStatus: "STOPPED" }, retry);
        // ListTasks may not show a service that `find` already returns.
        if (isState(listed, "not_found")) return ok([]);
        const { taskArns: tasks = [] } = yield* listed;
        if (tasks.length === 0) return ok([]);
        return send("DescribeTasksCommand", { cluster, tasks }, retry).map((described) => described.tasks ?? []);
      }),

    remove: (name, retry) =>
      send("DeleteServiceCommand", { cluster, service: name, force: true }, retry)
        .map(() => undefined)
        .orElse(missingAsOk),
  };
};
