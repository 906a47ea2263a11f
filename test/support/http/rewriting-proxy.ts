/** A proxy in front of the API that can change responses, as a broken platform or one of a different version would. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

export interface RewritingProxy extends AsyncDisposable {
  readonly url: string;
}

export interface ForwardedResponse {
  readonly status: number;
  readonly json: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @param rewrite returns the changed response */
export const serveRewriting = async (
  api: string,
  rewrite: (path: string, answer: ForwardedResponse) => ForwardedResponse,
): Promise<RewritingProxy> => {
  const forward = async (req: IncomingMessage): Promise<ForwardedResponse> => {
    const headers = { "x-api-key": String(req.headers["x-api-key"]), "content-type": "application/json" };
    const body = req.method === "GET" ? {} : { body: await text(req) };
    const response = await fetch(api + req.url, { method: req.method as string, headers, ...body });
    return { status: response.status, json: await response.json() };
  };
  const server = createServer(async (req, res) => {
    const { status, json, headers } = rewrite(req.url?.split("?")[0] ?? "", await forward(req));
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

/** Returns the same URL with a different port. */
export const atPort = (url: string, port: number): string => Object.assign(new URL(url), { port: String(port) }).href;

export const portOf = (url: string): number => Number(new URL(url).port);
