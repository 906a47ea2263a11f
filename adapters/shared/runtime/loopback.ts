/**
 * Servers that own their port on both loopback families. `localhost` means 127.0.0.1 to one client and ::1 to another: a
 * program that takes the other address would receive requests, and cookies, that were meant for the server.
 */
import { createServer, type Server, type Socket } from "node:net";
import { holderOf } from "./listening.ts";

/** Where a server must listen besides its own host; `::` takes IPv4 too, and the loopback is not in any other address. */
const counterparts: Readonly<Record<string, string>> = {
  "127.0.0.1": "::1",
  "0.0.0.0": "::1",
  "::1": "127.0.0.1",
};

/** The machine has no such address, or no such family. */
const absent = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EPROTONOSUPPORT"]);

/** A port that the kernel chose for one family may be taken on the other. */
const MAX_TRIES = 100;

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

const formatAddress = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;

/** Says which program has the port, where the kernel shows it. */
const explain = async (error: unknown, host: string, port: number): Promise<unknown> => {
  if (codeOf(error) !== "EADDRINUSE") return error;
  const holder = (await holderOf(host, port)) ?? "another program";
  const message = `${formatAddress(host, port)} is in use by ${holder}`;
  return Object.assign(new Error(message, { cause: error }), { code: "EADDRINUSE" });
};

export interface WantedPort {
  readonly port: number;
  /** What listens there, in a word or two. */
  readonly purpose: string;
  /** Names the port. */
  readonly setting: string;
}

/** The error of `listenOnLoopbacks`, with the next step. */
export const describeListenError = (error: unknown, { port, purpose, setting }: WantedPort): string => {
  const { message } = error as Error;
  return codeOf(error) === "EADDRINUSE"
    ? `Port ${port} (${purpose}) is in use. Stop the other process or pass ${setting} N. ${message}.`
    : `Port ${port} (${purpose}) cannot be opened: ${message}. Pass ${setting} N.`;
};

/** Calls `listen` of a server as a promise; resolves with the port. */
export const listenAt = (server: Server, host: string, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as { port: number }).port);
    });
  });

export interface Listening {
  readonly port: number;
  /** Stops listening at the counterpart. Resolves when the connections that it took have ended. */
  close(): Promise<void>;
}

/**
 * Listens at `host`, and at its counterpart where the machine has one. The counterpart is taken first, because `listen`
 * cannot be undone. Fails with EADDRINUSE and the holder's name where another program has either.
 * @param port 0 for one that is free in both families
 * @param listen opens the server at `host`; resolves with the port
 * @param pass takes the connections of the counterpart
 */
export const listenOnLoopbacks = async (
  host: string,
  port: number,
  listen: (host: string, port: number) => Promise<number>,
  pass: (socket: Socket) => void,
): Promise<Listening> => {
  const first = host === "localhost" ? "127.0.0.1" : host;
  const second = counterparts[first];
  for (let tries = 1; ; tries++) {
    const server = createServer(pass);
    const wanted =
      second === undefined
        ? port
        : await listenAt(server, second, port).catch(async (error: unknown) => {
            if (absent.has(codeOf(error) ?? "")) return port;
            throw await explain(error, second, port);
          });
    const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
    try {
      return { port: await listen(first, wanted), close };
    } catch (error) {
      await close();
      const isTaken = codeOf(error) === "EADDRINUSE";
      if (port !== 0 || !isTaken || tries === MAX_TRIES) throw await explain(error, first, wanted);
    }
  }
};
