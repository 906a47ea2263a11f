/** A Unix socket that relays connections to the current engine, and whose connections a test can cut. */
import { connect, createServer, type Socket } from "node:net";

export interface Relay extends AsyncDisposable {
  readonly path: string;
  /** Relays new connections to this socket. Without a target, connections end immediately. */
  target: string | undefined;
  /** The number of responses that the relay drops, together with their connections. */
  dropped: number;
  /** Ends all connections. */
  cut(): void;
}

export const openRelay = async (path: string): Promise<Relay> => {
  const open = new Set<Socket>();
  const relay: Relay = {
    path,
    target: undefined,
    dropped: 0,
    cut: () => {
      for (const socket of open) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      relay.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((client) => {
    client.on("error", () => undefined);
    if (relay.target === undefined) return void client.destroy();
    open.add(client);
    const engine = connect(relay.target);
    engine.on("error", () => undefined);
    engine.on("close", () => client.destroy());
    client.on("close", () => {
      open.delete(client);
      engine.destroy();
    });
    client.pipe(engine);
    engine.on("data", (bytes) => {
      if (relay.dropped === 0) client.write(bytes);
      else {
        relay.dropped -= 1;
        client.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return relay;
};
