/** All fakes of Google Cloud as one project: its builds run, its log holds their lines, and its buckets are mounted. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ArtifactRegistryClient } from "@google-cloud/artifact-registry";
import { CloudBuildClient } from "@google-cloud/cloudbuild";
import { v2 } from "@google-cloud/run";
import { Storage } from "@google-cloud/storage";
import type { GcpClients } from "../../../adapters/gcp/clients.ts";
import type { GcpConfigInput } from "../../../adapters/gcp/config.ts";
import { apis, roles, sqlApi, sqlRoles } from "../../../adapters/gcp/requirements.ts";
import { createSystemClock } from "../../../adapters/shared/runtime/system.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { has } from "../../support/vitest/machine.ts";
import { simulatedBuild } from "../engine/builds.ts";
import { createFakeEngine, type RunEngine, type RunLine } from "../engine/engine.ts";
import { createLocalEngine } from "../engine/local-engine.ts";
import { type AdverseBehaviors, noneAdverse } from "./adverse.ts";
import { startFakeBigQuery } from "./bigquery/server.ts";
import { FakeBuild } from "./build/builds.ts";
import { clientOptions } from "./grpc.ts";
import { FakeIam } from "./iam.ts";
import { startFakeLogging } from "./logging/server.ts";
import { FakeMonitoring } from "./monitoring/server.ts";
import { fakeProject } from "./project.ts";
import { FakeRegistry } from "./registry.ts";
import { redirectedAuth } from "./rest-server.ts";
import { runRights } from "./run/rights.ts";
import { FakeRun } from "./run/services.ts";
import { startFakeScheduler } from "./scheduler/server.ts";
import { FakeSecrets } from "./secrets/server.ts";
import { startFakeStorage } from "./storage/index.ts";
import { PROJECT, REGION, STAGING_BUCKET } from "./test-project.ts";

const IAM = "https://iam.googleapis.com";
const SECRETS = "https://secretmanager.googleapis.com";
const MONITORING = "https://monitoring.googleapis.com";

/** A project in which every API is enabled, every permission granted and every resource present. */
const readyProject = (staging: string) => {
  const ready = fakeProject();
  for (const name of [...Object.keys(apis), sqlApi]) ready.apis.add(name);
  for (const one of [roles, sqlRoles].flatMap((table) => Object.values(table).flat())) ready.permissions.add(one);
  ready.resources.add(
    `${IAM}/v1/projects/${PROJECT}/serviceAccounts/portside-build@${PROJECT}.iam.gserviceaccount.com`,
  );
  ready.resources.add(
    `https://artifactregistry.googleapis.com/v1/projects/${PROJECT}/locations/${REGION}/repositories/portside`,
  );
  ready.resources.add(`https://storage.googleapis.com/storage/v1/b/${staging}`);
  return ready;
};

export interface FakeCloudOptions {
  /** Shared with the provider; defaults to the machine's. */
  readonly clock?: Clock;
  /** Defaults to no adverse behaviour. */
  readonly adverse?: AdverseBehaviors;
}

