/**
 * Carries connections to the API on the TLS port from the engine, which decrypts them, to the server. Each one gets a
 * connection of a Unix socket, because a process cannot send the handle of a decrypted connection.
 */
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { TLSSocket } from "node:tls";

/** Only this user can open the folder of the engine's socket. */
const pathOf = (engineSocket: string): string => join(dirname(engineSocket), "tls.sock");

/**
 * Passes a decrypted connection to the server.
 * @param onLost called with the connection, whose bytes are unread, if no server runs
 */
export const passDecrypted = (client: TLSSocket, engineSocket: string, onLost: (client: TLSSocket) => void): void => {
  const server = connect(pathOf(engineSocket));
  const lose = () => onLost(client);
  server.once("error", lose);
  server.once("connect", () => {
    server.off("error", lose);
    server.on("error", () => client.destroy());
    if (client.destroyed) return void server.destroy();
    client.once("close", () => server.destroy());
    // The client first receives the bytes that the server sent before it closed the connection.
    server.once("close", () => client.destroySoon());
    server.write(`${client.remoteAddress}\n`);
    client.pipe(server).pipe(client);
  });
};

/** The maximum length of the first line, which is an IP address. */
const MAX_LINE = 64;

/** Reads the first line, and puts the bytes after it back. Destroys the socket if there is no such line. */
const readLine = (socket: Socket, onLine: (line: string) => void): void => {
  let head = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  const onReadable = () => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    head = Buffer.concat([head, more]);
    const end = head.indexOf("\n");
    if (end === -1 && head.length <= MAX_LINE) return;
    socket.off("readable", onReadable);
    if (end === -1) return void socket.destroy();
    const rest = head.subarray(end + 1);
    if (rest.length > 0) socket.unshift(rest);
    onLine(head.toString("latin1", 0, end));
  };
  socket.on("readable", onReadable);
};

/**
 * Listens for the connections that `passDecrypted` passes.
 * @param accept receives each connection, with the client's address and with the mark of an encrypted connection, as
 * Node's HTTPS server has them. Headers cannot change either.
 */
export const listenForDecrypted = async (engineSocket: string, accept: (socket: Socket) => void): Promise<Server> => {
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    readLine(socket, (remoteAddress) => {
      Object.defineProperties(socket, { remoteAddress: { value: remoteAddress }, encrypted: { value: true } });
      accept(socket);
    }),
  );
  const path = pathOf(engineSocket);
  // A killed server leaves its socket file. Only one server at a time uses the data folder.
  rmSync(path, { force: true });
  await once(server.listen(path), "listening");
  chmodSync(path, 0o600);
  return server;
};
