/**
 * Scales instances by load, with target tracking of Application Auto Scaling.
 * https://docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-target-tracking.html
 */
import { effectiveMax } from "../../../../core/domain/deploy/instances.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { safeTry } from "../../../../core/result.ts";
import type { ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { type Called, commandSender, missingAsOk, type RetryOptions } from "../../call-policy.ts";
import type { ClientSource } from "../../clients.ts";
import type { SharedResources } from "../../config.ts";

/**
 * `preset` replaces a `max_instances` of 0. `max` is the maximum number of targets in a target group
 * (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
 */
export const instanceLimits = { preset: 10, max: 1000 } as const;

export const maxInstancesOf = ({ maxInstances }: ServiceTemplate): number =>
  effectiveMax(maxInstances, instanceLimits.preset);

/**
 * The number of tasks that run without requests. ECS would also accept 0 (RegisterScalableTarget), but no request could
 * start a task then: the load balancer responds 503 without a target.
 */
export const minInstancesOf = ({ minInstances = 0 }: Pick<ServiceTemplate, "minInstances">): number =>
  Math.max(1, minInstances);

/**
 * The metric counts requests per minute, not concurrent requests. The target is `concurrency` requests per second for
 * each instance, which is exact if a request takes one second.
 */
const SECONDS_OF_METRIC = 60;

const SCALE_IN_SECONDS = 300;
const SCALE_OUT_SECONDS = 30;

export interface Scaling {
  set(revision: string, group: string, template: ServiceTemplate, retry?: RetryOptions): Called<void>;
  /** Deletes the scalable target with its policies and alarms. Succeeds if it does not exist. */
  remove(revision: string, retry?: RetryOptions): Called<void>;
}

/**
 * Builds `app/NAME/ID/targetgroup/NAME/ID` from the ARNs of the listener and the group (PredefinedMetricSpecification).
 */
export const resourceLabelOf = (listener: string, group: string): string => {
  const balancer = listener.split(":listener/")[1]?.split("/").slice(0, 3).join("/") ?? "";
  return `${balancer}/${group.split(":").at(-1) ?? ""}`;
};

export const createScaling = (
  { cluster, listenerArn }: Pick<SharedResources, "cluster" | "listenerArn">,
  clients: ClientSource,
  call: ProviderCall,
): Scaling => {
  const targetOf = (revision: string) =>
    ({
      ServiceNamespace: "ecs",
      ScalableDimension: "ecs:service:DesiredCount",
      ResourceId: `service/${cluster}/${revision}`,
    }) as const;
  const send = commandSender("scaling", "autoscaling", clients, call);

  return {
    set: (revision, group, template, retry) =>
      safeTry(async function* () {
        // "Application Auto Scaling scaling policies will not scale capacity to values that are outside of the minimum and
        // maximum range": https://docs.aws.amazon.com/autoscaling/application/APIReference/API_RegisterScalableTarget.html
        const range = { MinCapacity: minInstancesOf(template), MaxCapacity: maxInstancesOf(template) };
        const target = { ...targetOf(revision), ...range };
        yield* await send("RegisterScalableTargetCommand", target, retry);
        const policy = {
          ...targetOf(revision),
          PolicyName: "portside-requests",
          PolicyType: "TargetTrackingScaling",
          TargetTrackingScalingPolicyConfiguration: {
            PredefinedMetricSpecification: {
              PredefinedMetricType: "ALBRequestCountPerTarget",
              ResourceLabel: resourceLabelOf(listenerArn, group),
            },
            TargetValue: template.concurrency * SECONDS_OF_METRIC,
            ScaleInCooldown: SCALE_IN_SECONDS,
            ScaleOutCooldown: SCALE_OUT_SECONDS,
          },
        } as const;
        return send("PutScalingPolicyCommand", policy, retry).map(() => undefined);
      }),

    remove: (revision, retry) =>
      send("DeregisterScalableTargetCommand", targetOf(revision), retry)
        .map(() => undefined)
        .orElse(missingAsOk),
  };
};
