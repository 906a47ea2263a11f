/** The server of `portside serve`: a child of the engine's process. It ends with the engine. */
import type { Socket } from "node:net";
import type { EngineMessage, ServerMessage } from "./server-messages.ts";
import { type PassedServing, startPassedServing } from "./serving.ts";

let serving: Promise<PassedServing> | undefined;

const send = (message: ServerMessage): void => void process.send?.(message);

/**
 * Exits immediately when the engine has ended, so that this process does not report the interrupted deploys as failed.
 * The next server ends these deploys when it starts. Two events call this function, because the engine's sockets can
 * close before the IPC channel does.
 */
const exit = (): void => process.exit(process.exitCode ?? 1);

const start = async (message: EngineMessage & { readonly kind: "start" }): Promise<void> => {
  serving = startPassedServing(message.settings, message, exit);
  try {
    const { metrics, apiKey, capabilities } = await serving;
    send({ kind: "ready", facts: { metrics, apiKey, capabilities } });
  } catch (error) {
    send({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    process.exitCode = 1;
    process.disconnect();
  }
};

const accept = async (id: number, socket: Socket): Promise<void> => {
  const started = await serving;
  started?.accept(socket);
  send({ kind: "accepted", id });
};

const drain = async (seconds: number): Promise<void> => {
  const started = await serving?.catch(() => undefined);
  await started?.drain(seconds);
  send({ kind: "drained" });
};

const stop = async (): Promise<void> => {
  const started = await serving?.catch(() => undefined);
  await started?.stop();
  process.exit(0);
};

process.on("message", (message: EngineMessage, socket: Socket | undefined) => {
  if (message.kind === "start") void start(message);
  else if (message.kind === "stop") void stop();
  else if (message.kind === "drain") void drain(message.seconds);
  // The socket is missing if the client has disconnected.
  else if (socket !== undefined) void accept(message.id, socket);
});
// Ctrl-C and the end of a session reach every process of a terminal. This process waits until the engine stops it.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.once("SIGTERM", () => void stop());
process.once("disconnect", exit);
