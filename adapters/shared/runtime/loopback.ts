/**
 * Listens on both loopback families. `localhost` means 127.0.0.1 to some clients and ::1 to others. A program that
 * listens on the other address would receive requests and cookies that are intended for the server.
 */
import { randomInt } from "node:crypto";
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

/**
 * The range of chosen ports: below the ports that Linux (from 32768) and macOS (from 49152) give to outgoing
 * connections. A restarted server reuses its previous port. An outgoing connection must not take the port while the
 * server is down.
 * https://docs.kernel.org/networking/ip-sysctl.html (`ip_local_port_range`)
 */
const FIRST_CHOICE = 20_000;
const END_OF_CHOICE = 32_768;

/** Maximum attempts to find a free port. */
const MAX_TRIES = 100;

/** Error codes for an address that the machine does not have, or for a host name that has no address. */
const foreign = new Set([...absent, "EINVAL", "ENOTFOUND", "EAI_AGAIN"]);

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** Continues without an address that the machine does not have. */
const passOverAbsent = (error: unknown): void => {
  if (!absent.has(codeOf(error) ?? "")) throw error;
};

const formatAddress = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Adds the name of the program that uses the port, if the kernel reveals it. */
const explain = async (error: unknown): Promise<unknown> => {
  if (codeOf(error) !== "EADDRINUSE") return error;
  const { address, port } = error as { readonly address: string; readonly port: number };
  const holder = (await holderOf(address, port)) ?? "another program";
  const message = `${formatAddress(address, port)} is in use by ${holder}`;
  return Object.assign(new Error(message, { cause: error }), { code: "EADDRINUSE" });
};

export interface WantedPort {
  readonly port: number;
  /** The purpose of the port, in a word or two. */
  readonly purpose: string;
  /** The setting that chooses the port. */
  readonly setting: string;
  /** The address to listen on, and the setting that chooses it. */
  readonly address?: { readonly host: string; readonly setting: string };
}

/** Formats an error of `listenOnLoopbacks`, with the next step. */
export const describeListenError = (error: unknown, { port, purpose, setting, address }: WantedPort): string => {
  const { message } = error as Error;
  // https://man7.org/linux/man-pages/man7/capabilities.7.html (CAP_NET_BIND_SERVICE)
  // A server on port 443 usually opens port 80, too.
  if (codeOf(error) === "EACCES" && port < 1024)
    return `Port ${port} (${purpose}) cannot be opened: this user may not listen on ports below 1024. Add AmbientCapabilities=CAP_NET_BIND_SERVICE to the systemd unit, lower the first port of all users with 'sysctl net.ipv4.ip_unprivileged_port_start=${Math.min(port, 80)}', or pass ${setting} N.`;
  if (address !== undefined && foreign.has(codeOf(error) ?? ""))
    return `'${address.host}' (${purpose}) is not an address of this machine: ${message}. Pass ${address.setting} with one of its addresses, such as 127.0.0.1, or 0.0.0.0 for all IPv4 addresses.`;
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
 * @param options the options of the returned server, which replace the options of the sender's server
 */
export const adoptServer = (received: Server, pass: (socket: Socket) => void, options: ServerOpts = {}): Server =>
  createServer(options, pass).listen(received);

export interface Listening {
  readonly port: number;
  /** The server on the second address; undefined if the machine has no second address. */
  readonly second: Server | undefined;
  /** Stops listening on the second address. Resolves when its connections have ended. */
  close(): Promise<void>;
}

/**
 * Listens on `host`, and on the second address if the machine has one. Opens the second address first, because `listen`
 * cannot be undone. Fails with EADDRINUSE and the name of the other program if either address is in use.
 *
 * @param port 0 to choose a port that is free in both families and that no outgoing connection gets
 * @param listen makes the server listen on `host`; resolves to the port
 * @param pass receives the connections to the second address
 * @param options the options of the server on the second address
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
    const wanted = port === 0 ? randomInt(FIRST_CHOICE, END_OF_CHOICE) : port;
    const server = createServer(options, pass);
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    try {
      if (second !== undefined) await listenAt(server, second, wanted).catch(passOverAbsent);
      return { port: await listen(first, wanted), second: server.listening ? server : undefined, close };
    } catch (error) {
      await close();
      const isTaken = codeOf(error) === "EADDRINUSE";
      if (port !== 0 || !isTaken || tries === MAX_TRIES) throw await explain(error);
    }
  }
};
