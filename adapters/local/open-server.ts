/** The server of a data folder: all parts of the local provider except the engine. */
import { join } from "node:path";
import { timestampOf } from "../../core/domain/wire/instant.ts";
import { unavailable } from "../../core/errors.ts";
import type { DomainPorts } from "../../core/ports/domain-store.ts";
import { CONTRACT_VERSION, type Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { errAsync, okAsync, ResultAsync } from "../../core/result.ts";
import { createIdentity, type JwtIssuer } from "../jwt/index.ts";
import { createDiskSpool } from "../shared/archives/disk-spool.ts";
import { createAuthoritativeDns } from "../shared/domains/authoritative-dns.ts";
import { registeredDomain } from "../shared/domains/public-suffixes.ts";
import { compileRe2 } from "../shared/logs/re2.ts";
import { noBilling } from "../shared/usage/none.ts";
import { storedSigningKey } from "./accounts/identity.ts";
import { SessionsFile } from "./accounts/sessions-file.ts";
import { ImageStore } from "./builds/image-store.ts";
import { createLocalBuilder } from "./builds/index.ts";
import { findToolchain, networkEnvironment } from "./builds/toolchain.ts";
import { localCapabilities } from "./capabilities.ts";
import type { LocalConfig } from "./config.ts";
import { makeLayout } from "./data-folder/layout.ts";
import { Leftovers } from "./data-folder/leftovers.ts";
import { ReadOnlyFile } from "./data-folder/read-only-file.ts";
import { endInterruptedDeploys, sweepCache } from "./data-folder/recovery.ts";
import { LocalPlatform } from "./deploy/service-platform.ts";
import { createAuthorities, nameAuthorities, updateEmails } from "./domains/authorities.ts";
import { discardLostKeys, LocalCertificates } from "./domains/certificate-store.ts";
import { LocalDomains } from "./domains/domain-store.ts";
import { challengeTypesOf, localTarget, orderedBelow } from "./domains/settings.ts";
import { ENGINE_FILE } from "./engine/engine-file.ts";
import type { EngineConnection } from "./engine/open-engine.ts";
import { watchHealth } from "./health.ts";
import { readDomain, serviceUrl } from "./ingress/domain.ts";
import type { LocalProvider } from "./local-provider.ts";
import { LocalLogs } from "./logs/log-store.ts";
import { chooseRunner } from "./sandbox/choose-runner.ts";
import { scopeName } from "./sandbox/scope.ts";
import { assignUsers, chooseUsers } from "./sandbox/users/account-users.ts";
import { readUidRange, type UidRange } from "./sandbox/users/uid-range.ts";
import { lastFireReader } from "./schedules/last-fires.ts";
import { LocalScheduler } from "./schedules/scheduler.ts";
import { prepareKey } from "./secrets/key-file.ts";
import { LocalSecrets } from "./secrets/secret-store.ts";
import { billingSourceOf } from "./sql/billing-source.ts";
import { createLocalSql } from "./sql/engine.ts";
import { AccountUserRows } from "./state/account-users.ts";
import { CertificateRows } from "./state/certificates.ts";
import { openState } from "./state/database.ts";
import { DeployRows } from "./state/deploys.ts";
import { DomainRows } from "./state/domains.ts";
import { createKeyRows } from "./state/keys.ts";
import { lockServer } from "./state/lock-data-dir.ts";
import { ScheduleRows } from "./state/schedules.ts";
import { ServiceRows } from "./state/services.ts";
import { SettingRows } from "./state/settings.ts";
import { StateCopy } from "./state/state-copy.ts";
import { VolumeRows } from "./state/volumes.ts";
import { BILLING_FILE } from "./usage/billing-file.ts";
import { BillingRows } from "./usage/billing-rows.ts";
import { instancePricesOf } from "./usage/prices.ts";
import { createMetricStore } from "./usage/rollups.ts";
import { LocalObjects } from "./volumes/local-objects.ts";
import { Quarantine } from "./volumes/quarantine.ts";
import { VolumeRecords } from "./volumes/records.ts";
import { LocalVolumes } from "./volumes/volume-store.ts";

export interface ServerOptions {
  readonly config: LocalConfig;
  readonly dataDir: string;
  readonly connection: EngineConnection;
  /** Additional issuers of bearer tokens. */
  readonly issuers: readonly JwtIssuer[];
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/**
 * Opens the server of a data folder. The server changes the state, builds images and runs SQL queries. The engine must
 * already be open.
 */
export const openServer = async (options: ServerOptions): Promise<LocalProvider> => {
  const { config, dataDir, connection, issuers, environment, clock, ids, logger } = options;
  const at = (...parts: string[]) => join(dataDir, ...parts);
  await using stack = new AsyncDisposableStack();

  stack.use(await lockServer(dataDir, logger));
  const db = stack.use(openState(dataDir, { acceptState: config.acceptState, logger }));
  const copy = new StateCopy(db, dataDir, logger);
  stack.defer(() => copy.close());
  const settings = new SettingRows(db);
  const scope = scopeName(settings.get("scope") as string);
  const rows = new ServiceRows(db, () => ids.id());
  const notes = new DeployRows(db);
  const schedules = new ScheduleRows(db);
  const keys = createKeyRows(db);
  const sessions = new SessionsFile(dataDir, logger);
  stack.defer(() => sessions.close());
  const cipher = prepareKey(db, dataDir, config.secretsKeyFile, logger);

  const uidRange = readUidRange(config.uidRange) as UidRange;
  // The start of a server ends leftover processes of its scope. Builds have a separate scope, so services keep running.
  const buildScope = `${scope}b`;
  const chosen = await chooseRunner(config.runner, {
    scope: buildScope,
    imageScope: scope,
    folder: at("sandbox", "builds"),
    uidRange,
    environment,
    logger,
    allowedPorts: config.allowHostPort,
  });
  stack.defer(() => chosen.close());
  const { containers, runner } = chosen;
  const { engine, ingressPort, storagePort, tlsPort, httpPort, httpsApi } = connection;
  const checkFiles = () =>
    void connection
      .checkFiles()
      .catch((cause: unknown) => logger.warn("could not check the engine's files", { cause }));
  const engineFile = stack.use(new ReadOnlyFile(at(ENGINE_FILE), checkFiles));
  const billing = new BillingRows(stack.use(new ReadOnlyFile(at(BILLING_FILE), checkFiles)));
  const logs = new LocalLogs({ folder: at("logs"), writer: connection.logs });
  stack.defer(() => logs.close());
  await endInterruptedDeploys(rows, notes, logs, clock);
  settings.set("ingress_port", String(ingressPort));
  if (storagePort !== ingressPort) settings.set("storage_port", String(storagePort));
  if (tlsPort !== undefined) settings.set("tls_port", String(tlsPort));
  if (httpPort !== undefined) settings.set("http_port", String(httpPort));
  const domain = config.domain === undefined ? undefined : readDomain(config.domain);
  const urlOf = (name: string, port: number) =>
    domain === undefined ? `http://127.0.0.1:${port}` : serviceUrl(domain, name, { shared: ingressPort, tls: tlsPort });

  const toolchain = findToolchain(at("tools", "bin"), environment);
  const sql = createLocalSql({ folder: at("sql"), logs, billing: billingSourceOf(billing) });
  stack.defer(() => sql.close());

  const leftovers = new Leftovers(at("leftovers"), logger);
  stack.defer(() => leftovers.close());
  await leftovers.open();
  await leftovers.take(at("spool"));
  makeLayout(dataDir, logger);
  const userOf = chooseUsers(runner.setsUser === true, new AccountUserRows(db), uidRange, scope);
  const images = new ImageStore(at("images"), leftovers, async (id) => {
    if (typeof containers !== "string") await containers.removeImage(id);
  });

  const volumeRows = new VolumeRows(db);
  const objects = new LocalObjects({ storage: at("storage"), volumes: volumeRows, userOf, ids, logger });
  const volumes = new LocalVolumes({
    rows: volumeRows,
    objects,
    records: new VolumeRecords(at("storage", "records")),
    quarantine: new Quarantine(at("storage", "quarantine"), () => timestampOf(clock.now())),
    ids,
    clock,
    logger,
    userOf,
    key: settings.get("storage_key") as string,
    base: urlOf("storage", storagePort),
  });
  stack.defer(() => volumes.close());
  await volumes.open();
  const owners = new Set([...rows.all(), ...volumeRows.all()].map(({ owner }) => owner));
  assignUsers(owners, userOf, logger);
  const platform = new LocalPlatform({
    rows,
    notes,
    engine,
    settings,
    urlOf,
    images,
    runner,
    containers,
    userOf,
    clock,
    logger,
    releasesKept: config.releasesKept,
    digestKey: settings.get("storage_key") as string,
    lastFireOf: lastFireReader(engineFile, logger),
    log: (entry) => void logs.append([entry]),
  });
  stack.defer(() => platform.settle());
  await sweepCache(at("cache"), await platform.sweepImages(), leftovers);
  if (typeof containers !== "string") await containers.sweepImages(images.containerIds());
  await platform.open();
  const scheduler = new LocalScheduler({ rows: schedules, engine, logger });
  await scheduler.open(platform.jobs());
  const findDown = watchHealth({ dataDir, db, losesLogs: () => connection.losesLogs(), logger });

  const target = localTarget(config, domain);
  const capabilities = localCapabilities(config, chosen, toolchain, target);
  const certificateRows = new CertificateRows(db);
  discardLostKeys(certificateRows, cipher, logger);
  nameAuthorities(config.acmeDirectory, certificateRows);
  const certificates = new LocalCertificates({
    rows: certificateRows,
    domains: new DomainRows(db),
    services: rows,
    engine,
    cipher,
    hostsBelow: orderedBelow(config, domain),
    servesApi: httpsApi !== undefined,
    challengeTypes: challengeTypesOf(config.httpPort),
  });
  const authorities = createAuthorities(config, { rows: certificateRows, cipher, clock, logger });
  stack.defer(async () => void (await Promise.all(authorities.map((authority) => authority.close()))));
  const stopped = new AbortController();
  const updated = updateEmails(authorities, { clock, logger, signal: stopped.signal });
  stack.defer(async () => {
    stopped.abort();
    await updated;
  });
  const domains: DomainPorts = {
    store: new LocalDomains({ db, engine, proofKey: settings.get("storage_key") as string, ids }),
    dns: createAuthoritativeDns({ server: config.dnsServer, clock }),
    target,
    registeredDomain,
    certificates: { store: certificates, responder: certificates, authorities },
  };

  const instancePrices = instancePricesOf(config.priceList);
  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities,
    services: platform,
    builder: createLocalBuilder({
      images,
      runner,
      containers,
      toolchain,
      userOf,
      limits: { memory: config.buildMemory, cpu: 8, processes: 4096, yieldsCpu: true },
      network: networkEnvironment(environment),
      cacheDir: at("cache"),
      mark: chosen.mark,
      ids,
      logger,
    }),
    volumes,
    secrets: new LocalSecrets(db, cipher, clock),
    ...(capabilities.domains.supported ? { domains } : {}),
    scheduler,
    logs,
    sql,
    spool: createDiskSpool(at("spool"), ids, false),
    metrics: createMetricStore(engineFile),
    ...(instancePrices === undefined ? {} : { instancePrices }),
    check: () =>
      ResultAsync.fromSafePromise(findDown()).andThen((down) =>
        down.length === 0 ? okAsync(undefined) : errAsync({ ...unavailable(`Not ready: ${down.join("; ")}.`), down }),
      ),
  };
  const identity = createIdentity({
    records: keys,
    sessionRecords: sessions,
    loadSigningKey: storedSigningKey(settings),
    issuers,
    clock,
    ids,
    logger,
  });
  const teardown = stack.move();
  return {
    provider,
    identity,
    ports: { provider, identity, billing: noBilling, clock, ids, logger, compilePattern: compileRe2 },
    billing,
    ingressPort,
    tlsPort,
    httpsApi,
    remembered: (name) => settings.named(name),
    claimFirstKey: () => keys.count() === 0,
    close: () => teardown.disposeAsync(),
  };
};
