/**
 * Fake Application Load Balancers with one listener each: rules, target groups and their health, from the model and
 * documentation of client-elastic-load-balancing-v2. All accept connections at one address, and route requests by their
 * rules.
 */
import { randomUUID } from "node:crypto";
import { ElasticLoadBalancingV2Client } from "@aws-sdk/client-elastic-load-balancing-v2";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { type AdverseBehaviors, noneAdverse } from "../adverse.ts";
import { balancerBuckets, limitRates } from "../call-rates.ts";
import { clientOptions, type Message, queryProtocol } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";
import { ACCOUNT, REGION } from "../test-config.ts";
import { checkHealth, type TargetDetail } from "./health-check.ts";
import { type Route, type RoutedRequest, startListener } from "./listener.ts";
import { cookiesFor, sessionIn } from "./stickiness.ts";
import { checkGroup, checkRule, checkTags } from "./validation.ts";

const ARN = `arn:aws:elasticloadbalancing:${REGION}:${ACCOUNT}`;
/** The listener of a load balancer, with the name that the template gives it; the first has the index 0. */
export const listenerAt = (index: number): string =>
  `${ARN}:listener/app/portside${index === 0 ? "" : `-${index + 1}`}/50dc6c495c0c9188/f2f7dc8efc522ab2`;
export const LISTENER = listenerAt(0);

/** The DNS name of a load balancer; the first has the index 0. */
export const balancerHostAt = (index: number): string =>
  `portside${index === 0 ? "" : `-${index + 1}`}-1234567890.${REGION}.elb.amazonaws.com`;

const balancerOf = (listener: string): string =>
  listener.replace(":listener/", ":loadbalancer/").split("/").slice(0, -1).join("/");

export type TargetState = "initial" | "healthy" | "unhealthy" | "draining";

interface Group {
  readonly input: Message;
  readonly arn: string;
  attributes: Readonly<Record<string, string>>;
  readonly targets: Map<string, TargetState>;
  /** Why each unhealthy target failed its last check. */
  readonly details: Map<string, TargetDetail>;
  /** When each target began to drain, in milliseconds since the epoch. */
  readonly draining: Map<string, number>;
}

interface Rule {
  readonly arn: string;
  readonly listener: string;
  priority: number;
  conditions: Message[];
  actions: Message[];
  tags: Message[];
  /** DescribeRules calls until the rule is visible. */
  hidden: number;
}

/** https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetHealth.html */
const reasons: Readonly<Record<TargetState, object>> = {
  initial: { Reason: "Elb.InitialHealthChecking", Description: "Initial health checks in progress" },
  healthy: {},
  unhealthy: {},
  draining: { Reason: "Target.DeregistrationInProgress", Description: "Target deregistration is in progress" },
};

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
  /** The number of load balancers. */
  readonly balancers?: number;
  /**
   * The limit of rules for each load balancer.
   * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
   */
  readonly rules?: number;
  /** The limit of target groups for each load balancer. */
  readonly targetGroups?: number;
  /** The limit of certificates for each load balancer, besides the default one. */
  readonly certificates?: number;
  /** Whether a certificate exists and is issued, by ARN. */
  readonly isIssued?: (certificate: string) => boolean;
  /** A target of the group as `HOST:PORT`; undefined: it does not answer. */
  readonly target?: (group: string, id: string) => Promise<string | undefined>;
  readonly adverse?: AdverseBehaviors;
  /** Defaults to the machine's. */
  readonly clock?: Pick<Clock, "now">;
}

