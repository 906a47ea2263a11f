/** Starts the fakes that a rollout needs, with their official clients. */

import type { Identities } from "../../../../adapters/aws/accounts/identities.ts";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import type { SharedResources } from "../../../../adapters/aws/config.ts";
import type { Mountable } from "../../../../adapters/aws/deploy/rollout/prepare.ts";
import type { RolloutSecrets } from "../../../../adapters/aws/secrets/secret-store.ts";
import { canBeAccessPoint } from "../../../../adapters/aws/volumes/files/access-point.ts";
import type { LastLines } from "../../../../adapters/cloud/deploy/last-lines.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { ok, okAsync } from "../../../../core/result.ts";
import type { RunEngine, RunLine } from "../../engine/engine.ts";
import { type AdverseBehaviors, FILE_POLICY_LATE_MS, linkedRole, noneAdverse, ROLE_LATE_MS } from "../adverse.ts";
import { startFakeRegistry } from "../ecr/registry.ts";
import { LISTENER, listenerAt, startFakeBalancer } from "../elbv2/balancer.ts";
import { startFakeScaling } from "../scaling/scaling.ts";
import type { SecretOf } from "../secrets/server.ts";
import { ACCOUNT, awsConfig, REGION } from "../test-config.ts";
import { resolveLocally } from "../wildcard-dns.ts";
import { CLUSTER, type FakeEcs, startFakeEcs, type TaskLine } from "./ecs.ts";
import { startStateBucket } from "./state-bucket.ts";

const DOMAIN = "apps.portside.test";

/** The shared resources, with the port of the load balancer. */
export const sharedResources = (port: number): SharedResources => ({
  ...awsConfig.shared,
  cluster: CLUSTER,
  listenerArn: LISTENER,
  domain: `${DOMAIN}:${port}`,
  scheme: "http",
});

interface MadeEngine {
  readonly engine: RunEngine;
  close(): unknown;
}

export interface EcsWorldOptions<E extends MadeEngine = MadeEngine> {
  readonly engine: (onLine: (line: RunLine) => void) => Promise<E>;
  /** The number of load balancers. */
  readonly balancers?: number;
  /** The limit of rules of each load balancer. */
  readonly rules?: number;
  /** The limit of target groups of each load balancer. */
  readonly targetGroups?: number;
  readonly onLine?: (line: TaskLine) => void;
  readonly adverse?: AdverseBehaviors;
  /** Whether a file system, given by ARN, allows mounts; defaults to what `adverse` says. */
  readonly canMount?: (fileSystem: string) => boolean;
  /** Whether a role can be passed to ECS yet; defaults to what `adverse` says about task roles. */
  readonly canPass?: (role: string) => boolean;
  /** The value of a secret for an execution role; defaults to no secrets. */
  readonly secretOf?: SecretOf;
  /** Defaults to the machine's. */
  readonly clock?: Clock;
}

/**
 * Fake roles without IAM: every account's role has permissions on existing buckets.
 *
 * @param since when each role was created, in milliseconds
 */
const fakeRoles = (isGone: (bucket: string) => boolean, since: Map<string, number>, now: () => number): Identities => ({
  ensure: async (owner) => {
    const arn = `arn:aws:iam::${ACCOUNT}:role/portside-${accountDigest(owner)}`;
    if (!since.has(arn)) since.set(arn, now());
    return ok(arn);
  },
  ensureExecution: async (owner) => ok(`arn:aws:iam::${ACCOUNT}:role/portside-execution-${accountDigest(owner)}`),
  isNew: (arn) => now() - (since.get(arn) ?? 0) < 2 * ROLE_LATE_MS,
  allow: async (bucket) => ok(!isGone(bucket)),
});

/** No account has secrets. */
const noSecrets: RolloutSecrets = { arns: () => okAsync(new Map()), values: () => okAsync([]) };

