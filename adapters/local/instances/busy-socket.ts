/**
 * The Unix socket on which a service takes a busy lease: `POST /busy {"until": TIME}`. Until this time, the platform
 * neither freezes nor stops the instance. Each instance has a separate socket. A sandbox or container contains only the
 * socket of its instance. A plain process can reach the sockets of all instances.
 */
import { chmodSync, chownSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { instantOfMillis, millisOf, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import { parseStrictJson } from "../../../core/domain/wire/strict-json.ts";
import { drainBody } from "../../shared/calls/drain-body.ts";
import { locateSocket, type SocketLocation } from "../engine/socket/socket-path.ts";

/** The maximum size of a request's body in bytes. */
const MAX_BODY = 1024;
const MAX_HEADERS = 4096;
const MAX_CONNECTIONS = 16;
const REQUEST_MS = 10_000;

const EXAMPLE = '{"until": "2026-01-31T09:00:00Z"}';

/**
 * Reads a request's body. Returns the end of the lease in milliseconds since the epoch, or the reason why the body is
 * invalid.
 * @param now milliseconds since the epoch
 * @param maxMillis how far ahead of `now` a lease may end
 */
export const readLease = (body: string, now: number, maxMillis: number): number | string => {
  const json = parseStrictJson(body);
  if (!json.ok) return `The body ${json.message}. Send an object such as ${EXAMPLE}.`;
  const { value } = json;
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "until")
    return `The body must be an object with only the field 'until'. Send an object such as ${EXAMPLE}.`;
  const { until } = value as { readonly until: unknown };
  const instant = typeof until === "string" ? parseInstant(until) : undefined;
  if (instant === undefined) return `'until' must be a date-time with an offset. Send an object such as ${EXAMPLE}.`;
  const millis = millisOf(instant);
  return millis <= now + maxMillis
    ? millis
    : `'until' must be at most ${maxMillis / 1000} s from now, which is the 'timeout' of the service. Send an earlier time, and renew the lease before it ends.`;
};

/** Returns the body, or undefined if it is too large or the client has disconnected. */
const readBody = (request: IncomingMessage): Promise<string | undefined> =>
  new Promise((resolve) => {
    const parts: Buffer[] = [];
    let size = 0;
    const collect = (part: Buffer) => {
      size += part.length;
      if (size <= MAX_BODY) return void parts.push(part);
      request.off("data", collect);
      resolve(undefined);
    };
    request.on("data", collect);
    request.once("end", () => resolve(Buffer.concat(parts).toString()));
    request.once("close", () => resolve(undefined));
  });

/** Closes the connection, because a service would not notice a later close while it is frozen or busy. */
const respond = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(body));
};

/**
 * The user that may connect: a user id, this process's user, or every user. A service in a container may run as any
 * user, but no other program sees its socket.
 */
export type SocketUser = number | "own" | "any";

export interface BusySocketConfig {
  /**
   * The path of the socket, in a folder that only the server's user can open. If the path is too long for a socket, the
   * socket gets a path in a temporary folder.
   */
  readonly path: string;
  readonly user: SocketUser;
  /** How far ahead a lease may end, in milliseconds. */
  readonly maxMillis: number;
}

export class BusySocket {
  /** The path on this machine, outside of the sandbox or container. */
  readonly path: string;
  readonly #maxMillis: number;
  readonly #server: Server;
  readonly #location: SocketLocation;
  #until = 0;
  #isStopping = false;
  #onLease: () => void = () => undefined;

  private constructor(location: SocketLocation, maxMillis: number) {
    this.path = location.path;
    this.#location = location;
    this.#maxMillis = maxMillis;
    const limits = { maxHeaderSize: MAX_HEADERS, requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS };
    this.#server = createServer(limits, (request, response) => void this.#answer(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Listens on the path. Rejects if the socket cannot be created. */
  static async open({ path: wanted, user, maxMillis }: BusySocketConfig): Promise<BusySocket> {
    const socket = new BusySocket(await locateSocket(wanted), maxMillis);
    const { path } = socket;
    try {
      await socket.#listen();
      chmodSync(path, user === "any" ? 0o666 : 0o600);
      if (typeof user === "number") chownSync(path, user, user);
    } catch (error) {
      await socket.close();
      throw error;
    }
    return socket;
  }

  /** The end of the lease in milliseconds since the epoch. In the past if the instance has no lease. */
  get until(): number {
    return this.#until;
  }

  /** Calls the function after each change of the lease. */
  onLease(listener: () => void): void {
    this.#onLease = listener;
  }

  /** Rejects new leases, because the instance is stopping. */
  refuse(): void {
    this.#isStopping = true;
  }

  /** Closes the socket and removes its file. */
  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#location.remove();
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      // Never removes the listener: without a listener, a later error, such as too many open files, ends the process.
      this.#server.on("error", reject);
      this.#server.listen(this.path, resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.once("error", () => undefined);
    response.once("finish", () => drainBody(request));
    if (request.url !== "/busy")
      return respond(response, 404, { detail: "The busy socket serves only POST /busy. Send the request there." });
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return respond(response, 405, { detail: `Use POST /busy with a body such as ${EXAMPLE}.` });
    }
    const body = await readBody(request);
    if (body === undefined)
      return respond(response, 413, { detail: `The body is larger than ${MAX_BODY} bytes. Send ${EXAMPLE}.` });
    const now = Date.now();
    const until = readLease(body, now, this.#maxMillis);
    if (typeof until === "string") return respond(response, 400, { detail: until });
    if (this.#isStopping && until > now)
      return respond(response, 409, { detail: "The instance is stopping. Finish the work within the grace time." });
    this.#take(until, now);
    respond(response, 200, { until: this.#until > now ? timestampOf(instantOfMillis(this.#until)) : null });
  }

  /** A time in the past releases the lease. */
  #take(until: number, now: number): void {
    this.#until = until > now ? until : Math.min(this.#until, now);
    this.#onLease();
  }
}
