/**
 * Scales instances by load, with target tracking of Application Auto Scaling.
 * https://docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-target-tracking.html
 */
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";
import type { ClientSource } from "../../clients.ts";
import type { SharedResources } from "../../config.ts";
import type { RetryOptions } from "../../state-bucket.ts";

const load = () => import("@aws-sdk/client-application-auto-scaling");

/**
 * The meaning of `max_instances` 0, and the maximum: a target group has up to 1,000 targets
 * (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html).
 */
export const instanceLimits = { preset: 10, max: 1000 } as const;

/**
 * The metric counts requests per minute, not concurrent requests. An instance counts as full at `concurrency` requests
 * per second, which equals its concurrency if a request takes one second.
 */
const SECONDS_OF_METRIC = 60;

const SCALE_IN_SECONDS = 300;
const SCALE_OUT_SECONDS = 30;

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

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
  const sdk = async ({ signal }: RetryOptions) =>
    [await clients("scaling"), await load(), signal === undefined ? {} : { abortSignal: signal }] as const;

  return {
    set: async (revision, group, { concurrency, maxInstances }, retry = {}) => {
      const registered = await call({ what: "autoscaling.RegisterScalableTarget", ...retry }, async () => {
        const [client, { RegisterScalableTargetCommand }, options] = await sdk(retry);
        const MaxCapacity = maxInstances === 0 ? instanceLimits.preset : maxInstances;
        const command = new RegisterScalableTargetCommand({ ...targetOf(revision), MinCapacity: 1, MaxCapacity });
        await client.send(command, options);
      });
      if (registered.isErr()) return err(registered.error);
      return call({ what: "autoscaling.PutScalingPolicy", ...retry }, async () => {
        const [client, { PutScalingPolicyCommand }, options] = await sdk(retry);
        const command = new PutScalingPolicyCommand({
          ...targetOf(revision),
          PolicyName: "portside-requests",
          PolicyType: "TargetTrackingScaling",
          TargetTrackingScalingPolicyConfiguration: {
            PredefinedMetricSpecification: {
              PredefinedMetricType: "ALBRequestCountPerTarget",
              ResourceLabel: resourceLabelOf(listenerArn, group),
            },
            TargetValue: concurrency * SECONDS_OF_METRIC,
            ScaleInCooldown: SCALE_IN_SECONDS,
            ScaleOutCooldown: SCALE_OUT_SECONDS,
          },
        });
        await client.send(command, options);
      });
    },

    remove: async (revision, retry = {}) => {
      const removed = await call({ what: "autoscaling.DeregisterScalableTarget", ...retry }, async () => {
        const [client, { DeregisterScalableTargetCommand }, options] = await sdk(retry);
        await client.send(new DeregisterScalableTargetCommand(targetOf(revision)), options);
      });
      return removed.isErr() && isCallState(removed.error) && removed.error.code === "not_found"
        ? ok(undefined)
        : removed;
    },
  };
};
