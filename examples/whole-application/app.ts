/** An Express application with its own login, and Portside under /platform. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import Fastify from "fastify";
import { accountOf, type ControlPlane, type Principal } from "portside";
import { portside } from "portside/http";
import type { Metrics } from "portside/metrics";
import type { Logger } from "portside/ports";

/** The application's users and their passwords. Your application would store hashes in a database instead. */
const passwords = new Map([
  ["ann", "lighthouse"],
  ["bob", "harbour"],
]);

export const principalFor = (user: string, session: string): Principal => ({
  account: accountOf(user),
  credentialId: session,
});

export interface AppOptions {
  readonly controlPlane: ControlPlane;
  readonly metrics: Metrics | undefined;
  readonly logger: Logger;
}

export const createApp = async ({ controlPlane, metrics, logger }: AppOptions): Promise<Express> => {
  const sessions = new Map<string, string>();
  const callers = new WeakMap<IncomingMessage, Principal>();

  const api = Fastify();
  await api.register(portside, {
    prefix: "/platform",
    controlPlane,
    caller: ({ raw }) => callers.get(raw),
    ...(metrics === undefined ? {} : { onServed: (call) => metrics.apiServed(call) }),
  });
  await api.ready();

  const requireLogin = (request: Request, response: Response, next: NextFunction): void => {
    const session = /(?:^|; )session=([^;]*)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
    const user = sessions.get(session);
    if (user === undefined) return void response.status(401).json({ detail: "Log in first." });
    callers.set(request, principalFor(user, session));
    next();
  };

  const app = express();
  app.use("/platform", requireLogin, (request, response) => {
    request.url = request.originalUrl;
    api.routing(request, response);
  });
  app.use(express.json());
  app.post("/login", (request, response) => {
    const { user, password } = (request.body ?? {}) as { user?: string; password?: string };
    if (user === undefined || passwords.get(user) !== password) return void response.status(401).json({ detail: "no" });
    const session = randomUUID();
    sessions.set(session, user);
    logger.info("logged in", { user });
    response.cookie("session", session, { httpOnly: true }).json({ user });
  });
  app.get("/metrics", async (_request, response) => {
    if (metrics === undefined) return void response.status(404).end();
    response.setHeader("content-type", metrics.contentType);
    response.send(await metrics.text());
  });
  return app;
};
