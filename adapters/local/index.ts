/**
 * A complete platform on one machine. It needs only Node.js: it builds, runs, routes, scales and logs services.
 *
 * ```ts
 * const local = await createLocalProvider({ dataDir: "/var/lib/portside" });
 * const controlPlane = createControlPlane(local.ports);
 * await local.close();
 * ```
 */
import { join, resolve } from "node:path";
import { timestampOf } from "../../core/domain/wire/instant.ts";
import { unavailable } from "../../core/errors.ts";
import { CONTRACT_VERSION, type Identity, type Ports, type Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../core/ports/telemetry.ts";
import { errAsync, okAsync, ResultAsync } from "../../core/result.ts";
import { createIdentity, type JwtIssuer } from "../jwt/index.ts";
import { createDiskSpool } from "../shared/archives/disk-spool.ts";
import { compileRe2 } from "../shared/logs/re2.ts";
import { createSystemClock, randomIds } from "../shared/runtime/system.ts";
import { noBilling } from "../shared/usage/none.ts";
import { keptSigningKey, silent } from "./accounts/identity.ts";
import { ImageStore } from "./builds/image-store.ts";
import { createLocalBuilder } from "./builds/index.ts";
import { findToolchain, networkEnvironment } from "./builds/toolchain.ts";
import { localCapabilities } from "./capabilities.ts";
import { type LocalConfig, type LocalConfigInput, localConfigSchema } from "./config.ts";
import { explainStartError } from "./data-folder/data-folder-error.ts";
import { makeLayout } from "./data-folder/layout.ts";
import { Leftovers } from "./data-folder/leftovers.ts";
import { endInterruptedDeploys, sweepCache } from "./data-folder/recovery.ts";
import { LocalPlatform } from "./deploy/service-platform.ts";
import { openEngineFile } from "./engine/engine-file.ts";
import { openEngine } from "./engine/open-engine.ts";
import { watchHealth } from "./health.ts";
import { readDomain, serviceUrl } from "./ingress/domain.ts";
import { LocalLogs } from "./logs/log-store.ts";
import { chooseRunner } from "./sandbox/choose-runner.ts";
import { takeScope } from "./sandbox/scope.ts";
import { assignUsers, chooseUsers } from "./sandbox/users/account-users.ts";
import { readUidRange, type UidRange } from "./sandbox/users/uid-range.ts";
import { LastFires } from "./schedules/last-fires.ts";
import { LocalScheduler } from "./schedules/scheduler.ts";
import { billingSourceOf } from "./sql/billing-source.ts";
import { createLocalSql } from "./sql/engine.ts";
import { AccountUserRows } from "./state/account-users.ts";
import { openState } from "./state/database.ts";
import { DeployRows } from "./state/deploys.ts";
import { createKeyRows } from "./state/keys.ts";
import { lockDataDir } from "./state/lock-data-dir.ts";
import { ScheduleRows } from "./state/schedules.ts";
import { ServiceRows } from "./state/services.ts";
import { SettingRows } from "./state/settings.ts";
import { StateCopy } from "./state/state-copy.ts";
import { StoredState } from "./state/stored-state.ts";
import { VolumeRows } from "./state/volumes.ts";
import { openBillingFile } from "./usage/billing-file.ts";
import { BillingRows } from "./usage/billing-rows.ts";
import { LocalObjects } from "./volumes/local-objects.ts";
import { Quarantine } from "./volumes/quarantine.ts";
import { VolumeRecords } from "./volumes/records.ts";
import { LocalVolumes } from "./volumes/volume-store.ts";

export interface LocalDeps {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly logger?: Logger;
  /** Receives the provider's own metrics. */
  readonly telemetry?: Telemetry;
  /** Additional issuers of bearer tokens. */
  readonly issuers?: readonly JwtIssuer[];
  /** Supplies the PATH for finding programs, and the proxy settings of builds. Defaults to the environment of the process. */
  readonly environment?: NodeJS.ProcessEnv;
  /** False for a temporary data folder: `close()` deletes the images in the container engine. Defaults to true. */
  readonly keepsImages?: boolean;
}

export interface LocalProvider {
  readonly provider: Provider;
  readonly identity: Identity;
  /** Everything `createControlPlane` needs. */
  readonly ports: Ports;
  /** The cost of running services, by account. */
  readonly billing: BillingRows;
  /** The port that routes requests to services by host name. */
  readonly ingressPort: number;
  /** A value stored under a name across restarts, such as the API's port. */
  remembered(name: string): { get(): string | undefined; set(value: string): void };
  /** Returns true if no API key exists. The lock of the data folder excludes other servers. */
  claimFirstKey(): boolean;
  /** Stops every instance, within the drain and grace times, and releases the data folder. */
  close(): Promise<void>;
}

const open = async (config: LocalConfig, dataDir: string, deps: LocalDeps): Promise<LocalProvider> => {
  const {
    clock = createSystemClock(),
    ids = randomIds,
    logger = silent,
    telemetry = noTelemetry,
    environment = process.env,
    keepsImages = true,
  } = deps;
  const at = (...parts: string[]) => join(dataDir, ...parts);
  await using stack = new AsyncDisposableStack();

  stack.use(lockDataDir(dataDir, logger));
  const db = stack.use(openState(dataDir, { acceptState: config.acceptState, logger }));
  const stored = stack.use(new StoredState(dataDir));
  makeLayout(dataDir, logger);
  const copy = new StateCopy(db, dataDir, logger);
  stack.defer(() => copy.close());
  const settings = new SettingRows(db);
  const remembered = (name: string) => ({
    get: () => settings.get(name),
    set: (value: string) => settings.set(name, value),
  });
  const { name: scope, release: releaseScope } = await takeScope(remembered("scope"), logger);
  stack.defer(releaseScope);
  const rows = new ServiceRows(db, () => ids.id());
  const notes = new DeployRows(db);
  const schedules = new ScheduleRows(db);
  const keys = createKeyRows(db);

  const uidRange = readUidRange(config.uidRange) as UidRange;
  // Builds belong to the server, which may restart while services run, so its start must not end their instances.
  const buildScope = `${scope}b`;
  const chosen = await chooseRunner(config.runner, {
    ...{ scope: buildScope, imageScope: scope, folder: at("sandbox", "builds"), uidRange, environment, logger },
    allowedPorts: config.allowHostPort,
  });
  stack.defer(() => chosen.close());
  const { containers, runner } = chosen;
  // Runs after the engine has ended the instances, because the container engine keeps an image that is in use.
  if (typeof containers !== "string" && !keepsImages) stack.defer(() => containers.sweepImages(new Set()));

  const engineFile = openEngineFile(dataDir, logger);
  stack.defer(() => engineFile.close());
  const lastFires = new LastFires(engineFile, db);
  const usage = openBillingFile(dataDir, logger);
  stack.defer(() => usage.close());
  const storageKey = await settings.getOrCreate("storage_key", async () => ids.secret(43));
  const toolchain = findToolchain(at("tools", "bin"), environment);
  const opened = await openEngine({
    ...{ config, dataDir, scope, state: stored, usage, lastFires, storageKey, toolchain, environment },
    ...{ clock, ids, logger, telemetry },
  });
  stack.use(opened);
  const { engine, ingressPort, storagePort } = opened;
  const logs = new LocalLogs({ folder: at("logs"), writer: opened.logs });
  stack.defer(() => logs.close());
  await endInterruptedDeploys(rows, notes, logs, clock);
  settings.set("ingress_port", String(ingressPort));
  if (storagePort !== ingressPort) settings.set("storage_port", String(storagePort));
  const domain = config.domain === undefined ? undefined : readDomain(config.domain);
  const urlOf = (name: string, port: number) =>
    domain === undefined ? `http://127.0.0.1:${port}` : serviceUrl(domain, name, ingressPort);

  const sql = createLocalSql({ folder: at("sql"), logs, billing: billingSourceOf(new BillingRows(usage)) });
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
  const objects = new LocalObjects({ storage: at("storage"), volumes: volumeRows, userOf, ids });
  const volumes = new LocalVolumes({
    rows: volumeRows,
    objects,
    records: new VolumeRecords(at("storage", "records")),
    quarantine: new Quarantine(at("storage", "quarantine"), () => timestampOf(clock.now())),
    ids,
    clock,
    logger,
    userOf,
    key: storageKey,
    base: urlOf("storage", storagePort),
  });
  stack.defer(() => volumes.close());
  await volumes.open();
  const owners = new Set([...rows.all(), ...volumeRows.all()].map(({ owner }) => owner));
  assignUsers(owners, userOf, logger);
  const platform = new LocalPlatform({
    ...{ rows, notes, lastFires, engine, settings, urlOf, images, runner, containers, userOf, clock, logger },
    log: (entry) => void logs.append([entry]),
  });
  stack.defer(() => platform.settle());
  await sweepCache(at("cache"), await platform.sweepImages(), leftovers);
  if (typeof containers !== "string") await containers.sweepImages(images.containerIds());
  await platform.open();
  const scheduler = new LocalScheduler({ rows: schedules, engine, logger });
  await scheduler.open(platform.jobs());
  engine.watch();
  const findDown = watchHealth({ dataDir, db, losesLogs: () => opened.logs.isLosing, logger });

  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities: localCapabilities(config, chosen, toolchain),
    services: platform,
    builder: createLocalBuilder({
      images,
      runner,
      containers,
      toolchain,
      userOf,
      limits: { memory: config.buildMemory, cpu: 8, processes: 4096 },
      network: networkEnvironment(environment),
      cacheDir: at("cache"),
      scope: buildScope,
      ids,
      logger,
    }),
    volumes,
    scheduler,
    logs,
    sql,
    spool: createDiskSpool(at("spool"), ids, false),
    check: () =>
      ResultAsync.fromSafePromise(findDown()).andThen((down) =>
        down.length === 0 ? okAsync(undefined) : errAsync({ ...unavailable(`Not ready: ${down.join("; ")}.`), down }),
      ),
  };
  const identity = createIdentity({
    records: keys,
    loadSigningKey: keptSigningKey(settings),
    issuers: deps.issuers ?? [],
    clock,
    ids,
    logger,
  });
  const teardown = stack.move();
  return {
    provider,
    identity,
    ports: { provider, identity, billing: noBilling, clock, ids, logger, compilePattern: compileRe2 },
    billing: new BillingRows(usage),
    ingressPort,
    remembered,
    claimFirstKey: () => keys.count() === 0,
    close: () => teardown.disposeAsync(),
  };
};

/**
 * Opens the data folder and starts its services. Throws a `DataFolderError` with a `kind` if the data folder cannot be used,
 * and an `Error` if the machine lacks something that the configuration requires. Never ends the process.
 */
export const createLocalProvider = async (input: LocalConfigInput, deps: LocalDeps = {}): Promise<LocalProvider> => {
  const config = localConfigSchema.parse(input);
  const dataDir = resolve(config.dataDir);
  try {
    return await open(config, dataDir, deps);
  } catch (error) {
    throw explainStartError(error, dataDir) ?? error;
  }
};

export { accountFromClaim, issuerAlias, type JwtIssuer } from "../jwt/index.ts";
export { createLocalIdentity, type FolderIdentity } from "./accounts/identity.ts";
export { type BackupOptions, type BackupSummary, backupDataFolder } from "./backup/backup.ts";
export { BackupError } from "./backup/backup-error.ts";
export type { LeftOut } from "./backup/left-out-list.ts";
export { type RestoreOptions, type RestoreSummary, restoreDataFolder } from "./backup/restore.ts";
export { type LocalConfig, localConfigSchema } from "./config.ts";
export { DataFolderError, type DataFolderProblem } from "./data-folder/data-folder-error.ts";
