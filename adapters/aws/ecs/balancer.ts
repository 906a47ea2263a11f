/**
 * The load balancer: a target group for each revision, and rules that forward a host name to it.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/
 */
import type { Rule, TargetHealthDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/provider-call.ts";
import type { ClientSource } from "../clients.ts";
import type { Patience } from "../state-bucket.ts";
import { targetGroupNameOf } from "./names.ts";
import type { TargetGroupInput } from "./render.ts";

const load = () => import("@aws-sdk/client-elastic-load-balancing-v2");

/** A rule that forwards, as far as Portside reads it. */
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
  /** The group of a revision; undefined where there is none. */
  group(
    revision: string,
    patience?: Patience,
  ): Called<(TargetGroupInput & { readonly TargetGroupArn: string }) | undefined>;
  /** Also where it is there already with these settings (CreateTargetGroup is idempotent). Its ARN. */
  makeGroup(input: TargetGroupInput, patience?: Patience): Called<string>;
  setAttributes(group: string, attributes: Readonly<Record<string, string>>, patience?: Patience): Called<void>;
  /** Not repeated, because each call makes a rule. `exists`: the priority is taken. Undefined: it does not say which. */
  makeRule(rule: NewRule, patience?: Patience): Called<ForwardRule | undefined>;
  /** `not_found`: the rule, or a group that it names, is gone. */
  forward(rule: string, targets: ForwardRule["targets"], patience?: Patience): Called<void>;
  dropRule(rule: string, patience?: Patience): Called<void>;
  /** `changed`: a rule names it. What is gone is no error. */
  dropGroup(group: string, patience?: Patience): Called<void>;
  health(group: string, patience?: Patience): Called<readonly TargetHealthDescription[]>;
}

/** DescribeRules takes this many at most. */
const RULES_PAGE = 400;

const hostsOf = ({ Conditions }: Rule): string[] =>
  (Conditions ?? []).flatMap(({ Field, Values, HostHeaderConfig }) =>
    Field === "host-header" ? (HostHeaderConfig?.Values ?? Values ?? []) : [],
  );

/** Of an action with one group, which has no weight, or with several, which have. */
const targetsOf = ({ Actions }: Rule): ForwardRule["targets"] =>
  (Actions ?? []).flatMap(({ Type, TargetGroupArn, ForwardConfig }) => {
    if (Type !== "forward") return [];
    const several = ForwardConfig?.TargetGroups ?? [];
    if (several.length === 0) return TargetGroupArn === undefined ? [] : [{ group: TargetGroupArn, weight: 1 }];
    return several.map(({ TargetGroupArn: group = "", Weight = 1 }) => ({ group, weight: Weight }));
  });

const ruleOf = (rule: Rule): ForwardRule => ({
  arn: rule.RuleArn ?? "",
  // The default rule's is "default".
  priority: Number(rule.Priority) || 0,
  hosts: hostsOf(rule),
  targets: targetsOf(rule),
});

/** What is gone needs no removal. */
const orGone = <T>(result: Result<T, CallState | Unavailable>): Result<void, CallState | Unavailable> =>
  result.isErr() && !(isCallState(result.error) && result.error.code === "not_found")
    ? err(result.error)
    : ok(undefined);

export const createBalancer = (listener: string, clients: ClientSource, call: ProviderCall): Balancer => {
  /** The client with its commands, and what a call is sent with. */
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
