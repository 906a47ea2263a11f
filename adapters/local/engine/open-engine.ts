/**
 * Opens the engine of a data folder: listeners, instances, the logs, the endpoint of signed URLs, and metering. After
 * the start, the engine only reads the state.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { deployLimits } from "../../../core/domain/accounts/limits.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { Telemetry } from "../../../core/ports/telemetry.ts";
import { serveStorage } from "../../shared/volumes/endpoint.ts";
import { ImageStore } from "../builds/image-store.ts";
import { findToolchain } from "../builds/toolchain.ts";
import type { LocalConfig } from "../config.ts";
import { makeLayout } from "../data-folder/layout.ts";
import { Leftovers } from "../data-folder/leftovers.ts";
import { hasApiCertificate } from "../domains/settings.ts";
import { answersOnLoopback, httpsOrigin, readDomain } from "../ingress/domain.ts";
import { type ApiHost, Ingress, type IngressPort, type TlsConfig } from "../ingress/index.ts";
import type { InstanceDeps } from "../instances/instance.ts";
import { RUN_FOLDER } from "../instances/instance-notes.ts";
import type { EngineLogs } from "../logs/log-writer.ts";
import { chooseRunner } from "../sandbox/choose-runner.ts";
import { joinScope, scopeName, takeScope, withoutScope } from "../sandbox/scope.ts";
import { assignedUsers } from "../sandbox/users/account-users.ts";
import { readUidRange, type UidRange } from "../sandbox/users/uid-range.ts";
import { CronTimers } from "../schedules/cron-timers.ts";
import { moveLastFires } from "../schedules/last-fires.ts";
import { KEY_CHECK, keyPathOf, loadCipher, prepareKey } from "../secrets/key-file.ts";
import { SecretResolver } from "../secrets/resolve-secrets.ts";
import { openState } from "../state/database.ts";
import { beginTakeover, type Lock, lockDataDir, relockDataDir } from "../state/lock-data-dir.ts";
import { SettingRows } from "../state/settings.ts";
import { StoredState } from "../state/stored-state.ts";
import { CertificateFiles } from "../tls/certificate-files.ts";
import { ConnectionLimiter } from "../tls/connection-limiter.ts";
import { ServedHosts } from "../tls/served-hosts.ts";
import { Meter } from "../usage/meter.ts";
import { loadPrices } from "../usage/prices.ts";
import { type MeasuredInstance, Recorder } from "../usage/recorder.ts";
import { LocalObjects } from "../volumes/local-objects.ts";
import { UploadSweeper } from "../volumes/upload-sweeper.ts";
import { type Engine, LocalEngine } from "./engine.ts";
import { openEngineFile } from "./engine-file.ts";
import { type Handover, Lease } from "./lease/lease.ts";
import { openLeasedFiles } from "./lease/leased-files.ts";

export interface EngineOptions {
  readonly config: LocalConfig;
  readonly dataDir: string;
  /** Supplies the PATH for finding programs, and the variables that locate the container engine. */
  readonly environment: NodeJS.ProcessEnv;
  /** False if closing must delete the images in the container engine. */
  readonly keepsImages: boolean;
  /** True if a separate thread must write the logs, so that the output of one service does not slow others down. */
  readonly logsInThread?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  /** Receives each connection to the TLS port for the host `domain`. If undefined, the port does not serve it. */
  readonly onApiConnection?: ((socket: TLSSocket) => void) | undefined;
}

