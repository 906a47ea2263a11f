/**
 * Is a service there? Its port is tried every few milliseconds, and the sockets of its processes tell one that
 * listens elsewhere from one that is slow.
 */
import { connect } from "node:net";
import { type Listener, listenersOf } from "./listening.ts";

/** True where something accepts a connection on the loopback port. */
export const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => finish(true));
    socket.once("error", () => finish(false));
    socket.setTimeout(1000, () => finish(false));
  });

const REACHABLE = ["0.0.0.0", "::", "127.0.0.1"];

export type Sight =
  /** It listens where it should; the warning is for an address that would not do on a cloud. */
  | { readonly kind: "right"; readonly warning?: string }
  /** It listens, but elsewhere; said in words. */
  | { readonly kind: "elsewhere"; readonly words: string }
  | { readonly kind: "nothing" };

const said = ({ address, port }: Listener): string => `${address.includes(":") ? `[${address}]` : address}:${port}`;

/** What a service's listening sockets mean for the port that it was given. Pure. */
export const judgeListeners = (listeners: readonly Listener[], port: number): Sight => {
  const right = listeners.filter((one) => one.port === port);
  if (right.some(({ address }) => REACHABLE.slice(0, 2).includes(address))) return { kind: "right" };
  if (right.some(({ address }) => address === "127.0.0.1"))
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

export const lookAt = (pids: readonly number[], port: number): Sight => judgeListeners(listenersOf(pids), port);
