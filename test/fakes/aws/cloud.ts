/** All AWS fakes combined into one account: builds run, their lines appear in the log, and buckets can be mounted. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AwsClients } from "../../../adapters/aws/clients.ts";
import type { AwsConfigInput, SharedResources } from "../../../adapters/aws/config.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { has } from "../../support/vitest/machine.ts";
import { simulatedBuild } from "../engine/builds.ts";
import { createFakeEngine, type RunEngine, type RunLine } from "../engine/engine.ts";
import { createLocalEngine } from "../engine/local-engine.ts";
import { fakeAccount } from "./account.ts";
import { createFakeDns } from "./acm/dns.ts";
import { startFakeAcm } from "./acm/server.ts";
import {
  type AdverseBehaviors,
  FILE_POLICY_LATE_MS,
  LOG_READS_PER_SECOND,
  linkedRole,
  noneAdverse,
  ROLE_LATE_MS,
} from "./adverse.ts";
import { startFakeAthena } from "./athena/server.ts";
import { startFakeCloudWatchMetrics } from "./cloudwatch/server.ts";
import { BUILD_LOGS, startFakeCodeBuild } from "./codebuild/codebuild.ts";
import { startFakeRegistry } from "./ecr/registry.ts";
import { CLUSTER, type FakeEcs, startFakeEcs } from "./ecs/ecs.ts";
import { LISTENER, listenerAt, startFakeBalancer } from "./elbv2/balancer.ts";
import { startFakeIam } from "./iam/server.ts";
import { startFakeCloudWatch } from "./logs/server.ts";
import { startFakeS3 } from "./s3/index.ts";
import { startFakeS3Files } from "./s3files/server.ts";
import { startFakeScaling } from "./scaling/scaling.ts";
import { startFakeEventBridge } from "./scheduler/server.ts";
import { startFakeSecrets } from "./secrets/server.ts";
import { awsConfig } from "./test-config.ts";
import { resolveLocally } from "./wildcard-dns.ts";

/**
 * The doctor's IAM calls, including those about the stack's roles. All other IAM calls concern the roles of accounts.
 */
const LOOKS = ["SimulatePrincipalPolicyCommand", "GetAccountSummaryCommand", "GetRoleCommand"];

type Send = (command: object, ...rest: unknown[]) => Promise<unknown>;

export interface FakeCloudOptions {
  /** Defaults to the machine's. */
  readonly clock?: Clock;
  readonly adverse?: AdverseBehaviors;
  /** The scheme of the listener; defaults to `http`. */
  readonly scheme?: SharedResources["scheme"];
  /** The number of load balancers; defaults to 1. */
  readonly balancers?: number;
  /** The limit of certificates of each load balancer; defaults to 25. */
  readonly maxCertificates?: number;
}