/** @param services whether services run as real processes or are simulated */
export const startFakeCloud = async (
  services: "real" | "simulated" = "real",
  { clock = createSystemClock(), adverse = noneAdverse }: FakeCloudOptions = {},
) => {
  const buckets = await mkdtemp(join(tmpdir(), "portside-fake-buckets-"));
  const storage = await startFakeStorage({ folder: buckets, clock });
  const { world } = storage;
  const staging = STAGING_BUCKET;
  world.insertBucket({ name: staging });
  const logReadsPerMinute = adverse.has("log_read_quota") ? 60 : 1_000_000;
  const logging = await startFakeLogging({ clock, readsPerMinute: logReadsPerMinute });
  const scheduler = await startFakeScheduler({ clock });
  const bigquery = await startFakeBigQuery({ entries: () => logging.entries(), pageRows: 7, adverse });
  const registry = new FakeRegistry();
  const iam = new FakeIam(adverse, clock);
  iam.maxAccounts = 10_000;

  const secrets = new FakeSecrets({ iam, clock, adverse });

  let run: FakeRun | undefined;
  const labelsOf = (service: string): Record<string, string> => run?.stored(service)?.["template"]?.labels ?? {};
  /** Passes the lines of services and of Cloud Run itself to Cloud Logging. */
  const onLine = ({ service, revision, instance = "", log, text, json, http }: RunLine): void => {
    const from = { service, revision, instance, labels: labelsOf(service) };
    if (http !== undefined)
      logging.ingestRequest({
        ...from,
        method: http.requestMethod ?? "GET",
        url: http.requestUrl ?? "",
        status: http.status ?? 0,
        latencySeconds: Number.parseFloat(http.latency ?? "0"),
      });
    else if (log === "stdout" || log === "stderr")
      logging.ingest({ ...from, stream: log, line: text ?? JSON.stringify(json) });
    else logging.ingestSystem({ ...from, line: text ?? "" });
  };
  const local =
    services === "real"
      ? await createLocalEngine({ onLine, buckets, runner: has("bubblewrap") ? "bubblewrap" : "process" })
      : { ...(await createFakeEngine(onLine)), build: simulatedBuild };
  const engine: RunEngine = {
    ...local.engine,
    start: (revision) => {
      // A mounted bucket is also a local folder.
      for (const { bucket } of revision.mounts) storage.folderOf(bucket);
      return local.engine.start(revision);
    },
  };
  run = new FakeRun({
    engine,
    resolveImage: (reference) => registry.resolve(reference),
    adverse,
    clock,
    ...runRights(adverse, iam, world),
    resolveSecret: (...args) => secrets.resolve(...args),
    onSystemLine: (service, revision, text) =>
      onLine({ service, revision, log: "varlog/system", severity: "ERROR", text }),
  });
  const build = new FakeBuild({
    storage: world,
    push: (reference, image) => registry.push(reference, image),
    build: local.build,
    adverse,
  });
  const servers = { run: await run.open(), build: await build.open(), registry: await registry.open() };
  const monitoring = new FakeMonitoring(clock);
  const [accounts, secretManager, metrics] = [await iam.open(), await secrets.open(), await monitoring.open()];
  const ready = readyProject(staging);
  const redirected = redirectedAuth(PROJECT, {
    [IAM]: accounts.origin,
    [SECRETS]: secretManager.origin,
    [MONITORING]: metrics.origin,
  });
  const isRedirected = (url: string): boolean =>
    url.startsWith(SECRETS) ||
    url.startsWith(MONITORING) ||
    (url.startsWith(IAM) && !url.includes("?pageSize=") && !ready.resources.has(url));
  const auth = {
    ...ready.auth,
    request: (options: { url: string }) =>
      isRedirected(options.url) ? redirected.request(options) : ready.auth.request(options as never),
  } as GcpClients["auth"];
  const clients = {
    services: new v2.ServicesClient(clientOptions(servers.run, PROJECT)),
    revisions: new v2.RevisionsClient(clientOptions(servers.run, PROJECT)),
    builds: new CloudBuildClient(clientOptions(servers.build, PROJECT)),
    registry: new ArtifactRegistryClient(clientOptions(servers.registry, PROJECT)),
    storage: new Storage(storage.storageClientOptions),
    logging: logging.client,
    scheduler: scheduler.client,
    bigquery: bigquery.client,
    auth,
  };
  const config = (dataDir: string): GcpConfigInput => ({
    project: PROJECT,
    region: REGION,
    dataDir,
    settleSeconds: 0,
    logReadsPerMinute,
    logDataset: bigquery.logDataset,
    billingTable: bigquery.billingTable,
    clients,
  });
  return {
    config,
    project: ready,
    secrets,
    monitoring,
    storage: Object.assign(world, { project: PROJECT }),
    uploads: storage.uploads,
    cleanUpImages: () => registry.cleanUp("keep-"),
    jobsOf: (service: string) =>
      scheduler
        .jobs()
        .map(({ name }) => String(name))
        .filter((name) => name.endsWith(`-${service}`)),
    faults: {
      run: run.faults,
      build: build.faults,
      registry: registry.faults,
      iam: iam.faults,
      secrets: secrets.faults,
      monitoring: monitoring.faults,
      storage: storage.faults,
      logging: logging.faults,
      scheduler: scheduler.faults,
      bigquery: bigquery.faults,
    },
    close: async () => {
      await scheduler.close();
      await run.close();
      build.close();
      await local.close();
      await Promise.all(
        [clients.services, clients.revisions, clients.builds, clients.registry].map((one) => one.close()),
      );
      for (const server of [...Object.values(servers), accounts, secretManager, metrics]) server.close();
      await Promise.all([logging.close(), bigquery.close(), storage.close()]);
    },
  };
};
