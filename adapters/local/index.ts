/**
 * The local provider: builds, runs, routes, scales and logs services on one machine. Requires only Node.js.
 *
 * ```ts
 * const local = await createLocalProvider({ dataDir: "/var/lib/portside" });
 * const controlPlane = createControlPlane(local.ports);
 * await local.close();
 * ```
 */
import { resolve } from "node:path";
import type { TLSSocket } from "node:tls";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../core/ports/telemetry.ts";
import type { JwtIssuer } from "../jwt/index.ts";
import { createSystemClock, randomIds } from "../shared/runtime/system.ts";
import { silent } from "./accounts/identity.ts";
import { type LocalConfig, type LocalConfigInput, localConfigSchema } from "./config.ts";
import { explainStartError } from "./data-folder/data-folder-error.ts";
import { type EngineConnection, openEngine } from "./engine/open-engine.ts";
import { connectEngine } from "./engine/socket/connect-engine.ts";
import type { LocalProvider } from "./local-provider.ts";
import { openServer } from "./open-server.ts";

export interface LocalDeps {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly logger?: Logger;
  /** Receives the provider's own metrics. */
  readonly telemetry?: Telemetry;
  /** Additional issuers of bearer tokens. */
  readonly issuers?: readonly JwtIssuer[];
  /** The variables that locate programs (`PATH`) and configure the network of builds. Defaults to `process.env`. */
  readonly environment?: NodeJS.ProcessEnv;
  /** False for a temporary data folder: `close()` deletes the images in the container engine. Defaults to true. */
  readonly keepsImages?: boolean;
  /**
   * The Unix socket of an engine that another process runs for the data folder. If undefined, the engine runs in this
   * process, and its services end with this process.
   */
  readonly engineSocket?: string | undefined;
  /** Called when the engine of `engineSocket` has ended, before the interrupted calls to the engine fail. */
  readonly onEngineEnd?: (() => void) | undefined;
  /**
   * Receives each connection to the TLS port for the host `domain`, after the handshake. An HTTP server can serve it:
   * `server.emit("connection", socket)`. If undefined, the port does not serve the domain itself.
   */
  readonly onApiConnection?: ((socket: TLSSocket) => void) | undefined;
}

const open = async (config: LocalConfig, dataDir: string, deps: LocalDeps): Promise<LocalProvider> => {
  const { telemetry = noTelemetry, issuers = [], keepsImages = true, engineSocket, onEngineEnd, ...rest } = deps;
  const { onApiConnection, ...given } = rest;
  const base = {
    config,
    dataDir,
    clock: createSystemClock(),
    ids: randomIds,
    logger: silent,
    environment: process.env,
    ...given,
  };
  await using stack = new AsyncDisposableStack();
  let connection: EngineConnection;
  if (engineSocket === undefined)
    connection = stack.use(await openEngine({ ...base, telemetry, keepsImages, onApiConnection }));
  else {
    connection = stack.use(await connectEngine(engineSocket, onEngineEnd));
    stack.defer(telemetry.include(() => connection.metrics()));
  }
  const server = await openServer({ ...base, issuers, connection });
  stack.defer(() => server.close());
  const teardown = stack.move();
  return { ...server, close: () => teardown.disposeAsync() };
};

/**
 * Opens the data folder and serves its services. Throws a `DataFolderError` with a `kind` if the data folder cannot be
 * used, and an `Error` if the machine lacks something that the configuration requires. Never ends the process.
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
export { type RekeyAccountsOptions, type RekeyedAccount, rekeyAccounts } from "./domains/rekey-accounts.ts";
export type { LocalProvider } from "./local-provider.ts";
export { type RekeyOptions, type RekeySummary, rekeySecrets } from "./secrets/rekey.ts";
