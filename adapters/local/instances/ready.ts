/**
 * Is a service there? Its port is tried every few milliseconds, and the sockets of its processes tell one that
 * listens elsewhere from one that is slow.
 */
import { connect } from "node:net";
import { countSocketsIn, type Listener, listenersIn, listenersOf } from "../../shared/runtime/listening.ts";

/** Where connections are taken. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export const loopback = (port: number): Address => ({ host: "127.0.0.1", port });

/** True where something accepts a connection, and keeps it for so many milliseconds. */
const connects = ({ host, port }: Address, keeps: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => (keeps === 0 ? finish(true) : setTimeout(() => finish(true), keeps)));
    socket.once("error", () => finish(false));
    socket.once("end", () => finish(false));
    socket.setTimeout(1000, () => finish(false));
    socket.resume();
  });

/** True where something accepts a connection. */
export const accepts = (address: Address): Promise<boolean> => connects(address, 0);

const HANGS_UP_MS = 200;

/** True where something accepts a connection there for longer than whoever only passes it on to nobody. */
export const staysOpen = (address: Address): Promise<boolean> => connects(address, HANGS_UP_MS);

const REACHABLE = ["0.0.0.0", "::", "127.0.0.1"];

export type Sight =
  /** It listens where it should; the warning is for an address that would not do on a cloud. */
  | { readonly kind: "right"; readonly warning?: string }
  /** It listens, but elsewhere; said in words. */
  | { readonly kind: "elsewhere"; readonly words: string }
  /** It listens where it should, but does not answer yet; said in words. */
  | { readonly kind: "silent"; readonly words: string }
  /** Another program of this machine has the port. */
  | { readonly kind: "lost" }
  | { readonly kind: "nothing" };

const said = ({ address, port }: Listener): string => `${address.includes(":") ? `[${address}]` : address}:${port}`;

/**
 * What a service's listening sockets mean for the port that it was given. Pure.
 * @param ownNetwork its 127.0.0.1 is not the platform's
 */
export const judgeListeners = (listeners: readonly Listener[], port: number, ownNetwork = false): Sight => {
  const right = listeners.filter((one) => one.port === port);
  if (right.some(({ address }) => REACHABLE.slice(0, 2).includes(address))) return { kind: "right" };
  if (!ownNetwork && right.some(({ address }) => address === "127.0.0.1"))
    return {
      kind: "right",
      warning: "warning: the service listens on 127.0.0.1 only; on a cloud it must listen on 0.0.0.0",
    };
  if (right.length > 0)
    return { kind: "elsewhere", words: `it listens on ${right.map(said).join(", ")} only; listen on 0.0.0.0` };
  if (listeners.length === 0) return { kind: "nothing" };
  return {
    kind: "elsewhere",
    words: `it listens on ${listeners.map(said).join(", ")}, not on PORT (${port}); read the port from the environment variable PORT`,
  };
};

/** The network of one command. */
export interface CommandNetwork {
  /** A process in it. */
  readonly pid: number;
  readonly inside: number | undefined;
  /** Ports at which the platform listens in it. */
  readonly opened: readonly number[];
}

/** A socket that closes while another opens leaves their number as it was. */
const TABLES_MS = 250;

/**
 * Returns a function that tells where the command listens. Reading the kernel's tables takes milliseconds of a CPU that
 * the starting command needs itself, so they are read only after the number of sockets has changed, or seldom.
 */
export const watchNetwork = ({ pid, inside = 0, opened }: CommandNetwork): (() => Promise<Sight>) => {
  let seen: { readonly count: string | undefined; readonly at: number; readonly sight: Sight } | undefined;
  return async () => {
    const count = countSocketsIn(pid);
    const at = performance.now();
    if (seen !== undefined && count !== undefined && count === seen.count && at - seen.at < TABLES_MS)
      return seen.sight;
    const listeners = (await listenersIn(pid)).filter(({ port }) => !opened.includes(port));
    seen = { count, at, sight: judgeListeners(listeners, inside) };
    return seen.sight;
  };
};

/** Where the processes listen, on the machine's own network. */
export const lookAt = async (pids: readonly number[], port: number, open: boolean): Promise<Sight> => {
  // Without /proc the connection has to do.
  if (process.platform !== "linux") return open ? { kind: "right" } : { kind: "nothing" };
  const sight = judgeListeners(await listenersOf(pids), port);
  const isLost = open && sight.kind !== "right" && pids.length > 0 && (await accepts(loopback(port)));
  return isLost ? { kind: "lost" } : sight;
};
