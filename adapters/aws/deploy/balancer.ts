/**
 * The API calls to a load balancer. It has a target group per revision, and rules that forward a host name to a group.
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/
 */
import type { Rule, TargetHealthDescription } from "@aws-sdk/client-elastic-load-balancing-v2";
import { ok, safeTry } from "../../../core/result.ts";
import type { ProviderCall } from "../../cloud/calls/provider-call.ts";
import { type Called, commandSender, missingAsOk, type RetryOptions } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { targetGroupNameOf } from "./records/names.ts";
import type { TargetGroupInput } from "./render.ts";

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
   * Sends one request without retries, because each request creates a rule. Fails with `exists` if the priority is
   * taken. Returns undefined if the response contains no rule.
   */
  createRule(rule: NewRule, retry?: RetryOptions): Called<ForwardRule | undefined>;
  /** Fails with `not_found` if the rule or one of the groups does not exist. */
  forward(rule: string, targets: ForwardRule["targets"], retry?: RetryOptions): Called<void>;
  /** Replaces the hosts of a rule, and keeps its groups. Fails with `not_found` if the rule does not exist. */
  setHosts(rule: string, hosts: readonly string[], retry?: RetryOptions): Called<void>;
  deleteRule(rule: string, retry?: RetryOptions): Called<void>;
  /**
   * Adds a certificate, which the listener then presents for the certificate's domain. Succeeds if the listener already
   * has it.
   */
  addCertificate(certificate: string, retry?: RetryOptions): Called<void>;
  /** Succeeds if the listener does not have the certificate. */
  removeCertificate(certificate: string, retry?: RetryOptions): Called<void>;
  /** Fails with `changed` if a rule still references the group. Succeeds if the group does not exist. */
  deleteGroup(group: string, retry?: RetryOptions): Called<void>;
  health(group: string, retry?: RetryOptions): Called<readonly TargetHealthDescription[]>;
}

/** A rule can have five values in its conditions (load-balancer-limits, "Condition Values per Rule"). */
export const HOSTS_PER_RULE = 5;

const hostCondition = (hosts: readonly string[]) => ({
  Field: "host-header",
  HostHeaderConfig: { Values: [...hosts] },
});

/** Maximum page size of DescribeRules. */
const RULES_PAGE_SIZE = 400;

const hostsOf = ({ Conditions }: Rule): string[] =>
  (Conditions ?? []).flatMap(({ Field, Values, HostHeaderConfig }) =>
    Field === "host-header" ? (HostHeaderConfig?.Values ?? Values ?? []) : [],
  );

/** An action contains either one group without a weight, or a list of groups with weights. */
const targetsOf = ({ Actions }: Rule): ForwardRule["targets"] =>
  (Actions ?? []).flatMap(({ Type, TargetGroupArn, ForwardConfig }) => {
    if (Type !== "forward") return [];
    const several = ForwardConfig?.TargetGroups ?? [];
    if (several.length === 0) return TargetGroupArn === undefined ? [] : [{ group: TargetGroupArn, weight: 1 }];
    return several.map(({ TargetGroupArn: group = "", Weight = 1 }) => ({ group, weight: Weight }));
  });

/**
 * Target group stickiness with the shortest duration in seconds (TargetGroupStickinessConfig: 1 to 604,800). A rule
 * with several groups requires stickiness if one of the groups is sticky:
 * https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/2734. New clients go to the new revision's
 * group, because the other groups have the weight 0.
 */
const GROUP_STICKINESS = { Enabled: true, DurationSeconds: 1 } as const;

const forwardTo = (targets: ForwardRule["targets"]) => ({
  Type: "forward" as const,
  ForwardConfig: {
    TargetGroups: targets.map(({ group, weight }) => ({ TargetGroupArn: group, Weight: weight })),
    ...(targets.length > 1 && { TargetGroupStickinessConfig: GROUP_STICKINESS }),
  },
});

const ruleOf = (rule: Rule): ForwardRule => ({
  arn: rule.RuleArn ?? "",
  // The default rule's priority is "default".
  priority: Number(rule.Priority) || 0,
  hosts: hostsOf(rule),
  targets: targetsOf(rule),
});

/** The ARN of a listener is `...:listener/app/NAME/ID/LISTENER`. */
const balancerIn = (listener: string): string =>
  listener.replace(":listener/", ":loadbalancer/").split("/").slice(0, -1).join("/");

