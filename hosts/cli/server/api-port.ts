/**
 * The API's port in the engine's process. Passes each connection to the server. Responds with 503 while no server runs.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { adoptServer, listenAt, listenOnLoopbacks } from "../../../adapters/shared/runtime/loopback.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { hstsHeaders } from "../../http/server/hsts.ts";
import { Listeners } from "../../http/server/listeners.ts";
import { listenForApi } from "./listen-for-api.ts";

/** A restart of the server takes about a second. */
const RETRY_SECONDS = 2;

/** How long a decrypted connection may send nothing. The server has the same timeout. */
const FIRST_BYTES_MS = 60_000;

/** Each held connection occupies a file descriptor. */
const MAX_HELD = 500;

/** The server reads the connection's first bytes, so this process must not. */
const paused = { pauseOnConnect: true, allowHalfOpen: true };

type Pass = (socket: Socket, onLost: (socket: Socket) => void) => void;

const refuse: Pass = (socket, onLost) => onLost(socket);

export class ApiPort {
  readonly #listeners = new Listeners();
  readonly #unavailable: Server;
  readonly #servers: Server[] = [];
  readonly #held: Socket[] = [];
  #deadline: NodeJS.Timeout | undefined;
  #pass = refuse;

  /** @param hstsSeconds the setting `--hsts-max-age` */
  constructor(hstsSeconds = 0) {
    this.#unavailable = this.#listeners.create((request, response) => {
      const detail = `The server is restarting. Retry after ${RETRY_SECONDS} seconds.`;
      const hsts = hstsHeaders(request.socket, hstsSeconds);
      const headers = { "content-type": "application/json", "retry-after": String(RETRY_SECONDS), ...hsts };
      response.writeHead(503, { ...headers, connection: "close" }).end(JSON.stringify({ detail }));
    });
  }

  /** The listening servers, one for each address, to send to another process. They stay open until `close`. */
  get servers(): readonly Server[] {
    return this.#servers;
  }

  /**
   * Listens on the API's port, and returns the port.
   * @param previous the port of the last start, or 0
   */
  async open(settings: Pick<ServeSettings, "host" | "port">, previous: number): Promise<number> {
    const listen = (host: string, port: number) =>
      listenOnLoopbacks(
        host,
        port,
        async (address, free) => {
          const server = createServer(paused, this.#onConnection);
          const listening = await listenAt(server, address, free);
          this.#servers.push(server);
          return listening;
        },
        this.#onConnection,
        paused,
      );
    const { port, second } = await listenForApi(listen, settings, previous);
    if (second !== undefined) this.#servers.push(second);
    return port;
  }

  /** Accepts connections on a listening server that another process has sent. See `adoptServer`. */
  adopt(received: Server): void {
    this.#servers.push(adoptServer(received, this.#onConnection, paused));
  }

  /**
   * Holds new connections until `passTo` is called. After `millis`, responds to held and new connections with 503.
   * While `MAX_HELD` connections are held, responds to further ones with 503 immediately.
   */
  hold(millis: number): void {
    this.#pass = (socket, onLost) => {
      if (this.#held.length < MAX_HELD) this.#held.push(socket);
      else onLost(socket);
    };
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.passTo(refuse), millis);
  }

  /**
   * Passes the held connections in order, and then all new connections.
   * @param pass takes a paused connection, and passes it to `onLost` if no server accepts it
   */
  passTo(pass: Pass): void {
    clearTimeout(this.#deadline);
    this.#pass = pass;
    for (const socket of this.#held.splice(0)) pass(socket, this.#onLost);
  }

  /** Stops listening. Does not wait for connections, which belong to the server. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    this.passTo(refuse);
    this.#listeners.closeIdle();
  }

  /**
   * Serves a decrypted connection like one to the API's port. Waits for its first bytes, because a stopping server
   * closes connections that have sent no request.
   */
  readonly acceptDecrypted = (socket: TLSSocket): void => {
    const onTimeout = () => socket.destroy();
    socket.setTimeout(FIRST_BYTES_MS, onTimeout);
    socket.once("readable", () => {
      socket.setTimeout(0);
      socket.off("timeout", onTimeout);
      this.#onConnection(socket);
    });
  };

  readonly #onConnection = (socket: Socket): void => {
    socket.on("error", () => socket.destroy());
    this.#pass(socket, this.#onLost);
  };

  readonly #onLost = (socket: Socket): void => {
    this.#unavailable.emit("connection", socket);
    socket.resume();
  };
}
