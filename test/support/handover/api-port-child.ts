/** A process that adopts the API's port, holds its connections, and serves them when the test says so. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:net";
import { fileURLToPath } from "node:url";
import { ApiPort } from "../../../hosts/cli/server/api-port.ts";

type ChildMessage = "adopt" | "serve";

export interface ServedReply {
  /** The number of connections that were passed before this one. */
  readonly connection: number;
  /** The number of bytes that the process had read when it passed the connection on. */
  readonly readBefore: number;
  readonly allowHalfOpen: boolean;
}

export interface ApiPortProcess extends Disposable {
  /** Resolves when the child has handled the message. */
  send(message: ChildMessage, server?: Server): Promise<void>;
}

/** Starts a process with an API port, which holds connections. */
export const startApiPort = async (): Promise<ApiPortProcess> => {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), { execArgv: [] });
  await once(child, "message");
  return {
    send: async (message, server) => {
      const handled = once(child, "message");
      child.send(message, server);
      await handled;
    },
    [Symbol.dispose]: () => child.kill("SIGKILL"),
  };
};

if (import.meta.main) {
  const api = new ApiPort();
  api.hold(600_000);
  const replies = new Map<unknown, ServedReply>();
  const server = createServer(({ socket }, response) => response.end(JSON.stringify(replies.get(socket))));
  process.on("message", (message: ChildMessage, received: Server) => {
    if (message === "adopt") api.adopt(received);
    else
      api.passTo((socket) => {
        const { allowHalfOpen, bytesRead } = socket;
        replies.set(socket, { connection: replies.size, readBefore: bytesRead, allowHalfOpen });
        server.emit("connection", socket);
        socket.resume();
      });
    process.send?.("handled");
  });
  process.once("disconnect", () => process.exit());
  process.send?.("started");
}
