/** Portside in a Fastify application, with the application's users, log and clock. */
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { accountOf, createControlPlane } from "portside";
import { portside } from "portside/http";
import { createMemoryProvider } from "portside/memory";
import { type Authenticator, errAsync, type Logger, okAsync, unauthenticated } from "portside/ports";

/** The application's users by token. Your application would query a database or an identity provider instead. */
const users = new Map([
  ["token-of-ann", "ann"],
  ["token-of-bob", "bob"],
]);

const authenticator: Authenticator = {
  authenticate: ({ kind, value }) => {
    const user = kind === "bearer" ? users.get(value) : undefined;
    if (user === undefined) return errAsync(unauthenticated("Send the token of one of this application's users."));
    return okAsync({ account: accountOf(user), credentialId: user });
  },
};

/** Writes Portside's messages to the application's log. */
const loggerOf = (log: FastifyBaseLogger): Logger => ({
  debug: (message, fields) => log.debug(fields, message),
  info: (message, fields) => log.info(fields, message),
  warn: (message, fields) => log.warn(fields, message),
  error: (message, fields) => log.error(fields, message),
});

export const createApp = async (options: { readonly quiet?: boolean } = {}): Promise<FastifyInstance> => {
  const app = Fastify({ logger: options.quiet !== true });
  const logger = loggerOf(app.log);
  // The memory provider runs no services. Use `createLocalProvider` of portside/local to run them.
  const memory = createMemoryProvider({ logger });
  const identity = { ...memory.identity, authenticator };
  const controlPlane = createControlPlane({ ...memory.ports, identity, logger });
  await app.register(portside, { prefix: "/platform", controlPlane });
  app.get("/", async () => "Your application; Portside is under /platform.\n");
  app.addHook("onClose", () => controlPlane.close());
  return app;
};
