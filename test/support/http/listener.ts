/** A service that records its requests and returns configured responses. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

interface Asked {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const listen = async () => {
  let asked: Asked[] = [];
  let statuses: readonly number[] = [];
  let open = 0;
  const server = createServer(({ method, url, headers }, response) => {
    asked.push({ method, path: url, headers });
    open++;
    response.on("close", () => {
      open--;
    });
    response.writeHead(statuses[asked.length - 1] ?? 204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (given: readonly number[]) => {
      asked = [];
      statuses = given;
    },
    seen: (): readonly Asked[] => asked,
    /** Waits until pending requests have been answered. */
    quiet: async () => {
      for (let left = 20; left > 0 || open > 0; left--) await turn();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};

export type Listener = Awaited<ReturnType<typeof listen>>;
