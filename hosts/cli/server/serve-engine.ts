/** `portside serve` with the local provider: this process runs the engine, and a child runs the server. */
import {
  type EngineCallbacks,
  openLocalSuccessor,
  startLocalEngine,
  type Upgrade,
  UpgradeFailed,
} from "../../composition/local-engine.ts";
import { createPino } from "../../composition/logger.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { cannotStart } from "../terminal/io.ts";
import { ApiPort } from "./api-port.ts";
import { httpsUrlOf, urlOf } from "./listen-for-api.ts";
import type { Serving } from "./serving.ts";
import { SupervisedServer } from "./supervised-server.ts";
import { reportReady } from "./systemd.ts";
import { upgradeObstacle } from "./upgrade/obstacle.ts";
import { takeOver } from "./upgrade/take-over.ts";
import { type RunningServe, upgrade } from "./upgrade/upgrade.ts";

/** Upgrades this process on request. A request during the start waits until this process is ready. */
class Upgrades {
  readonly #running = Promise.withResolvers<RunningServe>();
  readonly #replaced = Promise.withResolvers<void>();
  readonly #stopped = new AbortController();
  readonly #isSupervised: boolean;
  #current: Promise<number> | undefined;

  constructor(log: ReturnType<typeof createPino>, isSupervised: boolean) {
    this.#isSupervised = isSupervised;
    // On a terminal, SIGHUP means that the terminal has been closed, and ends this process.
    if (process.stdin.isTTY) return;
    // Handle SIGHUP from the start, because without a handler it would end this process.
    process.on("SIGHUP", () => {
      this.upgrade(() => undefined).catch((cause: unknown) => log.error({ cause }, "could not upgrade"));
    });
  }

  /** Resolves when a new process has taken over. */
  get replaced(): Promise<void> {
    return this.#replaced.promise;
  }

  allow(running: RunningServe): void {
    this.#running.resolve(running);
  }

  readonly upgrade: Upgrade = async (say) => {
    if (this.#current !== undefined) throw new UpgradeFailed("Another upgrade is in progress.");
    const obstacle = upgradeObstacle(process);
    if (obstacle !== undefined) throw new UpgradeFailed(obstacle);
    this.#current = this.#running.promise.then((running) =>
      upgrade(running, { say, cancelled: this.#stopped.signal, isSupervised: this.#isSupervised }),
    );
    try {
      const pid = await this.#current;
      // Resolve after the caller has received the result. This process keeps `#current`, because it cannot be upgraded
      // again.
      setImmediate(this.#replaced.resolve);
      return pid;
    } catch (cause) {
      this.#current = undefined;
      throw cause;
    }
  };

  /** Cancels a running upgrade. Resolves when this engine, or the new one, holds the data folder. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#current?.catch(() => undefined);
  }
}

/** Throws a `CommandError` if the settings cannot be applied. */
export const startEngineAndServer = async (
  settings: ServeSettings,
  script: URL,
  isSupervised: boolean,
): Promise<Serving> => {
  const log = createPino(settings.logLevel);
  await using stack = new AsyncDisposableStack();
  const upgrades = new Upgrades(log, isSupervised);
  const api = new ApiPort(settings.hstsMaxAge);
  let apiPort = 0;
  const callbacks: EngineCallbacks = {
    upgrade: upgrades.upgrade,
    openApi: async (previous) => {
      apiPort = await api.open(settings, previous);
    },
    onApiConnection: api.acceptDecrypted,
  };
  const started = startLocalEngine(settings, log, callbacks).catch((error: unknown) => {
    api.close();
    return cannotStart(error);
  });
  const engine = stack.use(await started);
  stack.defer(() => api.close());
  const server = new SupervisedServer(script, { settings, engineSocket: engine.socket, port: apiPort }, log);
  stack.defer(() => server.stop());
  const facts = await server.start();
  api.passTo((socket, onLost) => server.pass(socket, onLost));
  upgrades.allow({ settings, engine, api, apiPort, server, log });
  stack.defer(() => upgrades.stop());
  const teardown = stack.move();
  return {
    ...facts,
    url: urlOf(settings.host, apiPort),
    ingress: urlOf(settings.host, engine.ingressPort),
    https: httpsUrlOf(settings, engine.tlsPort),
    httpsApi: engine.httpsApi,
    replaced: upgrades.replaced,
    stop: () => teardown.disposeAsync(),
  };
};

/**
 * Takes over from the parent process. If this process fails, the parent continues.
 * @param stopped ends the upgrade when it aborts. After the server has started, the caller must call `stop` instead.
 */
export const takeOverEngineAndServer = async (
  settings: ServeSettings,
  script: URL,
  stopped: AbortSignal,
  isSupervised: boolean,
): Promise<Pick<Serving, "replaced" | "stop">> => {
  const log = createPino(settings.logLevel);
  await using stack = new AsyncDisposableStack();
  const upgrades = new Upgrades(log, isSupervised);
  const api = new ApiPort(settings.hstsMaxAge);
  const ready = Promise.withResolvers<void>();
  // If no parent waits for `ready`, a rejection must not crash this process. The server retries later.
  ready.promise.catch(() => undefined);
  const { engine, apiPort, isAlone } = await takeOver({
    api,
    stopped,
    ready: ready.promise,
    open: ({ running }) =>
      openLocalSuccessor(settings, log, { upgrade: upgrades.upgrade, onApiConnection: api.acceptDecrypted }, running),
  });
  stack.use(engine);
  stack.defer(() => api.close());
  const server = new SupervisedServer(script, { settings, engineSocket: engine.socket, port: apiPort }, log);
  stack.defer(() => server.stop());
  const problem = await server.startOver();
  // Report to systemd before the parent ends, so that systemd keeps this process.
  await reportReady((message) => log.warn(message));
  if (problem === undefined) ready.resolve();
  else ready.reject(problem);
  await isAlone;
  api.passTo((socket, onLost) => server.pass(socket, onLost));
  upgrades.allow({ settings, engine, api, apiPort, server, log });
  stack.defer(() => upgrades.stop());
  const teardown = stack.move();
  return { replaced: upgrades.replaced, stop: () => teardown.disposeAsync() };
};
