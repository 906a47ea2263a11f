/** A TCP proxy that closes connections after a number of bytes, in either direction, or stalls them. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface CuttingProxy extends AsyncDisposable {
  readonly port: number;
  /** How many connections it closed. */
  readonly cuts: number;
}

/**
 * @param target port of the server
 * @param after how many bytes the next connection may carry; undefined for any number
 * @param hangs stalls a connection instead of closing it
 */
export const serveCutting = async (
  target: number,
  after: () => number | undefined,
  hangs = false,
): Promise<CuttingProxy> => {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    let left = after() ?? Number.POSITIVE_INFINITY;
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    const relay = (from: Socket, to: Socket) => {
      sockets.add(from);
      from.on("error", cut).on("close", () => {
        sockets.delete(from);
        to.end();
      });
      from.on("data", (bytes) => {
        if (left <= 0) return;
        const passed = bytes.subarray(0, left);
        left -= bytes.length;
        if (!to.write(passed)) {
          from.pause();
          to.once("drain", () => from.resume());
        }
        if (left > 0) return;
        if (hangs) return void from.pause();
        cuts++;
        // Bytes before the limit still arrive, as when a cable is pulled.
        to.end(() => cut());
      });
    };
    relay(client, upstream);
    relay(upstream, client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    get cuts() {
      return cuts;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
};
