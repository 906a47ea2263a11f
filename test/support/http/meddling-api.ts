/** The API behind a server that can change responses, like a platform of another version, or a broken one. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

export interface Meddling extends AsyncDisposable {
  readonly url: string;
}

export interface Meddled {
  readonly status: number;
  readonly json: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param meddle returns the changed response */
export const serveMeddling = async (
  api: string,
  meddle: (path: string, answer: Meddled) => Meddled,
): Promise<Meddling> => {
  const forward = async (req: IncomingMessage): Promise<Meddled> => {
    const headers = { "x-api-key": String(req.headers["x-api-key"]), "content-type": "application/json" };
    const body = req.method === "GET" ? {} : { body: await text(req) };
    const response = await fetch(api + req.url, { method: req.method as string, headers, ...body });
    return { status: response.status, json: await response.json() };
  };
  const server = createServer(async (req, res) => {
    const { status, json, headers } = meddle(req.url?.split("?")[0] ?? "", await forward(req));
    res.writeHead(status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(json));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};

/** The same URL on another port. */
export const atPort = (url: string, port: number): string => Object.assign(new URL(url), { port: String(port) }).href;

export const portOf = (url: string): number => Number(new URL(url).port);