/** Returns the DNS name of each listener's load balancer. */
export const balancerHosts = (
  listeners: readonly string[],
  clients: ClientSource,
  call: ProviderCall,
): Called<ReadonlyMap<string, string>> => {
  const LoadBalancerArns = [...new Set(listeners.map(balancerIn))];
  return commandSender(
    "balancer",
    "elbv2",
    clients,
    call,
  )("DescribeLoadBalancersCommand", { LoadBalancerArns }).map(({ LoadBalancers = [] }) => {
    const hosts = new Map(LoadBalancers.map(({ LoadBalancerArn, DNSName = "" }) => [LoadBalancerArn, DNSName]));
    return new Map(listeners.map((listener) => [listener, (hosts.get(balancerIn(listener)) ?? "").toLowerCase()]));
  });
};

export const createBalancer = (listener: string, clients: ClientSource, call: ProviderCall): Balancer => {
  const send = commandSender("balancer", "elbv2", clients, call);

  return {
    rules: (retry) =>
      safeTry(async function* () {
        const found: ForwardRule[] = [];
        let marker: string | undefined;
        do {
          const input = { ListenerArn: listener, PageSize: RULES_PAGE_SIZE, Marker: marker };
          const page = yield* await send("DescribeRulesCommand", input, retry);
          found.push(...(page.Rules ?? []).map(ruleOf));
          marker = page.NextMarker;
        } while (marker !== undefined);
        return ok(found);
      }),

    group: (revision, retry) =>
      send("DescribeTargetGroupsCommand", { Names: [targetGroupNameOf(revision)] }, retry)
        .map(({ TargetGroups: [group] = [] }) => {
          if (group === undefined) return undefined;
          const { TargetGroupName: Name = "", TargetGroupArn = "", ...rest } = group;
          return { ...rest, Name, TargetGroupArn };
        })
        .orElse(missingAsOk),

    createGroup: (input, retry) =>
      send("CreateTargetGroupCommand", input, retry).map(({ TargetGroups }) => TargetGroups?.[0]?.TargetGroupArn ?? ""),

    setAttributes: (group, attributes, retry) => {
      const Attributes = Object.entries(attributes).map(([Key, Value]) => ({ Key, Value }));
      const input = { TargetGroupArn: group, Attributes };
      return send("ModifyTargetGroupAttributesCommand", input, retry).map(() => undefined);
    },

    createRule: ({ host, group, priority, tags }, retry) => {
      const input = {
        ListenerArn: listener,
        Priority: priority,
        Conditions: [hostCondition([host])],
        Actions: [forwardTo([{ group, weight: 1 }])],
        Tags: tags.map(([Key, Value]) => ({ Key, Value })),
      };
      return send("CreateRuleCommand", input, {
        ...retry,
        turnMs: retry?.turnMs ?? retry?.timeoutMs,
        timeoutMs: 0,
      }).map(({ Rules }) => Rules?.map(ruleOf)[0]);
    },

    forward: (rule, targets, retry) =>
      send("ModifyRuleCommand", { RuleArn: rule, Actions: [forwardTo(targets)] }, retry).map(() => undefined),

    setHosts: (rule, hosts, retry) =>
      send("ModifyRuleCommand", { RuleArn: rule, Conditions: [hostCondition(hosts)] }, retry).map(() => undefined),

    addCertificate: (certificate, retry) => {
      const input = { ListenerArn: listener, Certificates: [{ CertificateArn: certificate }] };
      return send("AddListenerCertificatesCommand", input, retry).map(() => undefined);
    },

    removeCertificate: (certificate, retry) => {
      const input = { ListenerArn: listener, Certificates: [{ CertificateArn: certificate }] };
      return send("RemoveListenerCertificatesCommand", input, retry)
        .map(() => undefined)
        .orElse(missingAsOk);
    },

    deleteRule: (rule, retry) =>
      send("DeleteRuleCommand", { RuleArn: rule }, retry)
        .map(() => undefined)
        .orElse(missingAsOk),

    deleteGroup: (group, retry) =>
      send("DeleteTargetGroupCommand", { TargetGroupArn: group }, retry)
        .map(() => undefined)
        .orElse(missingAsOk),

    health: (group, retry) =>
      send("DescribeTargetHealthCommand", { TargetGroupArn: group }, retry).map(
        ({ TargetHealthDescriptions }) => TargetHealthDescriptions ?? [],
      ),
  };
};
