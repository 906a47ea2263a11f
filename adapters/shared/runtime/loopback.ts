/**
 * Listens on both loopback families. `localhost` means 127.0.0.1 to some clients and ::1 to others. A program that
 * listens on the other address would receive requests and cookies that are intended for the server.
 */
import { once } from "node:events";
import { createServer, type Server, type ServerOpts, type Socket } from "node:net";
import { holderOf } from "./listening.ts";

/**
 * The second address for each host. `::` needs no second address, because it includes IPv4. Other hosts do not include
 * the loopback.
 */
const counterparts: Readonly<Record<string, string>> = {
  "127.0.0.1": "::1",
  "0.0.0.0": "::1",
  "::1": "127.0.0.1",
};

/** Error codes for a machine without the address or its family. */
const absent = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EPROTONOSUPPORT"]);

/** Maximum attempts to find a free port: a port that the kernel chose for one family may be in use in the other. */
const MAX_TRIES = 100;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const formatAddress = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Adds the name of the program that uses the port, if the kernel reveals it. */
const explain = async (error: unknown, host: string, port: number): Promise<unknown> => {
  if (codeOf(error) !== "EADDRINUSE") return error;
  const holder = (await holderOf(host, port)) ?? "another program";
  const message = `${formatAddress(host, port)} is in use by ${holder}`;
  return Object.assign(new Error(message, { cause: error }), { code: "EADDRINUSE" });
};

export interface WantedPort {
  readonly port: number;
  /** The purpose of the port, in a word or two. */
  readonly purpose: string;
  /** The setting that chooses the port. */
  readonly setting: string;
}

/** Formats an error of `listenOnLoopbacks`, with the next step. */
export const describeListenError = (error: unknown, { port, purpose, setting }: WantedPort): string => {
  const { message } = error as Error;
  return codeOf(error) === "EADDRINUSE"
    ? `Port ${port} (${purpose}) is in use. Stop the other process or pass ${setting} N. ${message}.`
    : `Port ${port} (${purpose}) cannot be opened: ${message}. Pass ${setting} N.`;
};

/** Makes a server listen. Resolves to its port. */
export const listenAt = async (server: Server, host: string, port: number): Promise<number> => {
  await once(server.listen(port, host), "listening");
  return (server.address() as { port: number }).port;
};

/**
 * Accepts the connections to a listening server that another process sent over IPC. The caller must call this function
 * in the `message` event that delivered the server: the server accepts connections from then on, and has no handler.
 * https://nodejs.org/api/child_process.html#example-sending-a-server-object
 *
 * @param options of the returned server, which replace those of the sender's server
 */
export const adoptServer = (received: Server, pass: (socket: Socket) => void, options: ServerOpts = {}): Server =>
  createServer(options, pass).listen(received);

export interface Listening {
  readonly port: number;
  /** The server on the second address; undefined if the machine has none. */
  readonly second: Server | undefined;
  /** Stops listening on the second address. Resolves when its connections have ended. */
  close(): Promise<void>;
}

/**
 * Listens on `host`, and on the second address if the machine has one. Opens the second address first, because `listen`
 * cannot be undone. Fails with EADDRINUSE and the name of the other program if either address is in use.
 *
 * @param port 0 to choose a port that is free in both families
 * @param listen makes the server listen on `host`; resolves to the port
 * @param pass receives the connections to the second address
 * @param options of the server on the second address
 */
export const listenOnLoopbacks = async (
  host: string,
  port: number,
  listen: (host: string, port: number) => Promise<number>,
  pass: (socket: Socket) => void,
  options: ServerOpts = {},
): Promise<Listening> => {
  const first = host === "localhost" ? "127.0.0.1" : host;
  const second = counterparts[first];
  for (let tries = 1; ; tries++) {
    const server = createServer(options, pass);
    const wanted =
      second === undefined
        ? port
        : await listenAt(server, second, port).catch(async (error: unknown) => {
            if (absent.has(codeOf(error) ?? "")) return port;
            throw await explain(error, second, port);
          });
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    try {
      return { port: await listen(first, wanted), second: server.listening ? server : undefined, close };
    } catch (error) {
      await close();
      const isTaken = codeOf(error) === "EADDRINUSE";
      if (port !== 0 || !isTaken || tries === MAX_TRIES) throw await explain(error, first, wanted);
    }
  }
};
