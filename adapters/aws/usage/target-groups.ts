/**
 * Finds the target groups of revisions in CloudWatch. A metric names a target group by its id, which a deleted group's
 * name does not contain. Therefore, Portside lists the load balancer's metrics, and finds the group's name in them.
 */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type CommandSender, missingAsOk, throwState } from "../call-policy.ts";
import { targetGroupNameOf } from "../deploy/records/names.ts";
import type { CloudWatch } from "./cloudwatch.ts";

export const BALANCER_NAMESPACE = "AWS/ApplicationELB";

/**
 * How long a list of metrics is used, in milliseconds. A new metric appears in lists after up to 15 minutes
 * (API_ListMetrics), so a shorter time has no benefit.
 */
const LIST_MAX_AGE_MS = 300_000;

/** `app/NAME/ID` of a listener's ARN: the value of the dimension `LoadBalancer`. */
export const balancerOf = (listenerArn: string): string =>
  listenerArn.split(":listener/")[1]?.replace(/\/[^/]+$/, "") ?? "";

/** `targetgroup/NAME/ID` of a target group's ARN: the value of the dimension `TargetGroup`. */
const groupOf = (arn: string): string => arn.split(":").at(-1) ?? "";

export interface TargetGroups {
  /**
   * Returns the target groups of the revisions, by revision: those with requests within two weeks, and that of the
   * serving revision. A revision without a target group is absent.
   */
  find(
    balancer: string,
    revisions: readonly string[],
    serving: string | undefined,
    options: CallOptions,
  ): ResultAsync<ReadonlyMap<string, string>, Unavailable>;
}

export const createTargetGroups = (
  cloudWatch: CloudWatch,
  send: CommandSender<"balancer">,
  clock: Pick<Clock, "now">,
): TargetGroups => {
  /** The target groups by name, by load balancer. */
  const lists = new Map<string, { readonly groups: ReadonlyMap<string, string>; readonly readAt: Instant }>();

  const listed = (balancer: string, options: CallOptions): ResultAsync<ReadonlyMap<string, string>, Unavailable> =>
    safeTry(async function* () {
      const kept = lists.get(balancer);
      if (kept !== undefined && plusMillis(kept.readAt, LIST_MAX_AGE_MS) > clock.now()) return ok(kept.groups);
      const readAt = clock.now();
      const Dimensions = [{ Name: "LoadBalancer", Value: balancer }, { Name: "TargetGroup" }];
      const metric = { Namespace: BALANCER_NAMESPACE, MetricName: "RequestCount", Dimensions };
      const metrics = yield* await cloudWatch.list(metric as never, options);
      const groups = new Map<string, string>();
      for (const found of metrics) {
        const group = found.Dimensions?.find(({ Name }) => Name === "TargetGroup")?.Value;
        if (group !== undefined) groups.set(group.split("/")[1] ?? "", group);
      }
      lists.set(balancer, { groups, readAt });
      return ok(groups);
    });

  return {
    find: (balancer, revisions, serving, options) =>
      safeTry(async function* () {
        const groups = yield* await listed(balancer, options);
        const found = new Map<string, string>();
        for (const revision of revisions) {
          const group = groups.get(targetGroupNameOf(revision));
          if (group !== undefined) found.set(revision, group);
        }
        if (serving !== undefined && !found.has(serving)) {
          const input = { Names: [targetGroupNameOf(serving)] };
          const described = yield* await send("DescribeTargetGroupsCommand", input, options)
            .orElse(missingAsOk)
            .mapErr(throwState);
          const arn = described?.TargetGroups?.[0]?.TargetGroupArn;
          if (arn !== undefined) found.set(serving, groupOf(arn));
        }
        return ok(found);
      }),
  };
};
