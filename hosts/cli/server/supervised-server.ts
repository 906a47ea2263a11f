/** Runs the server as a child process, and restarts it when it ends. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { packagedScript } from "../../../adapters/shared/runtime/packaged-script.ts";
import type { createPino } from "../../composition/logger.ts";
import { CommandError } from "../terminal/io.ts";
import { countFailures, restartDelay } from "./restart-delay.ts";
import type { EngineMessage, ServerMessage } from "./server-messages.ts";
import type { ServingFacts } from "./serving.ts";
import { passDecrypted } from "./tls-bridge.ts";

type Log = ReturnType<typeof createPino>;

/** The script of the server; null in a bundle. */
export const serverScript = packagedScript(
  import.meta.url,
  "hosts/cli/server/supervised-server",
  "hosts/cli/server/server-process",
);

export class SupervisedServer {
  readonly #script: URL;
  readonly #log: Log;
  #start: EngineMessage & { readonly kind: "start" };
  #child: ChildProcess | undefined;
  /** The child, once its API accepts connections. */
  #ready: ChildProcess | undefined;
  #failures = 0;
  /** Connections that the server has not accepted yet, by number. */
  readonly #passing = new Map<number, { readonly socket: Socket; readonly onLost: (socket: Socket) => void }>();
  #passed = 0;
  #drained: PromiseWithResolvers<void> | undefined;
  #restart: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(script: URL, start: Omit<EngineMessage & { readonly kind: "start" }, "kind">, log: Log) {
    this.#script = script;
    this.#start = { kind: "start", ...start };
    this.#log = log;
  }

  /** Starts the first server. Throws a `CommandError` if it cannot start. */
  async start(): Promise<ServingFacts> {
    const facts = await this.#run();
    // A later server must reject a state that was damaged in the meantime.
    this.#start = { ...this.#start, settings: { ...this.#start.settings, acceptState: false } };
    return facts;
  }

  /**
   * Passes a connection to the server: a paused one, or a decrypted one.
   * @param onLost called with the connection if no server runs, or if the server ends before it accepts the connection
   */
  pass(socket: Socket, onLost: (socket: Socket) => void): void {
    // After an upgrade, the server of the new process serves the connections that this process held.
    const { engineSocket } = this.#start;
    if (socket instanceof TLSSocket) return passDecrypted(socket, { engineSocket, endsSoon: this.#isStopping, onLost });
    const child = this.#ready;
    if (child === undefined) return onLost(socket);
    const id = this.#passed++;
    this.#passing.set(id, { socket, onLost });
    child.send({ kind: "connection", id } satisfies EngineMessage, socket, { keepOpen: true }, () => undefined);
  }

  /**
   * Waits up to `seconds` for running deploys. Afterwards, the server continues to serve, but asks clients to close
   * their connections.
   */
  async drain(seconds: number): Promise<void> {
    const child = this.#ready;
    if (child === undefined) return;
    this.#drained = Promise.withResolvers();
    child.send({ kind: "drain", seconds } satisfies EngineMessage, () => undefined);
    await Promise.race([this.#drained.promise, once(child, "exit")]);
  }

  /**
   * Stops the server. The server ends running deploys, then waits for in-flight requests to finish.
   * @param killAfterMs milliseconds after which to kill a server that still runs; never by default
   */
  async stop(killAfterMs?: number): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, "exit");
    if (child.connected) child.send({ kind: "stop" } satisfies EngineMessage);
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    await ended;
    clearTimeout(timer);
  }

  /**
   * Starts a server after `stop`, or after the server of another process has stopped. Resolves to undefined when the
   * server is ready. If it cannot start, resolves to the reason, and retries in the background.
   */
  async startOver(): Promise<unknown> {
    this.#isStopping = false;
    this.#failures = 0;
    this.#start = { ...this.#start, settings: { ...this.#start.settings, acceptState: false } };
    return this.#tryToRun();
  }

  /** Resolves when the server is ready. Rejects if the server ends before that. */
  #run(): Promise<ServingFacts> {
    const { promise, resolve, reject } = Promise.withResolvers<ServingFacts>();
    const child = fork(fileURLToPath(this.#script), { serialization: "advanced" });
    this.#child = child;
    let readyAt: number | undefined;
    let problem: string | undefined;
    child.on("message", (message: ServerMessage) => {
      if (message.kind === "failed") problem = message.message;
      else if (message.kind === "accepted") this.#accepted(message.id);
      else if (message.kind === "drained") this.#drained?.resolve();
      else {
        readyAt = performance.now();
        this.#ready = child;
        resolve(message.facts);
      }
    });
    const onEnd = (how: unknown) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#ready = undefined;
      for (const { socket, onLost } of this.#passing.values()) onLost(socket);
      this.#passing.clear();
      if (readyAt !== undefined) this.#ended(performance.now() - readyAt, how);
      else reject(new CommandError(problem ?? `The server ended (${how}) before it was ready.`));
    };
    child.on("error", (cause) => {
      this.#log.error({ cause }, "the server's process failed");
      // A process that could not be created emits no `exit` event.
      if (child.pid === undefined) onEnd(cause.message);
    });
    child.once("exit", (code, signal) => onEnd(code ?? signal));
    child.send(this.#start);
    return promise;
  }

  /** Closes this process's handle of a connection. The server holds its own handle, so the connection stays open. */
  #accepted(id: number): void {
    this.#passing.get(id)?.socket.destroy();
    this.#passing.delete(id);
  }

  #ended(readyMs: number, how: unknown): void {
    if (this.#isStopping) return;
    this.#failures = countFailures(this.#failures, readyMs);
    this.#log.warn({ how }, "the server ended; services continue while it restarts");
    this.#runLater();
  }

  #runLater(): void {
    this.#restart = setTimeout(() => void this.#tryToRun(), restartDelay(this.#failures));
  }

  /** Resolves to the reason if the server cannot start, otherwise to undefined. */
  async #tryToRun(): Promise<unknown> {
    try {
      await this.#run();
      this.#log.info("the server serves the API again");
      return undefined;
    } catch (cause) {
      if (this.#isStopping) return cause;
      this.#failures = countFailures(this.#failures, 0);
      this.#log.error({ cause }, "the server could not restart; services continue");
      this.#runLater();
      return cause;
    }
  }
}
