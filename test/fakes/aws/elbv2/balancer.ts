/**
 * A fake Application Load Balancer with one listener: rules, target groups and their health, from the model and
 * documentation of client-elastic-load-balancing-v2. The listener accepts connections and routes requests by the rules.
 */
import { randomUUID } from "node:crypto";
import { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { friendly, type Mean } from "../mean.ts";
import { clientOptions, type Message, queryProtocol } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";
import { startListener } from "./listener.ts";
import { checkGroup, checkRule, checkTags } from "./validation.ts";

const ARN = `arn:aws:elasticloadbalancing:${REGION}:${ACCOUNT}`;
export const LISTENER = `${ARN}:listener/app/portside/50dc6c495c0c9188/f2f7dc8efc522ab2`;
const BALANCER = `${ARN}:loadbalancer/app/portside/50dc6c495c0c9188`;

export type TargetState = "initial" | "healthy" | "unhealthy" | "draining";

interface Group {
  readonly input: Message;
  readonly arn: string;
  attributes: Readonly<Record<string, string>>;
  readonly targets: Map<string, TargetState>;
  /** When each target began to drain, in milliseconds since the epoch. */
  readonly draining: Map<string, number>;
}

interface Rule {
  readonly arn: string;
  priority: number;
  conditions: Message[];
  actions: Message[];
  tags: Message[];
  /** DescribeRules calls until the rule is visible. */
  hidden: number;
}

const notFound = (what: string): AwsError => new AwsError(`${what}NotFound`, `One or more ${what} not found`, 400);

const groupsOf = ({ actions }: Rule): { arn: string; weight: number }[] =>
  actions.flatMap(({ TargetGroupArn, ForwardConfig }: Message) => {
    const several: Message[] = ForwardConfig?.TargetGroups ?? [];
    if (several.length === 0) return TargetGroupArn === undefined ? [] : [{ arn: TargetGroupArn, weight: 1 }];
    return several.map((one) => ({ arn: one.TargetGroupArn, weight: Number(one.Weight ?? 1) }));
  });

const hostsOf = ({ conditions }: Rule): string[] =>
  conditions.flatMap(({ Field, Values, HostHeaderConfig }) =>
    Field === "host-header" ? (HostHeaderConfig?.Values ?? Values ?? []) : [],
  );

export interface FakeBalancerOptions {
  /** https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html */
  readonly rules?: number;
  /** The group's target as `HOST:PORT`; undefined: it has none. */
  readonly target?: (group: string) => Promise<string | undefined>;
  readonly mean?: Mean;
  /** Defaults to the machine's. */
  readonly clock?: Pick<Clock, "now">;
}

export const startFakeBalancer = async ({
  rules: maxRules = 100,
  target = async () => undefined,
  mean = friendly,
  clock,
}: FakeBalancerOptions = {}) => {
  const now = (): number => (clock === undefined ? Date.now() : millisOf(clock.now()));
  const faults = new Faults();
  const groups = new Map<string, Group>();
  const rules = new Map<string, Rule>();
  /**
   * "There is some eventual consistency at play here": deletions that still see a deleted rule
   * (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4848), and reads that miss a new rule.
   */
  const settings = { deletionsInUse: 0, looksUntilVisible: 0 };

  const group = (arn: string): Group => {
    const found = groups.get(arn);
    if (found === undefined) throw notFound("TargetGroup");
    return found;
  };

  const isNamed = (arn: string): boolean =>
    [...rules.values()].some((rule) => groupsOf(rule).some((one) => one.arn === arn));

  const groupView = ({ input, arn }: Group): Message => {
    const { Tags: _tags, Name, ...rest } = input;
    return { TargetGroupArn: arn, TargetGroupName: Name, ...rest, LoadBalancerArns: isNamed(arn) ? [BALANCER] : [] };
  };

  const ruleView = ({ arn, priority, conditions, actions }: Rule): Message => ({
    RuleArn: arn,
    Priority: String(priority),
    Conditions: conditions,
    Actions: actions,
    IsDefault: false,
  });

  const byPriority = (): Rule[] => [...rules.values()].sort((a, b) => a.priority - b.priority);

  const checked = (rule: Rule): Rule => {
    checkRule(rule.conditions, rule.actions);
    const named = groupsOf(rule).map(({ arn }) => group(arn));
    const isSticky = named.some(({ attributes }) => attributes["stickiness.enabled"] === "true");
    const withGroups = rule.actions.some(
      ({ ForwardConfig }) => ForwardConfig?.TargetGroupStickinessConfig?.Enabled === "true",
    );
    if (mean.has("sticky_groups_refused") && named.length > 1 && isSticky && !withGroups)
      throw new AwsError(
        "InvalidConfigurationRequest",
        "You must enable group stickiness on a rule if you enabled target stickiness on one of its target groups",
      );
    return rule;
  };

  const methods = {
    CreateTargetGroup: (input: Message) => {
      checkGroup(input);
      const same = [...groups.values()].find((one) => one.input.Name === input.Name);
      // "If you attempt to create multiple target groups with the same settings, each call succeeds."
      if (same !== undefined && JSON.stringify(same.input) !== JSON.stringify(input))
        throw new AwsError("DuplicateTargetGroupName", `A target group with the name '${input.Name}' exists`);
      const arn = same?.arn ?? `${ARN}:targetgroup/${input.Name}/${randomUUID().replaceAll("-", "").slice(0, 16)}`;
      const made = same ?? { input, arn, attributes: {}, targets: new Map(), draining: new Map() };
      groups.set(arn, made);
      return { TargetGroups: [groupView(made)] };
    },
    DescribeTargetGroups: ({ Names }: Message) => {
      const found = [...groups.values()].filter(({ input }) => Names?.includes(input.Name) ?? true);
      if (Names !== undefined && found.length < Names.length) throw notFound("TargetGroup");
      return { TargetGroups: found.map(groupView) };
    },
    ModifyTargetGroupAttributes: ({ TargetGroupArn, Attributes }: Message) => {
      const found = group(TargetGroupArn);
      const given = Object.fromEntries(Attributes.map(({ Key, Value }: Message) => [Key, Value]));
      found.attributes = { ...found.attributes, ...given };
      return { Attributes };
    },
    DeleteTargetGroup: ({ TargetGroupArn }: Message) => {
      // "You can delete a target group if it is not referenced by any actions."
      if (isNamed(TargetGroupArn) || settings.deletionsInUse-- > 0)
        throw new AwsError(
          "ResourceInUse",
          `Target group '${TargetGroupArn}' is currently in use by a listener or a rule`,
        );
      // Assumption: deleting a missing group succeeds, as with load balancers.
      groups.delete(TargetGroupArn);
      return {};
    },
    DescribeTargetHealth: ({ TargetGroupArn }: Message) => {
      const found = group(TargetGroupArn);
      const health = [...found.targets].map(([id, state]) => ({
        Target: { Id: id, Port: found.input.Port },
        // "Target.NotInUse - The target group is not used by any load balancer".
        TargetHealth: { State: isNamed(TargetGroupArn) ? state : "unused" },
      }));
      // A draining target is visible once; no requests are in flight here.
      const delay = Number(found.attributes["deregistration_delay.timeout_seconds"] ?? 300) * 1000;
      for (const [id, state] of found.targets) {
        const isShown = mean.has("draining_shown") && now() < (found.draining.get(id) ?? 0) + delay;
        if (state === "draining" && !isShown) found.targets.delete(id);
      }
      return { TargetHealthDescriptions: health };
    },
    CreateRule: ({ ListenerArn, Conditions, Priority, Actions, Tags = [] }: Message) => {
      if (ListenerArn !== LISTENER) throw notFound("Listener");
      checkTags(Tags);
      const priority = Number(Priority);
      if (!(priority >= 1 && priority <= 50_000))
        throw new AwsError("ValidationError", "'priority' must be between 1 and 50000");
      if ([...rules.values()].some((rule) => rule.priority === priority))
        throw new AwsError("PriorityInUse", `Priority '${priority}' is currently in use`);
      if (rules.size >= maxRules) throw new AwsError("TooManyRules", "The maximum number of rules has been reached");
      const id = randomUUID().replaceAll("-", "").slice(0, 16);
      const arn = `${LISTENER.replace(":listener/", ":listener-rule/")}/${id}`;
      const hidden = settings.looksUntilVisible;
      const rule = checked({ arn, priority, conditions: Conditions, actions: Actions, tags: Tags, hidden });
      rules.set(arn, rule);
      return { Rules: [ruleView(rule)] };
    },
    ModifyRule: ({ RuleArn, Conditions, Actions }: Message) => {
      const rule = rules.get(RuleArn);
      if (rule === undefined) throw notFound("Rule");
      // "Any properties that you do not specify are unchanged."
      const next = checked({
        ...rule,
        hidden: 0,
        conditions: Conditions ?? rule.conditions,
        actions: Actions ?? rule.actions,
      });
      rules.set(RuleArn, next);
      return { Rules: [ruleView(next)] };
    },
    DeleteRule: ({ RuleArn }: Message) => {
      if (!rules.delete(RuleArn)) throw notFound("Rule");
      return {};
    },
    DescribeListeners: ({ ListenerArns = [LISTENER] }: Message) => {
      if (ListenerArns.some((one: string) => one !== LISTENER)) throw notFound("Listener");
      return { Listeners: [{ ListenerArn: LISTENER, Protocol: "HTTP" }] };
    },
    DescribeRules: ({ ListenerArn, Marker, PageSize = "400" }: Message) => {
      if (ListenerArn !== LISTENER) throw notFound("Listener");
      const from = Number(Marker ?? 0);
      const all = [
        ...byPriority()
          .filter((rule) => rule.hidden-- <= 0)
          .map(ruleView),
        {
          RuleArn: `${LISTENER}/default`,
          Priority: "default",
          Conditions: [],
          Actions: [{ Type: "fixed-response" }],
          IsDefault: true,
        },
      ];
      const to = from + Number(PageSize);
      return { Rules: all.slice(from, to), NextMarker: to < all.length ? String(to) : undefined };
    },
  };

  /** The group that receives a host's requests; if a rule has several, the one with the greatest weight. */
  const groupFor = (host: string): string | undefined => {
    const rule = byPriority().find((one) => hostsOf(one).includes(host));
    return rule === undefined ? undefined : groupsOf(rule).toSorted((a, b) => b.weight - a.weight)[0]?.arn;
  };

  const isWell = (arn: string): boolean => [...(groups.get(arn)?.targets.values() ?? [])].includes("healthy");

  const listener = await startListener(async (host) => {
    const arn = groupFor(host);
    if (arn === undefined) return { status: 404 };
    // The listener speaks cleartext HTTP/1.1, as on AWS, where only HTTPS has HTTP/2.
    if (mean.has("http1_refused") && groups.get(arn)?.input.ProtocolVersion === "HTTP2") return { status: 464 };
    // "If there are no healthy targets ... 503" (load-balancer-troubleshooting).
    const at = isWell(arn) ? await target(arn) : undefined;
    return at === undefined ? { status: 503 } : { target: at };
  });
  const server = await serveAws(faults, queryProtocol(methods));
  const client = recorded("balancer", new ElasticLoadBalancingV2Client(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    settings,
    port: listener.port,
    rules: (): readonly Message[] => byPriority().map((rule) => ({ ...ruleView(rule), Tags: rule.tags })),
    groups: (): readonly Message[] =>
      [...groups.values()].map((one) => ({ ...groupView(one), Tags: one.input.Tags, attributes: one.attributes })),
    groupFor,
    /** ECS accepts a group only if a load balancer references it. */
    isAssociated: (arn: string): boolean => groups.has(arn) && isNamed(arn),
    /** Undefined deregisters the target. */
    setTarget: (arn: string, id: string, state: TargetState | undefined): void => {
      const found = groups.get(arn);
      if (state === undefined) found?.targets.delete(id);
      else found?.targets.set(id, state);
      if (state === "draining") found?.draining.set(id, now());
    },
    /** Changes things by hand, as in the console. */
    act: methods,
    close: async () => {
      client.destroy();
      await server.close();
      listener.close();
    },
  };
};

export type FakeBalancer = Awaited<ReturnType<typeof startFakeBalancer>>;
