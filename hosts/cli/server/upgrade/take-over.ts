/** The new process of an upgrade: takes over from its parent, step by step. */
import type { Server } from "node:net";
import type { StartedEngine, Successor } from "../../../composition/local-engine.ts";
import type { ApiPort } from "../api-port.ts";
import type { UpgradeAnswer, UpgradeMessage } from "./messages.ts";
import { HOLD_MS } from "./upgrade.ts";

export interface TakeOverDeps {
  readonly api: ApiPort;
  /** Opens the engine beside the parent's. */
  readonly open: (message: UpgradeMessage & { readonly kind: "open" }) => Promise<Successor>;
  /** Resolves when the server of this process has started. */
  readonly ready: Promise<void>;
}

export interface TakenOver {
  readonly engine: StartedEngine;
  readonly apiPort: number;
}

/**
 * Resolves when the engine of this process has taken over. This process exits if its parent ends before that, or if it
 * cannot take over.
 */
export const takeOver = ({ api, open, ready }: TakeOverDeps): Promise<TakenOver> => {
  const { promise, resolve } = Promise.withResolvers<TakenOver>();
  let successor: Successor | undefined;
  let apiPort = 0;
  const opened = (): Successor => {
    if (successor === undefined) throw new Error("the engine is not open");
    return successor;
  };
  const act = async (message: UpgradeMessage): Promise<unknown> => {
    if (message.kind === "open") {
      apiPort = message.apiPort;
      successor = await open(message);
    } else if (message.kind === "settle") await opened().settle(message.running);
    else if (message.kind === "lead") {
      const engine = await opened().lead(message.handover);
      process.off("disconnect", exit);
      resolve({ engine, apiPort });
      return engine.socket;
    } else if (message.kind === "ready") await ready;
    return undefined;
  };
  const exit = () => process.exit(1);
  process.once("disconnect", exit);
  process.on("message", (message: UpgradeMessage, handle: Server | undefined) => {
    // Before the first await, because the server accepts connections from now on.
    if (message.kind === "port") opened().adopt(message.port, handle as Server);
    else if (message.kind === "api") {
      api.hold(HOLD_MS);
      api.adopt(handle as Server);
    }
    const send = (answer: UpgradeAnswer) => process.send?.(answer);
    act(message).then(
      (result) => send({ result }),
      (error: unknown) => send({ error: error instanceof Error ? error.message : String(error) }),
    );
  });
  return promise;
};