/** @param services whether services run as local processes or are simulated */
export const startFakeCloud = async (
  services: "real" | "simulated" = "real",
  {
    clock = createSystemClock(),
    adverse = noneAdverse,
    scheme = "http",
    balancers = 1,
    maxCertificates = 25,
  }: FakeCloudOptions = {},
) => {
  const now = () => millisOf(clock.now());
  const folder = await mkdtemp(join(tmpdir(), "portside-fake-buckets-"));
  const { shared: parts } = awsConfig;
  const s3 = await startFakeS3({ clock, folder, buckets: [parts.stateBucket] });
  const files = await startFakeS3Files({ buckets: s3.world.live, now });
  files.looks = 0;
  const iam = await startFakeIam({ now });
  const secrets = await startFakeSecrets({ iam, adverse, now });
  const logs = await startFakeCloudWatch({ clock, adverse, groups: [parts.logGroup, BUILD_LOGS] });
  const scheduler = await startFakeEventBridge({ clock, logs: logs.client });
  const athena = await startFakeAthena({ events: logs.events });
  const registry = await startFakeRegistry();
  const scaling = await startFakeScaling();
  const metrics = await startFakeCloudWatchMetrics(clock);
  let ecs: FakeEcs | undefined;
  const dns = createFakeDns(balancers);
  const acm = await startFakeAcm({ adverse, now, usersOf: (arn) => balancer.usersOf(arn) });
  const balancer = await startFakeBalancer({
    balancers,
    certificates: maxCertificates,
    isIssued: acm.isIssued,
    clock,
    adverse,
    target: async (group) => {
      const service = ecs?.serviceIn(group);
      return service === undefined ? undefined : URL.parse((await ecs?.engine.url(service)) ?? "")?.host;
    },
  });
  const engineOf = async (onLine: (line: RunLine) => void) =>
    services === "real"
      ? createLocalEngine({ onLine, buckets: folder, runner: has("bubblewrap") ? "bubblewrap" : "process" })
      : { ...(await createFakeEngine(onLine)), build: simulatedBuild };
  let made: Awaited<ReturnType<typeof engineOf>> | undefined;
  ecs = await startFakeEcs({
    balancer,
    engine: async (onLine): Promise<RunEngine> => {
      made = await engineOf(onLine);
      const { engine } = made;
      const start: RunEngine["start"] = (revision) => {
        // A mounted bucket is also a local folder.
        for (const { bucket } of revision.mounts) s3.folderOf(bucket);
        return engine.start(revision);
      };
      return { ...engine, start };
    },
    resolveImage: (reference) => registry.resolve(reference),
    // The load balancer's request log does not go to CloudWatch Logs.
    onLine: ({ group, stream, line: { log, text, json } }) => {
      if (log !== "requests") logs.ingest({ group, stream, line: text ?? JSON.stringify(json) });
    },
    canPass: (role) =>
      !adverse.has("role_late") ||
      now() - (iam.roles.get(role.split("/").at(-1) ?? "")?.createdAt ?? 0) >= ROLE_LATE_MS,
    canAssume: linkedRole(adverse, now),
    secretOf: secrets.valueFor,
    adverse,
    canMount: (fileSystem) => {
      const found = [...files.fileSystems.values()].find(({ arn }) => arn === fileSystem);
      return !adverse.has("file_policy_late") || now() - (found?.policySince ?? 0) >= FILE_POLICY_LATE_MS;
    },
    now,
    files: {
      bucketOf: (arn) => {
        const found = [...files.fileSystems.values()].find((one) => one.arn === arn);
        return found?.bucket.split(":").at(-1) ?? "no-bucket";
      },
      rootOf: (arn) => [...files.accessPoints.values()].find((one) => one.arn === arn)?.path ?? "no-folder",
    },
  });
  const builds = await startFakeCodeBuild({
    readObject: (bucket, key) => s3.world.live.get(bucket)?.objects.get(key)?.bytes,
    push: registry.push,
    onLine: (group, stream, line) => logs.ingest({ group, stream, line }),
    build: async (...source) => made?.build(...source) ?? { image: "hello" },
  });
  const domain = "apps.portside.test";
  const endDns = resolveLocally(domain);
  const account = fakeAccount();
  const roles = iam.client.send.bind(iam.client) as Send;
  const looks = account.clients.iam.send as unknown as Send;
  const send: Send = (command, ...rest) => (LOOKS.includes(command.constructor.name) ? looks : roles)(command, ...rest);
  const clients: AwsClients = {
    ...account.clients,
    ecs: ecs.client,
    balancer: balancer.client,
    certificates: acm.client,
    scaling: scaling.client,
    builds: builds.client,
    registry: registry.client,
    s3: s3.client,
    files: files.client,
    scheduler: scheduler.client,
    secrets: secrets.client,
    logs: logs.client,
    metrics: metrics.client,
    athena: athena.client,
    iam: { send } as unknown as AwsClients["iam"],
  };
  const shared: SharedResources = {
    ...parts,
    cluster: CLUSTER,
    listenerArn: LISTENER,
    moreListenerArns: Array.from({ length: balancers - 1 }, (_, index) => listenerAt(index + 1)),
    domain: `${domain}:${scheme === "https" ? balancer.securePort : balancer.port}`,
    scheme,
  };
  const config = (dataDir: string): AwsConfigInput => ({
    region: awsConfig.region,
    dataDir,
    settleSeconds: 0,
    logReadsPerMinute: adverse.has("log_read_quota") ? LOG_READS_PER_SECOND * 60 : 1_000_000,
    athenaWorkgroup: athena.workGroup,
    logTable: athena.logTable,
    billingTable: athena.billingTable,
    shared,
    clients,
  });
  return {
    config,
    clients,
    account,
    acm,
    dns,
    balancer,
    secrets: secrets.secrets,
    storage: s3.world,
    /** Calls that exceeded a rate. */
    throttled: (): readonly string[] => [...(ecs?.throttled ?? []), ...balancer.throttled],
    /** Schedule names are digests, but each contains the URL that it calls. */
    jobsOf: (service: string) =>
      scheduler
        .schedules()
        .filter(({ Target }) => new URL(JSON.parse(Target.Input).url).hostname === `${service}.${domain}`)
        .map(({ Name }) => String(Name)),
    faults: {
      ecs: ecs.faults,
      balancer: balancer.faults,
      certificates: acm.faults,
      scaling: scaling.faults,
      builds: builds.faults,
      registry: registry.faults,
      s3: s3.faults,
      files: files.faults,
      iam: iam.faults,
      scheduler: scheduler.faults,
      secrets: secrets.faults,
      logs: logs.faults,
      metrics: metrics.faults,
      athena: athena.faults,
    },
    close: async () => {
      endDns();
      await scheduler.close();
      for (const one of [ecs, balancer, acm, scaling, registry, builds]) await one?.close();
      await made?.close();
      await Promise.all([logs.close(), metrics.close(), athena.close(), s3.close(), files.close(), iam.close()]);
      await secrets.close();
    },
  };
};
