/** Replaces the engine by a new process while its services continue. */
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

/** How long connections to the API may wait for the new server. */
export const HOLD_MS = 30_000;

/**
 * Hands everything over, in an order in which nothing is served twice or not at all. Returns the socket of the new
 * engine.
 */
const handOver = async (
  next: NewProcess,
  { engine, api, server }: RunningServe,
  say: (message: string) => void,
): Promise<string> => {
  const { drainSeconds } = engine;
  say(`Waiting for running deploys, at most ${drainSeconds} seconds.`);
  await server.drain(drainSeconds);
  say("Passing the ports to the new version.");
  // The new process keeps connections to the API waiting until its server is ready.
  for (const one of api.servers) await next.ask({ kind: "api" }, one);
  api.close();
  await server.stop();
  await next.ask({ kind: "settle", running: engine.describe() });
  for (const { port, servers } of engine.listeningPorts())
    for (const one of servers) await next.ask({ kind: "port", port }, one);
  const handover = await engine.release();
  try {
    return (await next.ask({ kind: "lead", handover })) as string;
  } catch (cause) {
    await next.kill();
    await engine.takeBack(handover);
    throw cause;
  }
};

/** Serves the API again after a failed upgrade. */
const resume = async ({ api, apiPort, server, settings }: RunningServe): Promise<void> => {
  if (api.servers.length === 0) await api.open(settings, apiPort);
  api.hold(HOLD_MS);
  await server.stop();
  await server.startOver();
  api.passTo((connection, onLost) => server.pass(connection, onLost));
};

/**
 * Starts the installed version as a new process, and hands the services over to it. Returns the id of the new process.
 * This process then only drains. Throws an `UpgradeFailed` if the new process cannot take over; this one continues.
 */
export const upgrade = async (running: RunningServe, say: (message: string) => void): Promise<number> => {
  const { engine, apiPort, log } = running;
  const next = new NewProcess();
  let isHandingOver = false;
  let socket: string;
  try {
    say("Starting the new version, and an instance of each running service.");
    await next.ask({ kind: "open", running: engine.describe(), apiPort });
    isHandingOver = true;
    socket = await handOver(next, running, say);
  } catch (cause) {
    log.error({ cause }, "the upgrade failed; the running version continues");
    await next.kill();
    if (isHandingOver) await resume(running);
    const message = `The upgrade failed, and the running version continues. ${(cause as Error).message} The server's log has details.`;
    throw new UpgradeFailed(message, { cause });
  }
  engine.retire(socket);
  log.info({ pid: next.pid }, "a new process serves; this one ends after its last connection");
  say("Starting the new server.");
  await next.ask({ kind: "ready" }).catch((cause: unknown) => log.error({ cause }, "the new server did not start"));
  next.release();
  return next.pid;
};
