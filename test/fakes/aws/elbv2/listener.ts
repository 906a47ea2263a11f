/** The fake load balancer's listener. The first request's host decides where the whole connection goes. */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Socket } from "node:net";

export type Route = { readonly status: number } | { readonly target: string };

const HEAD_BYTES = 64 * 1024;

const hostIn = (head: string): string => /^host:[ \t]*([^\s:]+)/im.exec(head)?.[1]?.toLowerCase() ?? "";

const words: Readonly<Record<number, string>> = {
  404: "Not Found",
  464: "Incompatible Protocol",
  502: "Bad Gateway",
  503: "Service Unavailable",
};

const refuse = (socket: Socket, status: number): void => {
  socket.end(`HTTP/1.1 ${status} ${words[status]}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
};

const passOn = (socket: Socket, head: Buffer, target: string): void => {
  const { hostname, port } = new URL(`http://${target}`);
  const upstream = connect({ host: hostname, port: Number(port) });
  upstream.once("connect", () => {
    upstream.write(head);
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  upstream.once("error", () => (socket.bytesWritten === 0 ? refuse(socket, 502) : socket.destroy()));
  upstream.once("close", () => socket.destroy());
  socket.once("close", () => upstream.destroy());
};

export const startListener = async (route: (host: string) => Promise<Route>) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      if (!head.includes("\r\n\r\n") && head.length < HEAD_BYTES) return;
      socket.off("data", read);
      socket.pause();
      const follow = (to: Route) => ("target" in to ? passOn(socket, head, to.target) : refuse(socket, to.status));
      route(hostIn(head.toString("latin1"))).then(follow, () => refuse(socket, 502));
    };
    socket.on("data", read);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