/** The part of the engine that the server uses. */
export interface EngineConnection {
  readonly engine: Engine;
  readonly logs: Pick<EngineLogs, "append" | "writeAll" | "nextEntry" | "repair">;
  /** The port that routes requests to services by host name. */
  readonly ingressPort: number;
  /** The port for signed URLs. */
  readonly storagePort: number;
  /** The port of HTTPS; undefined if Portside does not terminate TLS. */
  readonly tlsPort?: number | undefined;
  /** The port that redirects to HTTPS, if there is one. */
  readonly httpPort?: number | undefined;
  /** The URL of the API at the TLS port; undefined if the port does not serve the API. */
  readonly httpsApi?: string | undefined;
  /** Replaces damaged files of the engine. The server calls this method if a read finds damage. */
  checkFiles(): Promise<void>;
  /** Whether log entries were lost within the last 30 seconds. */
  losesLogs(): Promise<boolean>;
  /** Returns the engine's metrics, for `Telemetry.include`. */
  metrics(): Promise<unknown>;
}

export interface OpenedEngine extends EngineConnection, AsyncDisposable {
  readonly engine: LocalEngine;
  /** Throws if this engine does not hold the lease. */
  readonly logs: EngineLogs;
  readonly state: StoredState;
  readonly lease: Pick<Lease, "receive" | "forwardTo">;
  readonly ingress: Ingress;
  /**
   * Locks the data folder, opens the files that only one engine may write, and starts the timers. If another engine
   * hands over the lease, the caller must first apply the state.
   */
  takeLease(handover?: Handover): Promise<void>;
  /** Reverses `takeLease`. Afterwards, this engine no longer checks the state. Returns the data for the next holder. */
  releaseLease(): Promise<Handover>;
  /** Ends the instances of a successor that was killed. Does nothing while an earlier engine finishes requests. */
  endOthers(): Promise<void>;
}

/** An engine that another engine replaces. */
export interface RunningEngine {
  /** The path of its socket. */
  readonly socket: string;
  readonly ports: readonly IngressPort[];
  /** The services with an instance that is not frozen. */
  readonly services: readonly DeploymentName[];
}

/**
 * The number of ports that are reserved for services created later. An instance can reach only the ports that were
 * known when its network was created.
 */
const SPARE_PORTS = 32;

/** Returns the address at which this machine reaches a listener on `host`. */
const loopbackOf = (host: string): string =>
  ["0.0.0.0", "::", "::1", "localhost"].includes(host) ? "127.0.0.1" : host;

/**
 * Creates the state of a new data folder, or updates the state of an earlier version. Returns the values that the
 * engine needs.
 */
const prepareState = async ({ config, dataDir, ids, logger }: EngineOptions, stack: AsyncDisposableStack) => {
  using db = openState(dataDir, { acceptState: config.acceptState, logger });
  const settings = new SettingRows(db);
  const { name: scope, release } = await takeScope(settings.named("scope"), dataDir, logger);
  stack.defer(release);
  const storageKey = await settings.getOrCreate("storage_key", async () => ids.secret(43));
  prepareKey(db, dataDir, config.secretsKeyFile, logger);
  moveLastFires(db, () => openEngineFile(dataDir, logger));
  return { scope, storageKey };
};

/** An engine's claim to the data folder and to the scope of its instances. */
interface DataFolderClaim {
  readonly scope: string;
  readonly storageKey: string;
  /** Locks the data folder, for the engine with the lease. */
  lock(): Promise<void>;
  unlock(): void;
  /** False while the instances of an earlier engine run, and after another engine has taken over the data folder. */
  readonly ownsScope: () => boolean;
  /** False while an earlier engine of the scope runs. */
  readonly isAlone: () => boolean;
  /** Calls `endOthers` when the earlier engine has ended. Does nothing if there is no earlier engine. */
  readonly whenAlone: (endOthers: () => Promise<void>) => void;
}

/**
 * Keeps the lock of the data folder until `unlock`, or until the stack is disposed.
 * @param take locks the data folder and returns the lock. Receives the lock that this process holds, if any.
 */
const holdLock = (stack: AsyncDisposableStack, first: Lock, take: (held: Lock | undefined) => Promise<Lock>) => {
  let held: Lock | undefined = first;
  const unlock = () => {
    held?.release();
    held = undefined;
  };
  stack.defer(unlock);
  const lock = async () => {
    held = await take(held);
  };
  return { lock, unlock, isHeld: () => held !== undefined };
};

