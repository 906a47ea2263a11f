/**
 * The load balancer: a target group per revision, and rules that forward a host name to a group.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/
 */
import type { Rule, TargetHealthDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import type { ClientSource } from "../clients.ts";
import type { RetryOptions } from "../state-bucket.ts";
import { targetGroupNameOf } from "./records/names.ts";
import type { TargetGroupInput } from "./render.ts";

const load = () => import("@aws-sdk/client-elastic-load-balancing-v2");

/** The fields of a forwarding rule that Portside uses. */
export interface ForwardRule {
  readonly arn: string;
  readonly priority: number;
  readonly hosts: readonly string[];
  readonly targets: readonly { readonly group: string; readonly weight: number }[];
}

export interface NewRule {
  readonly host: string;
  readonly group: string;
  readonly priority: number;
  readonly tags: readonly (readonly [string, string])[];
}

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

export interface Balancer {
  rules(retry?: RetryOptions): Called<readonly ForwardRule[]>;
  /** Returns the revision's target group; undefined if it does not exist. */
  group(
    revision: string,
    retry?: RetryOptions,
  ): Called<(TargetGroupInput & { readonly TargetGroupArn: string }) | undefined>;
  /** Returns the group's ARN. Idempotent: succeeds if the group exists with the same settings (CreateTargetGroup). */
  createGroup(input: TargetGroupInput, retry?: RetryOptions): Called<string>;
  setAttributes(group: string, attributes: Readonly<Record<string, string>>, retry?: RetryOptions): Called<void>;
  /**
   * Never retried, because each call creates a rule. Fails with `exists` if the priority is taken. Returns undefined if
   * the response names no rule.
   */
  createRule(rule: NewRule, retry?: RetryOptions): Called<ForwardRule | undefined>;
  /** Fails with `not_found` if the rule or one of the groups does not exist. */
  forward(rule: string, targets: ForwardRule["targets"], retry?: RetryOptions): Called<void>;
  deleteRule(rule: string, retry?: RetryOptions): Called<void>;
  /** Fails with `changed` if a rule still references the group. Succeeds if the group does not exist. */
  deleteGroup(group: string, retry?: RetryOptions): Called<void>;
  health(group: string, retry?: RetryOptions): Called<readonly TargetHealthDescription[]>;
}

/** Maximum page size of DescribeRules. */
const RULES_PAGE_SIZE = 400;

const hostsOf = ({ Conditions }: Rule): string[] =>
  (Conditions ?? []).flatMap(({ Field, Values, HostHeaderConfig }) =>
    Field === "host-header" ? (HostHeaderConfig?.Values ?? Values ?? []) : [],
  );

/** An action has either one group without a weight, or several groups with weights. */
const targetsOf = ({ Actions }: Rule): ForwardRule["targets"] =>
  (Actions ?? []).flatMap(({ Type, TargetGroupArn, ForwardConfig }) => {
    if (Type !== "forward") return [];
    const several = ForwardConfig?.TargetGroups ?? [];
    if (several.length === 0) return TargetGroupArn === undefined ? [] : [{ group: TargetGroupArn, weight: 1 }];
    return several.map(({ TargetGroupArn: group = "", Weight = 1 }) => ({ group, weight: Weight }));
  });

const ruleOf = (rule: Rule): ForwardRule => ({
  arn: rule.RuleArn ?? "",
  // The default rule's priority is "default".
  priority: Number(rule.Priority) || 0,
  hosts: hostsOf(rule),
  targets: targetsOf(rule),
});

/** Deleting a missing resource succeeds. */
const orMissing = <T>(result: Result<T, CallState | Unavailable>): Result<void, CallState | Unavailable> =>
  result.isErr() && !(isCallState(result.error) && result.error.code === "not_found")
    ? err(result.error)
    : ok(undefined);

export const createBalancer = (listener: string, clients: ClientSource, call: ProviderCall): Balancer => {
  /** Returns the client, its commands and the call options. */
  const sdk = async ({ signal }: RetryOptions) =>
    [await clients("balancer"), await load(), signal === undefined ? {} : { abortSignal: signal }] as const;

  return {
    rules: async (retry = {}) => {
      const found: ForwardRule[] = [];
      let marker: string | undefined;
      do {
        const page = await call({ what: "elbv2.DescribeRules", ...retry }, async () => {
          const [client, { DescribeRulesCommand }, options] = await sdk(retry);
          const input = { ListenerArn: listener, PageSize: RULES_PAGE_SIZE, Marker: marker };
          return client.send(new DescribeRulesCommand(input), options);
        });
        if (page.isErr()) return err(page.error);
        found.push(...(page.value.Rules ?? []).map(ruleOf));
        marker = page.value.NextMarker;
      } while (marker !== undefined);
      return ok(found);
    },

    group: async (revision, retry = {}) => {
      const found = await call({ what: "elbv2.DescribeTargetGroups", ...retry }, async () => {
        const [client, { DescribeTargetGroupsCommand }, options] = await sdk(retry);
        const command = new DescribeTargetGroupsCommand({ Names: [targetGroupNameOf(revision)] });
        const [group] = (await client.send(command, options)).TargetGroups ?? [];
        if (group === undefined) return undefined;
        const { TargetGroupName: Name = "", TargetGroupArn = "", ...rest } = group;
        return { ...rest, Name, TargetGroupArn };
      });
      return found.isErr() && isCallState(found.error) && found.error.code === "not_found" ? ok(undefined) : found;
    },

    createGroup: (input, retry = {}) =>
      call({ what: "elbv2.CreateTargetGroup", ...retry }, async () => {
        const [client, { CreateTargetGroupCommand }, options] = await sdk(retry);
        const { TargetGroups } = await client.send(new CreateTargetGroupCommand(input), options);
        return TargetGroups?.[0]?.TargetGroupArn ?? "";
      }),

    setAttributes: (group, attributes, retry = {}) =>
      call({ what: "elbv2.ModifyTargetGroupAttributes", ...retry }, async () => {
        const [client, { ModifyTargetGroupAttributesCommand }, options] = await sdk(retry);
        const Attributes = Object.entries(attributes).map(([Key, Value]) => ({ Key, Value }));
        await client.send(new ModifyTargetGroupAttributesCommand({ TargetGroupArn: group, Attributes }), options);
      }),

    createRule: ({ host, group, priority, tags }, retry = {}) =>
      call({ what: "elbv2.CreateRule", ...retry, timeoutMs: 0 }, async () => {
        const [client, { CreateRuleCommand }, options] = await sdk(retry);
        const command = new CreateRuleCommand({
          ListenerArn: listener,
          Priority: priority,
          Conditions: [{ Field: "host-header", HostHeaderConfig: { Values: [host] } }],
          Actions: [{ Type: "forward", ForwardConfig: { TargetGroups: [{ TargetGroupArn: group, Weight: 1 }] } }],
          Tags: tags.map(([Key, Value]) => ({ Key, Value })),
        });
        return (await client.send(command, options)).Rules?.map(ruleOf)[0];
      }),

    forward: (rule, targets, retry = {}) =>
      call({ what: "elbv2.ModifyRule", ...retry }, async () => {
        const [client, { ModifyRuleCommand }, options] = await sdk(retry);
        const TargetGroups = targets.map(({ group, weight }) => ({ TargetGroupArn: group, Weight: weight }));
        const Actions = [{ Type: "forward" as const, ForwardConfig: { TargetGroups } }];
        await client.send(new ModifyRuleCommand({ RuleArn: rule, Actions }), options);
      }),

    deleteRule: async (rule, retry = {}) =>
      orMissing(
        await call({ what: "elbv2.DeleteRule", ...retry }, async () => {
          const [client, { DeleteRuleCommand }, options] = await sdk(retry);
          await client.send(new DeleteRuleCommand({ RuleArn: rule }), options);
        }),
      ),

    deleteGroup: async (group, retry = {}) =>
      orMissing(
        await call({ what: "elbv2.DeleteTargetGroup", ...retry }, async () => {
          const [client, { DeleteTargetGroupCommand }, options] = await sdk(retry);
          await client.send(new DeleteTargetGroupCommand({ TargetGroupArn: group }), options);
        }),
      ),

    health: (group, retry = {}) =>
      call({ what: "elbv2.DescribeTargetHealth", ...retry }, async () => {
        const [client, { DescribeTargetHealthCommand }, options] = await sdk(retry);
        const command = new DescribeTargetHealthCommand({ TargetGroupArn: group });
        return (await client.send(command, options)).TargetHealthDescriptions ?? [];
      }),
  };
};
