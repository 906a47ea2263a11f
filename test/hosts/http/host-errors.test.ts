/** Errors of the embedding application's hooks and plugins keep their status. Exceptions in Portside are bugs. */
import rateLimit from "@fastify/rate-limit";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { accountOf } from "../../../core/domain/accounts/account.ts";
import { type PortsideOptions, portside } from "../../../hosts/http/index.ts";

let app: FastifyInstance;
afterEach(() => app.close());

const principal = { account: accountOf("acme"), credentialId: "test" };

const embed = async (prepare: (app: FastifyInstance) => unknown, options: Partial<PortsideOptions> = {}) => {
  app = Fastify();
  await prepare(app);
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { prefix: "/platform", controlPlane, caller: () => principal, ...options });
};

const list = () => app.inject({ url: "/platform/v1/deployment/list", headers: { "x-request-id": "mine" } });

/**
 * The response if a hook of the application throws the value. It throws once: error responses pass through the hooks
 * too.
 */
const answerTo = async (thrown: unknown, hook: "onRequest" | "preHandler" | "preSerialization" = "onRequest") => {
  let throws = true;
  await embed((app) =>
    app.addHook(hook as "onRequest", async () => {
      if (!throws) return;
      throws = false;
      throw thrown;
    }),
  );
  return list();
};

const withStatus = (statusCode: number, message = "no", more: object = {}) =>
  Object.assign(new Error(message), { statusCode, ...more });

test("a rate limiter answers 429 with its headers", async () => {
  await embed((app) => app.register(rateLimit, { max: 2, timeWindow: "1 minute" }));
  const statuses = [await list(), await list()].map(({ statusCode }) => statusCode);
  const limited = await list();
  expect([...statuses, limited.statusCode]).toEqual([200, 200, 429]);
  expect(limited.json()).toEqual({ detail: "Rate limit exceeded, retry in 1 minute" });
  expect(limited.headers).toMatchObject({ "retry-after": "60", "x-ratelimit-limit": "2", "x-request-id": "mine" });
});

test("a rate limiter whose error is a plain object answers 429", async () => {
  const errorResponseBuilder = () => ({ statusCode: 429, error: "Too Many Requests", message: "slow down" });
  await embed((app) => app.register(rateLimit, { max: 1, errorResponseBuilder }));
  await list();
  const limited = await list();
  expect([limited.statusCode, limited.json()]).toEqual([429, { detail: "slow down" }]);
});

describe.each(["onRequest", "preHandler", "preSerialization"] as const)("an error in %s", (hook) => {
  test("keeps its status", async () => {
    const answer = await answerTo(withStatus(403, "not on weekends"), hook);
    expect([answer.statusCode, answer.json()]).toEqual([403, { detail: "not on weekends" }]);
    expect(answer.headers["x-request-id"]).toBe("mine");
  });

  test("hides its message if its status is 5xx", async () => {
    const answer = await answerTo(withStatus(503, "pool of db-7 is empty"), hook);
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { detail: "Service Unavailable. The request id is mine." },
    ]);
  });

  test("is a bug without a status", async () => {
    const answer = await answerTo(new Error("hunter2"), hook);
    expect([answer.statusCode, answer.json()]).toEqual([
      500,
      { detail: "Internal error. Report it to the operator with the request id mine." },
    ]);
  });
});

test.each([
  ["status", Object.assign(new Error("gone"), { status: 410 }), 410],
  ["statusCode before status", withStatus(402, "gone", { status: 410 }), 402],
  ["a status that is not an error", withStatus(200), 500],
  ["a number that is not a status", withStatus(4000), 500],
  ["a status that is text", Object.assign(new Error("gone"), { statusCode: "403" }), 500],
])("reads %s", async (_name, thrown, status) => {
  expect((await answerTo(thrown)).statusCode).toBe(status);
});

test("an error has the status that the hook set on the reply", async () => {
  await embed((app) =>
    app.addHook("onRequest", async (_request, reply) => {
      reply.code(403);
      throw new Error("not on weekends");
    }),
  );
  expect((await list()).statusCode).toBe(403);
});

test("an error's headers are sent", async () => {
  const answer = await answerTo(withStatus(401, "sign in", { headers: { "www-authenticate": "Basic" } }));
  expect([answer.statusCode, answer.headers["www-authenticate"]]).toEqual([401, "Basic"]);
});

test("an error of `caller` keeps its status", async () => {
  await embed(() => {}, {
    caller: () => {
      throw withStatus(401, "the session has expired");
    },
  });
  const answer = await list();
  expect([answer.statusCode, answer.json()]).toEqual([401, { detail: "the session has expired" }]);
});

test.each(["listDeployments", "countRequest"] as const)("ignores a status on an exception of %s", async (method) => {
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  const broken = {
    ...controlPlane,
    [method]: () => {
      throw withStatus(404, "no such container: beta-secret");
    },
  };
  await embed(() => {}, { controlPlane: broken });
  const answer = await list();
  expect([answer.statusCode, answer.json()]).toEqual([
    500,
    { detail: "Internal error. Report it to the operator with the request id mine." },
  ]);
});