export const openEcsWorld = async <E extends MadeEngine>(options: EcsWorldOptions<E>) => {
  const { adverse = noneAdverse, clock } = options;
  const now = (): number => (clock === undefined ? Date.now() : millisOf(clock.now()));
  const rolesSince = new Map<string, number>();
  /** When each file system got its policy, in milliseconds. */
  const policiesSince = new Map<string, number>();
  const lines: TaskLine[] = [];
  const gone = new Set<string>();
  let ecs: FakeEcs | undefined;
  const state = await startStateBucket();
  const registry = await startFakeRegistry();
  const scaling = await startFakeScaling();
  const { balancers = 1 } = options;
  const balancer = await startFakeBalancer({
    balancers,
    ...(options.rules === undefined ? {} : { rules: options.rules }),
    ...(options.targetGroups === undefined ? {} : { targetGroups: options.targetGroups }),
    ...(clock && { clock }),
    adverse,
    target: async (group) => {
      const service = ecs?.serviceIn(group);
      return service === undefined ? undefined : URL.parse((await ecs?.engine.url(service)) ?? "")?.host;
    },
  });
  let made: E | undefined;
  ecs = await startFakeEcs({
    balancer,
    engine: async (onLine) => {
      made = await options.engine(onLine);
      return made.engine;
    },
    resolveImage: (reference) => registry.resolve(reference),
    canPass:
      options.canPass ?? ((role) => !adverse.has("role_late") || now() - (rolesSince.get(role) ?? 0) >= ROLE_LATE_MS),
    canAssume: linkedRole(adverse, now),
    adverse,
    canMount:
      options.canMount ??
      ((fileSystem) =>
        !adverse.has("file_policy_late") || now() - (policiesSince.get(fileSystem) ?? 0) >= FILE_POLICY_LATE_MS),
    ...(options.secretOf && { secretOf: options.secretOf }),
    now,
    onLine: (line) => {
      lines.push(line);
      options.onLine?.(line);
    },
  });
  const endDns = resolveLocally(DOMAIN);
  const lastLines: LastLines = async ({ owner, service, revision }) =>
    lines
      .filter(
        ({ stream, line }) =>
          stream.startsWith(`${accountDigest(owner)}/${service}/${revision}/`) && line.log !== "requests",
      )
      .map(({ line: { text, json } }) => ({ system: false, text: text ?? JSON.stringify(json) }));
  const mountable: Mountable = async (bucket, { subPath } = {}) => {
    const fileSystem = `arn:aws:s3files:${REGION}:${ACCOUNT}:file-system/${bucket}`;
    if (!policiesSince.has(fileSystem)) policiesSince.set(fileSystem, now());
    const accessPoint = canBeAccessPoint(subPath) ? `${fileSystem}/access-point/${subPath ?? "root"}` : undefined;
    return ok(gone.has(bucket) ? undefined : { fileSystem, accessPoint });
  };
  const clients = {
    ecs: ecs.client,
    balancer: balancer.client,
    scaling: scaling.client,
    registry: registry.client,
    s3: state.client,
  };
  return {
    state,
    registry,
    scaling,
    balancer,
    ecs,
    made: made as E,
    lines: lines as readonly TaskLine[],
    /** Buckets that do not exist. */
    gone,
    config: {
      region: REGION,
      releasesKept: awsConfig.releasesKept,
      settleSeconds: 0,
      shared: {
        ...sharedResources(balancer.port),
        moreListenerArns: Array.from({ length: balancers - 1 }, (_, index) => listenerAt(index + 1)),
      },
    },
    clients: clientSource(REGION, clients),
    given: clients,
    needs: {
      secrets: noSecrets,
      identities: fakeRoles((bucket) => gone.has(bucket), rolesSince, now),
      mountable,
      lastLines,
    },
    close: async () => {
      endDns();
      for (const one of [ecs, balancer, scaling, registry, state]) await one.close();
      await made?.close();
    },
  };
};
