/**
 * The load balancer: a target group per revision, and rules that forward a host name to a group.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/
 */
import type { Rule, TargetHealthDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import type { ClientSource } from "../clients.ts";
import type { Patience } from "../state-bucket.ts";
import { targetGroupNameOf } from "./records/names.ts";
import type { TargetGroupInput } from "./render.ts";

const load = () => import("@aws-sdk/client-elastic-load-balancing-v2");

/** The fields of a forwarding rule that Portside reads. */
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
  rules(patience?: Patience): Called<readonly ForwardRule[]>;
  /** The revision's target group; undefined if it does not exist. */
  group(
    revision: string,
    patience?: Patience,
  ): Called<(TargetGroupInput & { readonly TargetGroupArn: string }) | undefined>;
  /** Returns the group's ARN. Idempotent: succeeds if the group exists with the same settings (CreateTargetGroup). */
  makeGroup(input: TargetGroupInput, patience?: Patience): Called<string>;
  setAttributes(group: string, attributes: Readonly<Record<string, string>>, patience?: Patience): Called<void>;
  /** Not retried, because each call creates a rule. `exists`: the priority is taken. Undefined: the response names no rule. */
  makeRule(rule: NewRule, patience?: Patience): Called<ForwardRule | undefined>;
  /** `not_found`: the rule, or one of the groups, does not exist. */
  forward(rule: string, targets: ForwardRule["targets"], patience?: Patience): Called<void>;
  dropRule(rule: string, patience?: Patience): Called<void>;
  /** `changed`: a rule still references the group. Succeeds if the group does not exist. */
  dropGroup(group: string, patience?: Patience): Called<void>;
  health(group: string, patience?: Patience): Called<readonly TargetHealthDescription[]>;
}

/** The page size limit of DescribeRules. */
const RULES_PAGE = 400;

const hostsOf = ({ Conditions }: Rule): string[] =>
  (Conditions ?? []).flatMap(({ Field, Values, HostHeaderConfig }) =>
    Field === "host-header" ? (HostHeaderConfig?.Values ?? Values ?? []) : [],
  );

/** An action has one group without a weight, or several with weights. */
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

/** Deleting something missing succeeds. */
const orGone = <T>(result: Result<T, CallState | Unavailable>): Result<void, CallState | Unavailable> =>
  result.isErr() && !(isCallState(result.error) && result.error.code === "not_found")
    ? err(result.error)
    : ok(undefined);

export const createBalancer = (listener: string, clients: ClientSource, call: ProviderCall): Balancer => {
  /** The client, its commands, and the call options. */
  const tools = async ({ signal }: Patience) =>
    [await clients("balancer"), await load(), signal === undefined ? {} : { abortSignal: signal }] as const;

  return {
    rules: async (patience = {}) => {
      const found: ForwardRule[] = [];
      let marker: string | undefined;
      do {
        const page = await call({ what: "elbv2.DescribeRules", ...patience }, async () => {
          const [client, { DescribeRulesCommand }, options] = await tools(patience);
          const input = { ListenerArn: listener, PageSize: RULES_PAGE, Marker: marker };
          return client.send(new DescribeRulesCommand(input), options);
        });
        if (page.isErr()) return err(page.error);
        found.push(...(page.value.Rules ?? []).map(ruleOf));
        marker = page.value.NextMarker;
      } while (marker !== undefined);
      return ok(found);
    },

    group: async (revision, patience = {}) => {
      const found = await call({ what: "elbv2.DescribeTargetGroups", ...patience }, async () => {
        const [client, { DescribeTargetGroupsCommand }, options] = await tools(patience);
        const command = new DescribeTargetGroupsCommand({ Names: [targetGroupNameOf(revision)] });
        const [group] = (await client.send(command, options)).TargetGroups ?? [];
        if (group === undefined) return undefined;
        const { TargetGroupName: Name = "", TargetGroupArn = "", ...rest } = group;
        return { ...rest, Name, TargetGroupArn };
      });
      return found.isErr() && isCallState(found.error) && found.error.code === "not_found" ? ok(undefined) : found;
    },

    makeGroup: (input, patience = {}) =>
      call({ what: "elbv2.CreateTargetGroup", ...patience }, async () => {
        const [client, { CreateTargetGroupCommand }, options] = await tools(patience);
        const { TargetGroups } = await client.send(new CreateTargetGroupCommand(input), options);
        return TargetGroups?.[0]?.TargetGroupArn ?? "";
      }),

    setAttributes: (group, attributes, patience = {}) =>
      call({ what: "elbv2.ModifyTargetGroupAttributes", ...patience }, async () => {
        const [client, { ModifyTargetGroupAttributesCommand }, options] = await tools(patience);
        const Attributes = Object.entries(attributes).map(([Key, Value]) => ({ Key, Value }));
        await client.send(new ModifyTargetGroupAttributesCommand({ TargetGroupArn: group, Attributes }), options);
      }),

    makeRule: ({ host, group, priority, tags }, patience = {}) =>
      call({ what: "elbv2.CreateRule", ...patience, patience: 0 }, async () => {
        const [client, { CreateRuleCommand }, options] = await tools(patience);
        const command = new CreateRuleCommand({
          ListenerArn: listener,
          Priority: priority,
          Conditions: [{ Field: "host-header", HostHeaderConfig: { Values: [host] } }],
          Actions: [{ Type: "forward", ForwardConfig: { TargetGroups: [{ TargetGroupArn: group, Weight: 1 }] } }],
          Tags: tags.map(([Key, Value]) => ({ Key, Value })),
        });
        return (await client.send(command, options)).Rules?.map(ruleOf)[0];
      }),

    forward: (rule, targets, patience = {}) =>
      call({ what: "elbv2.ModifyRule", ...patience }, async () => {
        const [client, { ModifyRuleCommand }, options] = await tools(patience);
        const TargetGroups = targets.map(({ group, weight }) => ({ TargetGroupArn: group, Weight: weight }));
        const Actions = [{ Type: "forward" as const, ForwardConfig: { TargetGroups } }];
        await client.send(new ModifyRuleCommand({ RuleArn: rule, Actions }), options);
      }),

    dropRule: async (rule, patience = {}) =>
      orGone(
        await call({ what: "elbv2.DeleteRule", ...patience }, async () => {
          const [client, { DeleteRuleCommand }, options] = await tools(patience);
          await client.send(new DeleteRuleCommand({ RuleArn: rule }), options);
        }),
      ),

    dropGroup: async (group, patience = {}) =>
      orGone(
        await call({ what: "elbv2.DeleteTargetGroup", ...patience }, async () => {
          const [client, { DeleteTargetGroupCommand }, options] = await tools(patience);
          await client.send(new DeleteTargetGroupCommand({ TargetGroupArn: group }), options);
        }),
      ),

    health: (group, patience = {}) =>
      call({ what: "elbv2.DescribeTargetHealth", ...patience }, async () => {
        const [client, { DescribeTargetHealthCommand }, options] = await tools(patience);
        const command = new DescribeTargetHealthCommand({ TargetGroupArn: group });
        return (await client.send(command, options)).TargetHealthDescriptions ?? [];
      }),
  };
};
