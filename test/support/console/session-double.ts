/**
 * Sessions of the console for tests of the page: sign-in, sign-out and the two parts of a session's credential, with the
 * requests and responses of the API. A request with both parts continues with the key that signed in.
 */
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const COOKIE = "portside_session";
const HEADER = "x-portside-console";
const LIFE_MS = 12 * 3_600_000;

interface Session {
  readonly key: string;
  readonly token: string;
}

export interface SessionDouble {
  /** A one-time link's token for the key. */
  link(key: string): string;
  /** Ends every session. */
  revoke(): void;
}

/** Adds the double to an application, before its routes. @param prefix the prefix of the plugin */
export const addSessions = (app: FastifyInstance, prefix = ""): SessionDouble => {
  const sessions = new Map<string, Session>();
  const links = new Map<string, string>();
  const random = () => randomBytes(32).toString("base64url");

  const keyOf = async (request: FastifyRequest): Promise<string | undefined> => {
    const body = (await new Response(request.raw as unknown as ReadableStream).json()) as {
      key?: string;
      link?: string;
    };
    if (body.key !== undefined) return body.key;
    const key = links.get(body.link ?? "");
    links.delete(body.link ?? "");
    return key;
  };

  const signIn = async (request: FastifyRequest, reply: FastifyReply) => {
    const key = await keyOf(request);
    if (key === undefined)
      return reply.code(403).send({ detail: "The link is not valid any more. Create another one." });
    const checked = await app.inject({ url: `${prefix}/v1/capabilities`, headers: { "x-api-key": key } });
    if (checked.statusCode !== 200) return reply.code(checked.statusCode).send(checked.json());
    const [id, token] = [random(), random()];
    sessions.set(id, { key, token });
    return reply
      .header("set-cookie", `${COOKIE}=${id}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${LIFE_MS / 1000}`)
      .send({ request_token: token, expires_at: new Date(Date.now() + LIFE_MS).toISOString(), account: "acme" });
  };

  app.addHook("onRequest", async (request, reply) => {
    const id = new RegExp(`${COOKIE}=([\\w-]+)`).exec(request.headers.cookie ?? "")?.[1] ?? "";
    if (request.url === `${prefix}/v1/console/sign-in`) return signIn(request, reply);
    if (request.url === `${prefix}/v1/console/sign-out`) {
      sessions.delete(id);
      return reply.send({ detail: "You are signed out." });
    }
    const session = sessions.get(id);
    if (session !== undefined && request.headers[HEADER] === session.token) request.headers["x-api-key"] = session.key;
    return undefined;
  });
  return {
    link: (key) => {
      const token = random();
      links.set(token, key);
      return token;
    },
    revoke: () => sessions.clear(),
  };
};
