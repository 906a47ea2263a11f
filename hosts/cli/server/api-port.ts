/** The API's port in the engine's process. Passes each connection to the server; responds 503 while no server runs. */
import { createServer, type Server, type Socket } from "node:net";
import { type Listening, listenAt, listenOnLoopbacks } from "../../../adapters/shared/runtime/loopback.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { Listeners } from "../../http/server/listeners.ts";
import { listenForApi } from "./listen-for-api.ts";

/** A restart of the server takes about a second. */
const RETRY_SECONDS = 2;

/** The server reads the connection's first bytes, so this process must not. */
const paused = { pauseOnConnect: true, allowHalfOpen: true };

type Pass = (socket: Socket, onLost: (socket: Socket) => void) => void;

export class ApiPort {
  readonly #listeners = new Listeners();
  readonly #unavailable = this.#listeners.create((_request, response) => {
    const detail = `The server is restarting. Retry after ${RETRY_SECONDS} seconds.`;
    response
      .writeHead(503, { "content-type": "application/json", "retry-after": String(RETRY_SECONDS), connection: "close" })
      .end(JSON.stringify({ detail }));
  });
  readonly #servers: Server[] = [];
  #listening: Listening | undefined;
  #pass: Pass = (socket, onLost) => onLost(socket);

  /** Returns the port. @param previous the port of the last start, or 0 */
  async open(settings: Pick<ServeSettings, "host" | "port">, previous: number): Promise<number> {
    const onConnection = (socket: Socket) => this.#onConnection(socket);
    const listen = (host: string, port: number) =>
      listenOnLoopbacks(
        host,
        port,
        async (address, free) => {
          const server = createServer(paused, onConnection);
          const listening = await listenAt(server, address, free);
          this.#servers.push(server);
          return listening;
        },
        onConnection,
        paused,
      );
    this.#listening = await listenForApi(listen, settings, previous);
    return this.#listening.port;
  }

  /** @param pass takes a paused connection, and passes it to `onLost` if no server accepts it */
  passTo(pass: Pass): void {
    this.#pass = pass;
  }

  /** Stops listening. Does not wait for connections, which belong to the server. */
  close(): void {
    for (const server of this.#servers) server.close();
    void this.#listening?.close();
    this.#listeners.closeIdle();
  }

  #onConnection(socket: Socket): void {
    socket.on("error", () => socket.destroy());
    this.#pass(socket, (lost) => {
      this.#unavailable.emit("connection", lost);
      lost.resume();
    });
  }
}