/** How long to wait for the lock of the data folder after the other engine has released it. */
const LOCK_MS = 10_000;

/** Locks a data folder that no other engine uses, and creates or updates its state and layout. */
const claimUnusedFolder = async (options: EngineOptions, stack: AsyncDisposableStack): Promise<DataFolderClaim> => {
  const { dataDir, logger } = options;
  const { isHeld, ...lock } = holdLock(
    stack,
    lockDataDir(dataDir, logger),
    async (held) => held ?? relockDataDir(dataDir, LOCK_MS, logger),
  );
  const { scope, storageKey } = await prepareState(options, stack);
  makeLayout(dataDir, logger);
  return { ...lock, scope, storageKey, ownsScope: isHeld, isAlone: () => true, whenAlone: () => undefined };
};

/** Reserves the right to take over the data folder from the engine that uses it. Does not change the state. */
const claimAsSuccessor = async (
  { dataDir, logger }: EngineOptions,
  stack: AsyncDisposableStack,
): Promise<DataFolderClaim> => {
  const takeover = await beginTakeover(dataDir, logger);
  const { isHeld, ...lock } = holdLock(stack, takeover, async (held) =>
    held === takeover ? takeover.lockDataDir(LOCK_MS) : (held ?? relockDataDir(dataDir, LOCK_MS, logger)),
  );
  using state = new StoredState(dataDir);
  const shared = await joinScope(scopeName(state.setting("scope") as string), dataDir, logger);
  stack.defer(() => shared.release());
  let isAlone = false;
  return {
    ...lock,
    scope: shared.name,
    storageKey: state.setting("storage_key") as string,
    isAlone: () => isAlone,
    ownsScope: () => isAlone && isHeld(),
    whenAlone: (endOthers) =>
      shared.whenAlone(() => {
        isAlone = true;
        return endOthers();
      }),
  };
};

const tlsConfigOf = (
  { host, tlsPort, tlsHost = host, httpPort, hstsMaxAge, tlsConnectionsPerSecond: perSecond }: LocalConfig,
  state: StoredState,
  hosts: ServedHosts,
  api: ApiHost | undefined,
  logger: Logger,
): TlsConfig | undefined => {
  if (tlsPort === undefined) return undefined;
  return {
    host: tlsHost,
    https: { port: tlsPort, previous: state.sharedPort("tls_port") },
    http: httpPort === undefined ? undefined : { port: httpPort, previous: state.sharedPort("http_port") },
    certificates: hosts,
    connections: new ConnectionLimiter({ perSecond, logger }),
    challenges: hosts,
    logger,
    hstsSeconds: hstsMaxAge,
    api,
  };
};

/**
 * Opens everything that needs no lease: services can run, but another engine writes their logs and fires schedules.
 * @param replaces the running engine; undefined if there is none
 */