export const startFakeBalancer = async ({
  balancers = 1,
  rules: maxRules = 100,
  targetGroups: maxGroups = 100,
  certificates: maxCertificates = 25,
  isIssued = () => false,
  target = async () => undefined,
  adverse = noneAdverse,
  clock,
}: FakeBalancerOptions = {}) => {
  const now = (): number => (clock === undefined ? Date.now() : millisOf(clock.now()));
  const faults = new Faults();
  const rates = limitRates(balancerBuckets, adverse.has("call_rates"), now);
  const groups = new Map<string, Group>();
  const rules = new Map<string, Rule>();
  /**
   * "There is some eventual consistency at play here"
   * (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4848): how many deletions still see a deleted
   * rule, and how many reads miss a new rule.
   */
  const settings = { deletionsInUse: 0, looksUntilVisible: 0 };

  const listeners = Array.from({ length: balancers }, (_, index) => listenerAt(index));
  /** The certificates of each listener besides the default one. */
  const certificates = new Map<string, Set<string>>();
  const checkListener = (arn: string): void => {
    if (!listeners.includes(arn)) throw notFound("Listener");
  };

  const group = (arn: string): Group => {
    const found = groups.get(arn);
    if (found === undefined) throw notFound("TargetGroup");
    return found;
  };

  const rulesWith = (arn: string): Rule[] =>
    [...rules.values()].filter((rule) => groupsOf(rule).some((one) => one.arn === arn));
  const isNamed = (arn: string): boolean => rulesWith(arn).length > 0;

  const groupView = ({ input, arn }: Group): Message => {
    const { Tags: _tags, Name, ...rest } = input;
    const LoadBalancerArns = [...new Set(rulesWith(arn).map(({ listener }) => balancerOf(listener)))];
    return { TargetGroupArn: arn, TargetGroupName: Name, ...rest, LoadBalancerArns };
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
    if (adverse.has("sticky_groups_refused") && named.length > 1 && isSticky && !withGroups)
      throw new AwsError(
        "InvalidConfigurationRequest",
        "You must enable group stickiness on a rule if you enabled target stickiness on one of its target groups",
      );
    // "You've reached the limit on the number of unique target groups per load balancer across all listeners."
    const others = [...rules.values()].filter(({ arn, listener }) => listener === rule.listener && arn !== rule.arn);
    if (new Set([...others, rule].flatMap(groupsOf).map(({ arn }) => arn)).size > maxGroups)
      throw new AwsError(
        "TooManyUniqueTargetGroupsPerLoadBalancer",
        "The maximum number of unique target groups per load balancer has been reached",
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
      const made = same ?? { input, arn, attributes: {}, targets: new Map(), details: new Map(), draining: new Map() };
      groups.set(arn, made);
      return { TargetGroups: [groupView(made)] };
    },
    DescribeTargetGroups: ({ Names }: Message) => {
      const found = [...groups.values()].filter(({ input }) => Names?.includes(input.Name) ?? true);
      if (Names !== undefined && found.length < Names.length) throw notFound("TargetGroup");
      return { TargetGroups: found.map(groupView) };
    },
    ModifyTargetGroup: ({ TargetGroupArn, ...settings }: Message) => {
      const found = group(TargetGroupArn);
      const next = { ...found.input, ...settings };
      checkGroup(next);
      groups.set(TargetGroupArn, { ...found, input: next });
      return { TargetGroups: [groupView({ ...found, input: next })] };
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
        TargetHealth: isNamed(TargetGroupArn)
          ? { State: state, ...(state === "unhealthy" ? found.details.get(id) : reasons[state]) }
          : { State: "unused", Reason: "Target.NotInUse" },
      }));
      // A draining target is visible once; no requests are in flight here.
      const delay = Number(found.attributes["deregistration_delay.timeout_seconds"] ?? 300) * 1000;
      for (const [id, state] of found.targets) {
        const isShown = adverse.has("draining_shown") && now() < (found.draining.get(id) ?? 0) + delay;
        if (state === "draining" && !isShown) found.targets.delete(id);
      }
      return { TargetHealthDescriptions: health };
    },
    CreateRule: ({ ListenerArn, Conditions, Priority, Actions, Tags = [] }: Message) => {
      checkListener(ListenerArn);
      const own = [...rules.values()].filter(({ listener }) => listener === ListenerArn);
      checkTags(Tags);
      const priority = Number(Priority);
      if (!(priority >= 1 && priority <= 50_000))
        throw new AwsError("ValidationError", "'priority' must be between 1 and 50000");
      if (own.some((rule) => rule.priority === priority))
        throw new AwsError("PriorityInUse", `Priority '${priority}' is currently in use`);
      if (own.length >= maxRules) throw new AwsError("TooManyRules", "The maximum number of rules has been reached");
      const id = randomUUID().replaceAll("-", "").slice(0, 16);
      const arn = `${ListenerArn.replace(":listener/", ":listener-rule/")}/${id}`;
      const made = { arn, listener: ListenerArn, priority, conditions: Conditions, actions: Actions, tags: Tags };
      const rule = checked({ ...made, hidden: settings.looksUntilVisible });
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
    DescribeLoadBalancers: ({ LoadBalancerArns }: Message) => {
      const known = new Map(listeners.map((listener, index) => [balancerOf(listener), balancerHostAt(index)]));
      if (!LoadBalancerArns.every((one: string) => known.has(one))) throw notFound("LoadBalancer");
      const LoadBalancers = LoadBalancerArns.map((one: string) => ({ LoadBalancerArn: one, DNSName: known.get(one) }));
      return { LoadBalancers };
    },
    // "If the certificate in already in the certificate list, the call is successful but the certificate is not added
    // again."
    AddListenerCertificates: ({ ListenerArn, Certificates: [{ CertificateArn }] }: Message) => {
      checkListener(ListenerArn);
      if (!isIssued(CertificateArn))
        throw new AwsError("CertificateNotFound", `Certificate '${CertificateArn}' not found`);
      const own = certificates.get(ListenerArn) ?? new Set();
      if (!own.has(CertificateArn) && own.size >= maxCertificates)
        throw new AwsError("TooManyCertificates", "The maximum number of certificates has been reached");
      certificates.set(ListenerArn, own.add(CertificateArn));
      return { Certificates: [{ CertificateArn, IsDefault: false }] };
    },
    RemoveListenerCertificates: ({ ListenerArn, Certificates: [{ CertificateArn }] }: Message) => {
      checkListener(ListenerArn);
      // https://github.com/hashicorp/terraform-provider-aws/issues/35403
      if (!certificates.get(ListenerArn)?.delete(CertificateArn))
        throw new AwsError("CertificateNotFound", `Certificate '${CertificateArn}' not found`);
      return {};
    },
    DescribeListeners: ({ ListenerArns = listeners }: Message) => {
      for (const one of ListenerArns) checkListener(one);
      return { Listeners: ListenerArns.map((ListenerArn: string) => ({ ListenerArn, Protocol: "HTTP" })) };
    },
    DescribeRules: ({ ListenerArn, Marker, PageSize = "400" }: Message) => {
      checkListener(ListenerArn);
      const from = Number(Marker ?? 0);
      const all = [
        ...byPriority()
          .filter(({ listener }) => listener === ListenerArn)
          .filter((rule) => rule.hidden-- <= 0)
          .map(ruleView),
        {
          RuleArn: `${ListenerArn}/default`,
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

  const ruleFor = (host: string): Rule | undefined => byPriority().find((one) => hostsOf(one).includes(host));

  const heaviest = (rule: Rule): string | undefined => groupsOf(rule).toSorted((a, b) => b.weight - a.weight)[0]?.arn;

  /** The group that receives a host's requests; if a rule has several, the one with the greatest weight. */
  const groupFor = (host: string): string | undefined => {
    const rule = ruleFor(host);
    return rule && heaviest(rule);
  };

  /** The group of a request, and the cookies that keep its client there. */
  const chooseGroup = (rule: Rule, { cookies }: RoutedRequest) => {
    const sticky = rule.actions[0]?.ForwardConfig?.TargetGroupStickinessConfig;
    if (sticky?.Enabled !== "true") return { arn: heaviest(rule), setCookies: [] };
    const known = sessionIn(cookies, "AWSALBTG", now())?.group;
    const arn = groupsOf(rule).find((one) => one.arn === known)?.arn ?? heaviest(rule);
    if (arn === undefined) return { arn, setCookies: [] };
    return { arn, setCookies: cookiesFor("AWSALBTG", { group: arn }, Number(sticky.DurationSeconds), now()) };
  };

  /** A healthy target of the group, and the cookies that keep the client there. */
  const chooseTarget = ({ arn, attributes, targets }: Group, { cookies }: RoutedRequest) => {
    const healthy = [...targets].flatMap(([id, state]) => (state === "healthy" ? [id] : []));
    const isSticky = attributes["stickiness.enabled"] === "true";
    const known = isSticky ? sessionIn(cookies, "AWSALB", now()) : undefined;
    const kept = healthy.find((id) => known?.group === arn && known.target === id);
    const id = kept ?? healthy[requests++ % healthy.length];
    if (id === undefined || !isSticky) return { id, setCookies: [] };
    const seconds = Number(attributes["stickiness.lb_cookie.duration_seconds"] ?? 86_400);
    return { id, setCookies: cookiesFor("AWSALB", { group: arn, target: id }, seconds, now()) };
  };

  let requests = 0;
  const choose = async (request: RoutedRequest): Promise<Route> => {
    const rule = ruleFor(request.host);
    const { arn, setCookies } = rule === undefined ? { setCookies: [] } : chooseGroup(rule, request);
    const chosen = arn === undefined ? undefined : groups.get(arn);
    if (chosen === undefined) return { status: 404 };
    const isHttp2 = chosen.input.ProtocolVersion === "HTTP2";
    if (adverse.has("http1_refused") && isHttp2 && !request.isHttp2) return { status: 464 };
    const { id, setCookies: ofTarget } = chooseTarget(chosen, request);
    // "If there are no healthy targets ... 503" (load-balancer-troubleshooting).
    const at = id === undefined ? undefined : await target(chosen.arn, id);
    if (at === undefined) return { status: 503 };
    return { target: at, isHttp2: isHttp2 && request.isHttp2, setCookies: [...setCookies, ...ofTarget] };
  };

  const listener = await startListener(choose);
  const server = await serveAws(faults, queryProtocol(rates.limited(methods)));
  const client = recorded("balancer", new ElasticLoadBalancingV2Client(clientOptions(server.endpoint)));
  return {
    faults,
    client,
    settings,
    /** Calls that exceeded a rate. */
    throttled: rates.refused,
    port: listener.port,
    /** The port with TLS, and so with HTTP/2. */
    securePort: listener.securePort,
    rules: (): readonly Message[] => byPriority().map((rule) => ({ ...ruleView(rule), Tags: rule.tags })),
    groups: (): readonly Message[] =>
      [...groups.values()].map((one) => ({ ...groupView(one), Tags: one.input.Tags, attributes: one.attributes })),
    groupFor,
    /** The certificates of a listener besides the default one. */
    certificatesOf: (listener: string): readonly string[] => [...(certificates.get(listener) ?? [])],
    /** The ARNs of the load balancers that use a certificate. */
    usersOf: (certificate: string): readonly string[] =>
      [...certificates].flatMap(([listener, own]) => (own.has(certificate) ? [balancerOf(listener)] : [])),
    /** ECS accepts a group only if a load balancer references it. */
    isAssociated: (arn: string): boolean => groups.has(arn) && isNamed(arn),
    isHttp2: (arn: string): boolean => groups.get(arn)?.input.ProtocolVersion === "HTTP2",
    /** Sends one health check of the group to an address. Undefined: the target passed. */
    check: async (arn: string, url: string): Promise<TargetDetail | undefined> => {
      const { input } = group(arn);
      return checkHealth(url, input);
    },
    /** The settings of a group's health checks. */
    checksOf: (arn: string): { readonly intervalMillis: number; readonly failures: number } => {
      const { input } = group(arn);
      const { HealthCheckIntervalSeconds: interval = 30, UnhealthyThresholdCount: failures = 2 } = input;
      return { intervalMillis: Number(interval) * 1000, failures: Number(failures) };
    },
    /** An undefined state deregisters the target. */
    setTarget: (arn: string, id: string, state: TargetState | undefined, detail?: TargetDetail): void => {
      const found = groups.get(arn);
      if (detail !== undefined) found?.details.set(id, detail);
      if (state === undefined) found?.targets.delete(id);
      else found?.targets.set(id, state);
      if (state === "draining") found?.draining.set(id, now());
    },
    /** Makes changes as an operator would in the console. */
    act: methods,
    /** Gives a load balancer rules of other deployments. */
    occupy: (index: number, deployments: number): void => {
      for (let at = 1; at <= deployments; at++) {
        const name = `portside-${index}-${at}`;
        const made = methods.CreateTargetGroup({ Name: name, Protocol: "HTTP", Port: "80", VpcId: "vpc-1" });
        methods.CreateRule({
          ListenerArn: listenerAt(index),
          Priority: String(50_000 - at),
          Conditions: [{ Field: "host-header", HostHeaderConfig: { Values: [`${name}.portside.test`] } }],
          Actions: [{ Type: "forward", TargetGroupArn: made.TargetGroups[0].TargetGroupArn }],
        });
      }
    },
    close: async () => {
      client.destroy();
      await server.close();
      listener.close();
    },
  };
};

export type FakeBalancer = Awaited<ReturnType<typeof startFakeBalancer>>;
