/**
 * Finds the target groups of revisions in CloudWatch. A metric refers to a target group by its name and its id. AWS no
 * longer returns the id of a deleted group. Therefore, Portside finds the ids in the list of the load balancer's
 * metrics.
 */
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { CachedCalls } from "../../shared/calls/cached-calls.ts";
import { type CommandSender, missingAsOk, throwState } from "../call-policy.ts";
import { nameInArn, targetGroupNameOf } from "../deploy/records/names.ts";
import type { CloudWatch } from "./cloudwatch.ts";

export const BALANCER_NAMESPACE = "AWS/ApplicationELB";

/**
 * How long to cache a list of metrics, in milliseconds. A new metric appears in lists after up to 15 minutes
 * (API_ListMetrics), so a shorter time has no benefit.
 */
const LIST_MAX_AGE_MS = 300_000;

/** How long to cache a target group that CloudWatch does not list yet, in milliseconds. Its ARN never changes. */
const GROUP_MAX_AGE_MS = 24 * 3_600_000;

/** The maximum numbers of load balancers and of target groups in the caches. */
const MAX_BALANCERS = 100;
const MAX_GROUPS = 10_000;

/** The maximum number of names in one call of DescribeTargetGroups. AWS documents no limit. */
const MAX_NAMES = 20;

/** `app/NAME/ID` of a listener's ARN: the value of the dimension `LoadBalancer`. */
export const balancerOf = (listenerArn: string): string =>
  listenerArn.split(":listener/")[1]?.replace(/\/[^/]+$/, "") ?? "";

/** `targetgroup/NAME/ID` of a target group's ARN: the value of the dimension `TargetGroup`. */
const groupOf = (arn: string): string => arn.split(":").at(-1) ?? "";

/** The revisions of a deployment. */
export interface DeploymentRevisions {
  readonly balancer: string;
  readonly revisions: readonly string[];
  readonly serving: string | undefined;
}

export interface TargetGroups {
  /**
   * Returns the target groups of each deployment's revisions, by revision. Includes the revisions that had requests
   * within two weeks, and the serving revision. A revision without a target group is absent.
   */
  find(
    deployments: readonly DeploymentRevisions[],
    options: CallOptions,
  ): ResultAsync<readonly ReadonlyMap<string, string>[], Unavailable>;
}

export const createTargetGroups = (
  cloudWatch: CloudWatch,
  send: CommandSender<"balancer">,
  clock: Pick<Clock, "now">,
): TargetGroups => {
  /** Returns the target groups of a load balancer that CloudWatch lists, by name. */
  const list = (balancer: string): ResultAsync<ReadonlyMap<string, string>, Unavailable> => {
    const Dimensions = [{ Name: "LoadBalancer", Value: balancer }, { Name: "TargetGroup" }];
    return cloudWatch.list({ Namespace: BALANCER_NAMESPACE, MetricName: "RequestCount", Dimensions }, {}).map(
      (metrics) =>
        new Map(
          metrics.flatMap(({ Dimensions: own = [] }): [string, string][] => {
            const group = own.find(({ Name }) => Name === "TargetGroup")?.Value;
            return group === undefined ? [] : [[group.split("/")[1] ?? "", group]];
          }),
        ),
    );
  };

  /** Returns the target groups of these names, by name. A call fails if one of its names does not exist. */
  const describe = (names: readonly string[]): ResultAsync<ReadonlyMap<string, string>, Unavailable> =>
    safeTry(async function* () {
      const described = yield* await send("DescribeTargetGroupsCommand", { Names: [...names] }, {})
        .orElse(missingAsOk)
        .mapErr(throwState);
      if (described === undefined && names.length > 1) {
        const half = Math.ceil(names.length / 2);
        const [first, second] = [yield* await describe(names.slice(0, half)), yield* await describe(names.slice(half))];
        return ok(new Map([...first, ...second]));
      }
      const arns = (described?.TargetGroups ?? []).flatMap(({ TargetGroupArn }) => TargetGroupArn ?? []);
      return ok(new Map(arns.map((arn) => [nameInArn(arn), groupOf(arn)])));
    });

  const lists = new CachedCalls<string, ReadonlyMap<string, string>>({
    clock,
    textOf: (balancer) => balancer,
    read: (balancers) => ResultAsync.combine(balancers.map(list)),
    expiryOf: (now) => plusMillis(now, LIST_MAX_AGE_MS),
    maxSize: MAX_BALANCERS,
  });

  const groups = new CachedCalls<string, string | undefined>({
    clock,
    textOf: (name) => name,
    read: (names) =>
      safeTry(async function* () {
        const all = new Map<string, string>();
        for (let at = 0; at < names.length; at += MAX_NAMES)
          for (const [name, group] of yield* await describe(names.slice(at, at + MAX_NAMES))) all.set(name, group);
        return ok(names.map((name) => all.get(name)));
      }),
    expiryOf: (now) => plusMillis(now, GROUP_MAX_AGE_MS),
    maxSize: MAX_GROUPS,
    // Do not cache a missing target group, because a rollout may create it.
    sizeOf: (group) => (group === undefined ? 0 : 1),
  });

  return {
    find: (deployments, options) =>
      safeTry(async function* () {
        const listed = yield* await lists.getAll(
          deployments.map(({ balancer }) => balancer),
          options,
        );
        const found = deployments.map(
          ({ revisions }, index) =>
            new Map(
              revisions.flatMap((revision): [string, string][] => {
                const group = listed[index]?.get(targetGroupNameOf(revision));
                return group === undefined ? [] : [[revision, group]];
              }),
            ),
        );
        const unlisted = deployments.flatMap(({ serving }, index) =>
          serving === undefined || found[index]?.has(serving) === true ? [] : [{ serving, own: found[index] }],
        );
        const names = unlisted.map(({ serving }) => targetGroupNameOf(serving));
        const described = names.length === 0 ? [] : yield* await groups.getAll(names, options);
        unlisted.forEach(({ serving, own }, index) => {
          const group = described[index];
          if (group !== undefined) own?.set(serving, group);
        });
        return ok(found);
      }),
  };
};