export const openWithoutLease = async (options: EngineOptions, replaces?: RunningEngine): Promise<OpenedEngine> => {
  const { config, dataDir, environment, clock, ids, logger, telemetry, onApiConnection } = options;
  const domain = config.domain === undefined ? undefined : readDomain(config.domain);
  const at = (...parts: string[]) => join(dataDir, ...parts);
  await using stack = new AsyncDisposableStack();

  const { scope, storageKey, ...claim } = await (replaces === undefined ? claimUnusedFolder : claimAsSuccessor)(
    options,
    stack,
  );
  const state = stack.use(new StoredState(dataDir));
  const { logRetentionDays, logMaxBytes } = config;
  const { logsInThread = false } = options;
  const files = { logRetentionDays, logMaxBytes, prices: loadPrices(config.priceList), logsInThread };
  const openFiles = () => openLeasedFiles({ ...files, dataDir, clock, logger, telemetry });
  const lease = new Lease({ open: openFiles, clock, ids, logger, telemetry });
  stack.defer(() => lease.close());
  const toolchain = findToolchain(at("tools", "bin"), environment);
  const meter = new Meter({ clock, write: (increments) => lease.meter(increments) });
  stack.defer(() => meter.close());
  let measured: () => readonly MeasuredInstance[] = () => [];
  const recorder = new Recorder({
    clock,
    logger,
    instances: () => measured(),
    write: (rows, observedMillis) => lease.record(rows, observedMillis),
  });
  stack.defer(() => recorder.close());
  const uidRange = readUidRange(config.uidRange) as UidRange;
  const chosen = await chooseRunner(config.runner, {
    scope,
    imageScope: scope,
    folder: at("sandbox"),
    uidRange,
    environment,
    logger,
    allowedPorts: config.allowHostPort,
    ownsScope: claim.ownsScope,
  });
  stack.defer(() => chosen.close());
  const { containers } = chosen;
  // Runs after the instances have ended, because the container engine keeps an image that is in use.
  if (typeof containers !== "string" && !options.keepsImages) stack.defer(() => containers.sweepImages(new Set()));
  const leftovers = new Leftovers(at("sandbox", "leftovers"), logger);
  stack.defer(() => leftovers.close());
  if (replaces === undefined) {
    await leftovers.open();
    await leftovers.take(at(RUN_FOLDER));
    makeLayout(dataDir, logger);
  }
  const endOthers = async () => {
    await chosen.endOthers();
    await leftovers.open();
    const own = `${withoutScope(chosen.mark)}.`;
    for (const name of await readdir(at(RUN_FOLDER)))
      if (!name.startsWith(own)) await leftovers.take(at(RUN_FOLDER, name));
  };

  const userOf = assignedUsers(chosen.runner.setsUser === true, state.users, uidRange);
  const objects = new LocalObjects({ storage: at("storage"), volumes: state.volumes, userOf, ids, logger });
  // Another engine may be receiving uploads.
  if (replaces === undefined) await objects.open();
  const sweeper = new UploadSweeper(objects, clock, logger);
  stack.defer(() => sweeper.close());
  await sweeper.open();
  const images = new ImageStore(at("images"), leftovers);
  const secrets = new SecretResolver({
    rows: state.secrets,
    check: () => state.setting(KEY_CHECK),
    load: (check) => loadCipher(keyPathOf(dataDir, config.secretsKeyFile), check),
    logger,
  });
  const { tlsCert, tlsKey } = config;
  const operators =
    tlsCert === undefined || tlsKey === undefined
      ? undefined
      : stack.use(new CertificateFiles({ cert: tlsCert, key: tlsKey }, logger));
  const hosts = new ServedHosts({
    openKey: (host, sealed) => secrets.openPrivateKey({ kind: "host", name: host }, sealed),
    fallback: () => operators?.current,
    clock,
  });
  const api =
    domain === undefined || onApiConnection === undefined
      ? undefined
      : { host: domain.name, onConnection: onApiConnection };
  const instances: InstanceDeps = {
    volumes: { folderOf: (bucket) => objects.folderOf(bucket), under: objects.folderOf("") },
    runner: chosen.runner,
    containers: chosen.containers,
    secrets,
    userOf,
    namesFor: (owner) => {
      if (domain === undefined || !answersOnLoopback(domain, config.allowHostPort)) return [];
      return ["storage", ...state.namesOf(owner)].map((label) => `${label}.${domain.name}`);
    },
    tellsNodeItsMemory: chosen.limits === "watchdog",
    toolchain,
    runDir: at(RUN_FOLDER),
    cacheDir: at("cache"),
    mark: chosen.mark,
    ids,
    log: (entry) => lease.log(entry),
    logOutput: (output, at) => lease.logOutput(output, at),
    logger,
    meter: (template) => meter.started(template),
    graceMillis: config.graceSeconds * 1000,
    elsewhereMillis: config.elsewhereSeconds * 1000,
  };
  const drainMillis = config.drainSeconds * 1000;
  const ingress = new Ingress({
    ids,
    log: (entry) => {
      meter.served(entry);
      recorder.served(entry);
      if (entry.http !== undefined) telemetry.requestServed(entry.http.status, Number.parseFloat(entry.http.latency));
      void lease.log(entry);
    },
    host: config.host,
    port: config.ingressPort,
    domain,
    drainMillis,
    platform: (req, res) => serveStorage({ objects, key: storageKey, clock, logger }, req, res),
    previousSharedPort: state.sharedPort("ingress_port"),
    serviceOfDomain: (host) => hosts.serviceOf(host),
    tls: tlsConfigOf(config, state, hosts, api, logger),
    previousStoragePort:
      chosen.runner.ownNetwork && domain === undefined ? (state.sharedPort("storage_port") ?? "any") : undefined,
    sparePorts: chosen.runner.ownNetwork ? SPARE_PORTS : 0,
    previousPort: (service) => config.servicePorts[service] ?? state.portOf(service),
  });
  const timers = new CronTimers({
    clock,
    logger,
    drainMillis,
    log: (entry) => void lease.log(entry),
    onAttempt: (service, fire) => lease.storeFire(service, fire),
    onPending: (service, fire) => lease.forwardFire(service, fire),
    urlOf: ({ name }) => {
      const port = ingress.portOf(name);
      return port === undefined ? undefined : `http://${loopbackOf(config.host)}:${port}`;
    },
  });
  // Close both concurrently, because running fires are requests that the ingress drains.
  stack.defer(async () => void (await Promise.all([timers.close(), ingress.close()])));
  if (replaces !== undefined) await ingress.inherit(replaces.ports);
  await ingress.open();
  if (typeof chosen.networks === "object") chosen.networks.openTo(() => ingress.ports());
  const engine = new LocalEngine({
    config,
    state,
    timers,
    ingress,
    hosts,
    images,
    instances,
    logger,
    telemetry,
    onColdStart: ({ owner, name }) => recorder.coldStarted(owner, name),
    listenMillis: deployLimits.listenDeadlineMs,
  });
  measured = () => engine.pooled();
  stack.defer(() => engine.close());
  stack.defer(telemetry.watchLoad(() => ({ ...engine.load(), logEntriesWaiting: lease.waiting })));
  const teardown = stack.move();
  return {
    engine,
    ingress,
    get logs() {
      return lease.files.logs;
    },
    lease,
    takeLease: async (handover) => {
      await claim.lock();
      lease.take(timers, handover);
      engine.watch();
      claim.whenAlone(endOthers);
    },
    releaseLease: async () => {
      engine.unwatch();
      const handover = await lease.release();
      claim.unlock();
      return handover;
    },
    endOthers: async () => {
      if (claim.isAlone()) await endOthers();
    },
    ingressPort: ingress.port,
    storagePort: ingress.storagePort,
    tlsPort: ingress.tlsPort,
    httpPort: ingress.httpPort,
    httpsApi:
      api === undefined || ingress.tlsPort === undefined || !hasApiCertificate(config, domain, operators?.current)
        ? undefined
        : httpsOrigin(api.host, ingress.tlsPort),
    checkFiles: async () => lease.files.check(),
    losesLogs: () => lease.files.logs.isLosing(),
    metrics: () => telemetry.snapshot(),
    state,
    [Symbol.asyncDispose]: () => teardown.disposeAsync(),
  };
};

/** Opens the engine of a data folder and takes the lease. */
export const openEngine = async (options: EngineOptions): Promise<OpenedEngine> => {
  await using stack = new AsyncDisposableStack();
  const engine = stack.use(await openWithoutLease(options));
  await engine.takeLease();
  stack.move();
  return engine;
};
