/**
 * Forwards API connections that the engine has decrypted on the TLS port to the server. Each one uses its own
 * connection to a Unix socket, because a process cannot send the handle of a decrypted connection.
 */
import { once } from "node:events";
import { chmodSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { TLSSocket } from "node:tls";

/** Only this user can open the folder of the engine's socket. */
const pathOf = (engineSocket: string): string => join(dirname(engineSocket), "tls.sock");

/** The server sends this byte when it has accepted a connection. */
const CONFIRMATION = "\n";

/** Appended to the client's address in the first line. */
const ENDS_SOON = " ends soon";

export interface PassOptions {
  /** The path of the engine's socket. */
  readonly engineSocket: string;
  /** True if this engine ends soon. The server must then ask the client to close the connection. */
  readonly endsSoon: boolean;
  /** Called with the connection, whose bytes are unread, if no server runs or the server ends before it accepts. */
  readonly onLost: (client: TLSSocket) => void;
}

/** Passes a decrypted connection to the server, which confirms with one byte that it has accepted the connection. */
export const passDecrypted = (client: TLSSocket, { engineSocket, endsSoon, onLost }: PassOptions): void => {
  const server = connect(pathOf(engineSocket));
  // Send the client's first bytes together with the first line. Otherwise, a stopping server could close the connection
  // as idle.
  const head = client.read() as Buffer | null;
  server.cork();
  server.write(`${client.remoteAddress}${endsSoon ? ENDS_SOON : ""}\n`);
  if (head !== null) server.write(head);
  server.uncork();
  client.once("close", () => server.destroy());
  // The event `close` follows.
  server.on("error", () => undefined);
  const onClose = () => {
    if (client.destroyed) return;
    if (head !== null) client.unshift(head);
    onLost(client);
  };
  server.once("close", onClose);
  server.once("readable", () => {
    // If the server was killed before it accepted, the connection ends without the confirmation.
    if (server.read(CONFIRMATION.length) === null) return;
    server.off("close", onClose);
    // Close the client's connection only after it has received all bytes that the server sent.
    server.once("close", () => client.destroySoon());
    client.pipe(server).pipe(client);
  });
};

/** The maximum length of the first line: an IP address and `ENDS_SOON`. */
const MAX_LINE = 128;

/** Reads the first line, and returns the bytes after it to the socket. Destroys the socket if the line is too long. */
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
 * @param accept receives each connection, with `remoteAddress` and `encrypted` as in Node's HTTPS server. Headers
 * cannot change either. `endsSoon` is true if the server must ask the client to close the connection.
 */
export const listenForDecrypted = async (
  engineSocket: string,
  accept: (socket: Socket, endsSoon: boolean) => void,
): Promise<Server> => {
  const server = createServer({ allowHalfOpen: true }, (socket) =>
    readLine(socket, (line) => {
      const endsSoon = line.endsWith(ENDS_SOON);
      const address = endsSoon ? line.slice(0, -ENDS_SOON.length) : line;
      socket.write(CONFIRMATION);
      Object.defineProperties(socket, { remoteAddress: { value: address }, encrypted: { value: true } });
      accept(socket, endsSoon);
    }),
  );
  const path = pathOf(engineSocket);
  // A killed server leaves its socket file. Only one server at a time uses the data folder.
  rmSync(path, { force: true });
  await once(server.listen(path), "listening");
  chmodSync(path, 0o600);
  return server;
};
