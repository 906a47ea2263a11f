/** A process that adopts the ports of a named ingress: `adopting-child.ts`, with its ports as the first message. */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:net";
import { fileURLToPath } from "node:url";
import type { Ingress, IngressPort } from "../../../adapters/local/ingress/index.ts";
import { startNamedIngress } from "./named-ingress.ts";

type ChildMessage =
  | { readonly kind: "inherit"; readonly ports: readonly IngressPort[] }
  | { readonly kind: "adopt"; readonly port: number }
  /** Blocks the event loop. */
  | { readonly kind: "block"; readonly millis: number };

export interface AdoptingProcess extends Disposable {
  send(message: ChildMessage, server?: Server): void;
  /** Resolves when the child has handled one more message. */
  handled(): Promise<void>;
}

/** Starts a process with the ports of this ingress. It accepts no connections yet. */
export const startAdopting = async (ingress: Ingress): Promise<AdoptingProcess> => {
  const child = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  const handled = async () => {
    await once(child, "message");
  };
  const send: AdoptingProcess["send"] = (message, server) => void child.send(message, server);
  send({ kind: "inherit", ports: ingress.listeningPorts().map(({ port, use }) => ({ port, use })) });
  await handled();
  return { send, handled, [Symbol.dispose]: () => child.kill("SIGKILL") };
};

/** Sends all servers of the ingress, one after another. Afterwards both processes accept connections. */
export const moveTo = async (child: AdoptingProcess, ingress: Ingress): Promise<void> => {
  for (const { port, servers } of ingress.listeningPorts())
    for (const server of servers) {
      child.send({ kind: "adopt", port }, server);
      await child.handled();
    }
};

if (import.meta.main) {
  let ingress: Ingress | undefined;
  process.on("message", async (message: ChildMessage, server: Server) => {
    if (message.kind === "adopt") ingress?.adopt(message.port, server);
    else if (message.kind === "block") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.millis);
    else ingress = (await startNamedIngress("new", message.ports)).ingress;
    process.send?.("handled");
  });
  process.once("disconnect", () => process.exit());
}
