/** The new process of an upgrade: takes over from its parent, step by step. */
import type { Server } from "node:net";
import type { StartedEngine, Successor } from "../../../composition/local-engine.ts";
import type { ApiPort } from "../api-port.ts";
import type { UpgradeAnswer, UpgradeMessage } from "./messages.ts";
import { HOLD_MS } from "./upgrade.ts";

export interface TakeOverDeps {
  readonly api: ApiPort;
  /** Opens the new engine while the parent's engine runs. */
  readonly open: (message: UpgradeMessage & { readonly kind: "open" }) => Promise<Successor>;
  /** Resolves when the server of this process has started, and rejects if it cannot start. */
  readonly ready: Promise<void>;
  /** Aborts when this process must stop, which ends the upgrade. */
  readonly stopped: AbortSignal;
}

export interface TakenOver {
  readonly engine: StartedEngine;
  readonly apiPort: number;
  /** Resolves when the parent has stopped accepting connections, or has ended. */
  readonly isAlone: Promise<void>;
}

/**
 * Resolves when the engine of this process has taken over the data folder. Until then, this process exits if its parent
 * ends. Until the server has started, it also exits if `stopped` aborts; the parent keeps running.
 */
export const takeOver = ({ api, open, ready, stopped }: TakeOverDeps): Promise<TakenOver> => {
  const { promise, resolve } = Promise.withResolvers<TakenOver>();
  const { promise: isAlone, resolve: alone } = Promise.withResolvers<void>();
  let successor: Successor | undefined;
  let apiPort = 0;
  let isLeading = false;
  const opened = (): Successor => {
    if (successor === undefined) throw new Error("the engine is not open");
    return successor;
  };
  const act = async (message: UpgradeMessage, handle: Server | undefined): Promise<unknown> => {
    // Adopt ports before the first await, because the received server accepts connections from now on.
    if (message.kind === "port") opened().adopt(message.port, handle as Server);
    else if (message.kind === "api") {
      api.hold(HOLD_MS);
      api.adopt(handle as Server);
    } else if (message.kind === "open") {
      apiPort = message.apiPort;
      successor = await open(message);
    } else if (message.kind === "settle") await opened().settle(message.running);
    else if (message.kind === "lead") {
      const engine = await opened().lead(message.handover);
      isLeading = true;
      resolve({ engine, apiPort, isAlone });
      return engine.socket;
    } else {
      await ready;
      stopped.removeEventListener("abort", exit);
    }
    return undefined;
  };
  const exit = () => process.exit(1);
  if (stopped.aborted) exit();
  stopped.addEventListener("abort", exit);
  process.once("disconnect", () => {
    if (!isLeading) exit();
    stopped.removeEventListener("abort", exit);
    alone();
  });
  process.on("message", (message: UpgradeMessage, handle: Server | undefined) => {
    const send = (answer: UpgradeAnswer) => process.send?.(answer, undefined, undefined, () => undefined);
    act(message, handle).then(
      (result) => send({ result }),
      (error: unknown) => send({ error: error instanceof Error ? error.message : String(error) }),
    );
  });
  return promise;
};
