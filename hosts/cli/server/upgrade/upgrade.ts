/** Replaces the engine with a new process while its services continue. */
import { setTimeout as sleep } from "node:timers/promises";
import { type StartedEngine, UpgradeFailed } from "../../../composition/local-engine.ts";
import type { createPino } from "../../../composition/logger.ts";
import type { ServeSettings } from "../../../composition/settings.ts";
import type { ApiPort } from "../api-port.ts";
import type { SupervisedServer } from "../supervised-server.ts";
import { NewProcess } from "./new-process.ts";

export interface RunningServe {
  readonly settings: ServeSettings;
  readonly engine: StartedEngine;
  readonly api: ApiPort;
  readonly apiPort: number;
  readonly server: SupervisedServer;
  readonly log: ReturnType<typeof createPino>;
}

export interface UpgradeOptions {
  /** Reports progress. */
  readonly say: (message: string) => void;
  /** Cancels the upgrade. The running engine then keeps the data folder, but its server does not start again. */
  readonly cancelled: AbortSignal;
  /** True if this process has a lifeline, which it passes to the new process. */
  readonly isSupervised: boolean;
}

/** How long connections to the API may wait for the new server. */
export const HOLD_MS = 30_000;

/**
 * How long the server continues after its last new connection. The request of that connection may be on its way, and a
 * stopping server would reject it. No event ends this pause, because none says that no request follows: browsers open
 * connections in advance and may never use them. New connections wait for the new server meanwhile.
 */
const ARRIVE_MS = 250;

/** How long the server may take to finish requests before the engine kills it. */
const STOP_MS = 10_000;

/** After a failed upgrade, how long to retry opening the API's port while another program occupies it. */
const REOPEN_MS = 10_000;
const RETRY_MS = 100;

/** Serves the API again after a failed upgrade. */
const serveAgain = async ({ api, apiPort, server, settings }: RunningServe, cancelled: AbortSignal): Promise<void> => {
  if (cancelled.aborted) return;
  for (const ends = performance.now() + REOPEN_MS; api.servers.length === 0; await sleep(RETRY_MS))
    try {
      await api.open({ ...settings, port: apiPort }, apiPort);
    } catch (cause) {
      if (performance.now() >= ends) throw cause;
    }
  api.hold(HOLD_MS);
  await server.stop(STOP_MS);
  if (cancelled.aborted) return;
  await server.startOver();
  api.passTo((connection, onLost) => server.pass(connection, onLost));
};

/**
 * Hands over the ports, the state and the lease. The order ensures that a process always accepts connections, and that
 * each file has one writer. Resolves when the new server has started.
 * @param undo collects the actions that undo the completed steps. If a step fails, they run after the new process has
 * ended.
 */
const handOver = async (
  next: NewProcess,
  running: RunningServe,
  undo: AsyncDisposableStack,
  { say, cancelled }: UpgradeOptions,
): Promise<void> => {
  const { engine, api, server } = running;
  const { drainSeconds } = engine;
  say(`Waiting for running deploys, at most ${drainSeconds} seconds.`);
  undo.defer(() => serveAgain(running, cancelled));
  await server.drain(drainSeconds);
  say("Passing the ports to the new version.");
  // The new process keeps connections to the API waiting until its server is ready.
  for (const one of api.servers) await next.ask({ kind: "api" }, one);
  api.close();
  // This process still accepts connections on the TLS port until the new process has it. Hold them for the new server.
  api.hold(HOLD_MS);
  await sleep(ARRIVE_MS);
  await server.stop(STOP_MS);
  await next.ask({ kind: "settle", running: await engine.settle() });
  for (const { port, servers } of engine.listeningPorts())
    for (const one of servers) await next.ask({ kind: "port", port }, one);
  const handover = await engine.release();
  undo.defer(() => engine.takeBack(handover));
  engine.follow((await next.ask({ kind: "lead", handover })) as string);
  say("Starting the new server.");
  await next.ask({ kind: "ready" });
};

/**
 * Starts the installed version as a new process, and hands the services over to it. Returns the id of the new process.
 * After that, this process only drains. If the new process cannot take over, throws an `UpgradeFailed`, and this
 * process continues.
 */
export const upgrade = async (running: RunningServe, options: UpgradeOptions): Promise<number> => {
  const { engine, api, apiPort, server, log } = running;
  const { say, cancelled } = options;
  const next = new NewProcess(options.isSupervised);
  const cancel = () => void next.kill();
  cancelled.addEventListener("abort", cancel);
  const undo = new AsyncDisposableStack();
  try {
    cancelled.throwIfAborted();
    say("Starting the new version, and an instance of each running service.");
    await next.ask({ kind: "open", running: engine.describe(), apiPort });
    await handOver(next, running, undo, options);
    // The last answer may arrive after `cancel` has ended the new process.
    cancelled.throwIfAborted();
  } catch (cause) {
    log.error({ cause }, "the upgrade failed; the running version continues");
    await next.kill();
    await undo.disposeAsync().catch((lost: unknown) => {
      // The next start recovers the data folder.
      log.fatal({ cause: lost }, "could not continue after the failed upgrade");
      process.exit(1);
    });
    await engine
      .endOthers()
      .catch((left: unknown) =>
        log.error({ cause: left }, "could not remove everything that the new process left behind"),
      );
    const message = `The upgrade failed, and the running version continues. ${(cause as Error).message} The server's log has details.`;
    throw new UpgradeFailed(message, { cause });
  } finally {
    cancelled.removeEventListener("abort", cancel);
  }
  api.passTo((connection, onLost) => server.pass(connection, onLost));
  engine.retire();
  next.release();
  log.info({ pid: next.pid }, "a new process serves; this one ends after its last connection");
  return next.pid;
};
