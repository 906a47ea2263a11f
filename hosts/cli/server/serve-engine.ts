/** `portside serve` with the local provider: this process runs the engine, and a child runs the server. */
import { openLocalSuccessor, startLocalEngine, type Upgrade, UpgradeFailed } from "../../composition/local-engine.ts";
import { createPino } from "../../composition/logger.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { cannotStart } from "../terminal/io.ts";
import { ApiPort } from "./api-port.ts";
import { urlOf } from "./listen-for-api.ts";
import type { Serving } from "./serving.ts";
import { SupervisedServer } from "./supervised-server.ts";
import { takeOver } from "./upgrade/take-over.ts";
import { type RunningServe, upgrade } from "./upgrade/upgrade.ts";

/** Upgrades this process on request. A request during the start waits until this process is ready. */
class Upgrades {
  readonly #running = Promise.withResolvers<RunningServe>();
  readonly #replaced = Promise.withResolvers<void>();
  readonly #isSupervised: boolean;
  #isUpgrading = false;

  constructor(log: ReturnType<typeof createPino>, isSupervised: boolean) {
    this.#isSupervised = isSupervised;
    // On a terminal, SIGHUP means that the terminal has been closed, and ends this process.
    if (process.stdin.isTTY) return;
    // From the start, because an early SIGHUP would end this process too.
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
    if (this.#isUpgrading) throw new UpgradeFailed("Another upgrade is in progress.");
    this.#isUpgrading = true;
    try {
      const running = await this.#running.promise;
      if (this.#isSupervised)
        throw new UpgradeFailed("'portside serve --supervise' cannot be upgraded while it runs. Restart it.");
      const pid = await upgrade(running, say);
      // After the caller has received the answer.
      setImmediate(this.#replaced.resolve);
      return pid;
    } finally {
      this.#isUpgrading = false;
    }
  };
}

/** Throws a `CommandError` if the settings cannot be applied. */
export const startEngineAndServer = async (settings: ServeSettings, script: URL): Promise<Serving> => {
  const log = createPino(settings.logLevel);
  await using stack = new AsyncDisposableStack();
  const upgrades = new Upgrades(log, process.connected === true);
  const engine = stack.use(await startLocalEngine(settings, log, upgrades.upgrade).catch(cannotStart));
  const api = new ApiPort();
  stack.defer(() => api.close());
  const apiPort = await api.open(settings, engine.apiPort ?? 0);
  const server = new SupervisedServer(script, { settings, engineSocket: engine.socket, port: apiPort }, log);
  stack.defer(() => server.stop());
  const facts = await server.start();
  api.passTo((socket, onLost) => server.pass(socket, onLost));
  upgrades.allow({ settings, engine, api, apiPort, server, log });
  const teardown = stack.move();
  return {
    ...facts,
    url: urlOf(settings.host, apiPort),
    ingress: urlOf(settings.host, engine.ingressPort),
    replaced: upgrades.replaced,
    stop: () => teardown.disposeAsync(),
  };
};

/** Takes over from the parent process, which continues if this process cannot. */
export const takeOverEngineAndServer = async (
  settings: ServeSettings,
  script: URL,
): Promise<Pick<Serving, "replaced" | "stop">> => {
  const log = createPino(settings.logLevel);
  await using stack = new AsyncDisposableStack();
  const upgrades = new Upgrades(log, false);
  const api = new ApiPort();
  const ready = Promise.withResolvers<void>();
  const { engine, apiPort } = await takeOver({
    api,
    ready: ready.promise,
    open: ({ running }) => openLocalSuccessor(settings, log, upgrades.upgrade, running),
  });
  stack.use(engine);
  stack.defer(() => api.close());
  const server = new SupervisedServer(script, { settings, engineSocket: engine.socket, port: apiPort }, log);
  stack.defer(() => server.stop());
  await server.startOver();
  api.passTo((socket, onLost) => server.pass(socket, onLost));
  upgrades.allow({ settings, engine, api, apiPort, server, log });
  ready.resolve();
  const teardown = stack.move();
  return { replaced: upgrades.replaced, stop: () => teardown.disposeAsync() };
};
