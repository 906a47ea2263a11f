/**
 * Detects whether a service is ready. A connection shows whether its port is open. The sockets of its processes show
 * whether it listens on a different port or address.
 */
import { connect } from "node:net";
import { countSocketsIn, type Listener, listenersIn, listenersOf } from "../../shared/runtime/listening.ts";

/** An address that accepts connections. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export const loopback = (port: number): Address => ({ host: "127.0.0.1", port });

/** True if the address accepts a connection and keeps it open for `openMs`. */
const connects = ({ host, port }: Address, openMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => (openMs === 0 ? finish(true) : setTimeout(() => finish(true), openMs)));
    socket.once("error", () => finish(false));
    socket.once("end", () => finish(false));
    socket.setTimeout(1000, () => finish(false));
    socket.resume();
  });

/** True if the address accepts a connection. */
export const accepts = (address: Address): Promise<boolean> => connects(address, 0);

const HANGS_UP_MS = 200;

/** True if a connection stays open. pasta accepts every connection, and closes it if the service does not accept it. */
export const staysOpen = (address: Address): Promise<boolean> => connects(address, HANGS_UP_MS);

const REACHABLE = ["0.0.0.0", "::", "127.0.0.1"];

export type ListenState =
  /** The service listens on its port. The warning names an address that does not work on a cloud. */
  | { readonly kind: "right"; readonly warning?: string }
  /** The service listens only on a different port or address, or does not speak the declared HTTP/2. */
  | { readonly kind: "elsewhere"; readonly message: string }
  /** The service listens on its port, but does not respond yet. */
  | { readonly kind: "silent"; readonly message: string }
  /** Another program on this machine has taken the port. */
  | { readonly kind: "lost" }
  | { readonly kind: "nothing" };

const formatListener = ({ address, port }: Listener): string =>
  `${address.includes(":") ? `[${address}]` : address}:${port}`;

/**
 * Compares a service's listening sockets with the port on which it must listen. Pure.
 * @param ownNetwork whether the platform cannot connect to the service's loopback address, as in a container
 */
export const judgeListeners = (listeners: readonly Listener[], port: number, ownNetwork = false): ListenState => {
  const right = listeners.filter((one) => one.port === port);
  if (right.some(({ address }) => REACHABLE.slice(0, 2).includes(address))) return { kind: "right" };
  if (!ownNetwork && right.some(({ address }) => address === "127.0.0.1"))
    return {
      kind: "right",
      warning: "warning: the service listens on 127.0.0.1 only; on a cloud it must listen on 0.0.0.0",
    };
  if (right.length > 0)
    return {
      kind: "elsewhere",
      message: `it listens on ${right.map(formatListener).join(", ")} only; listen on 0.0.0.0`,
    };
  if (listeners.length === 0) return { kind: "nothing" };
  return {
    kind: "elsewhere",
    message: `it listens on ${listeners.map(formatListener).join(", ")}, not on PORT (${port}); read the port from the environment variable PORT`,
  };
};

/** The separate network of a command. */
export interface CommandNetwork {
  /** A process in the network. */
  readonly pid: number;
  readonly inside: number | undefined;
  /** Ports on which the platform listens inside the network. */
  readonly opened: readonly number[];
}

/**
 * The number of sockets stays the same if one closes while another opens, so the tables are also read at this interval.
 */
const TABLES_POLL_MS = 250;

/**
 * Returns a function that reports where the command listens. Reading the kernel's tables takes milliseconds of CPU
 * time, which the starting command needs. The function reads them only if the number of sockets has changed or
 * `TABLES_POLL_MS` have passed.
 */
export const watchNetwork = ({ pid, inside = 0, opened }: CommandNetwork): (() => Promise<ListenState>) => {
  let seen: { readonly count: string | undefined; readonly at: number; readonly state: ListenState } | undefined;
  return async () => {
    const count = countSocketsIn(pid);
    const at = performance.now();
    if (seen !== undefined && count !== undefined && count === seen.count && at - seen.at < TABLES_POLL_MS)
      return seen.state;
    const listeners = (await listenersIn(pid)).filter(({ port }) => !opened.includes(port));
    seen = { count, at, state: judgeListeners(listeners, inside) };
    return seen.state;
  };
};

/**
 * Returns where the processes listen in the machine's own network.
 * @param open whether any program accepts connections on the port
 */
export const listenStateOf = async (pids: readonly number[], port: number, open: boolean): Promise<ListenState> => {
  // Without /proc, only `open` shows whether the service listens.
  if (process.platform !== "linux") return open ? { kind: "right" } : { kind: "nothing" };
  const state = judgeListeners(await listenersOf(pids), port);
  const isLost = open && state.kind !== "right" && pids.length > 0 && (await accepts(loopback(port)));
  return isLost ? { kind: "lost" } : state;
};
