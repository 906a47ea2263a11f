/** An Express application that mounts Portside's API behind its own login. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import express, { type NextFunction, type Request, type Response } from "express";
import Fastify from "fastify";
import { accountOf, createControlPlane, type Principal } from "portside";
import { portside } from "portside/http";
import { createMemoryProvider } from "portside/memory";

/** The sessions of the application. In your application, the login creates them. */
const sessions = new Map([["s1", "ann"]]);

/** The user of each request that reaches Portside. */
const callers = new WeakMap<IncomingMessage, Principal>();

const requireLogin = (request: Request, response: Response, next: NextFunction): void => {
  const session = /(?:^|; )session=([^;]*)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
  const user = sessions.get(session);
  if (user === undefined) return void response.status(401).json({ detail: "Log in first." });
  callers.set(request, { account: accountOf(user), credentialId: session });
  next();
};

export const createApp = async (): Promise<Server> => {
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  const api = Fastify();
  await api.register(portside, { prefix: "/platform", controlPlane, caller: ({ raw }) => callers.get(raw) });
  await api.ready();

  const app = express();
  app.get("/", (_request, response) => void response.send("Your application; Portside is under /platform.\n"));
  app.use("/platform", requireLogin, (request, response) => {
    // Express removes the mount path, but the plugin expects it as its prefix.
    request.url = request.originalUrl;
    api.routing(request, response);
  });
  return createServer(app).once("close", () => void controlPlane.close());
};
