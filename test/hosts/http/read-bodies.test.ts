/** A request fails, and does not hang, if the application has read its body before Portside. The log names the fix. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import type { Principal } from "../../../core/domain/accounts/account.ts";
import { portside } from "../../../hosts/http/index.ts";
import { field, formOf, formType } from "../../support/http/multipart.ts";

const caller = (): Principal => ({ account: "acme", credentialId: "session" }) as Principal;

/** @param greedy whether the application reads every body first */
const serveBehindExpress = async (greedy: boolean) => {
  const logged: string[] = [];
  const stream = { write: (line: string) => void logged.push(line) };
  const api = Fastify({ logger: { level: "error", stream } });
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await api.register(portside, { controlPlane, caller });
  await api.ready();
  const app = express();
  if (greedy) app.use(express.raw({ type: () => true }));
  app.use((request, response) => api.routing(request, response));
  const server = createServer(app).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const post = (path: string, type: string, body: string | Uint8Array<ArrayBuffer>) =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers: { "content-type": type }, body });
  return {
    logged,
    post,
    get: () => fetch(`http://127.0.0.1:${port}/v1/volume/list`),
    [Symbol.dispose]: () => server.close(),
  };
};

test.each([
  ["/v1/volume/create", "application/json", '{"name":"photos"}'],
  ["/v1/deploy", formType, formOf(field("function_name", "app"), field("volumes", "{}"))],
])("%s", async (path, type, body) => {
  using greedy = await serveBehindExpress(true);
  const refused = await greedy.post(path, type, body as string);
  expect(refused.status).toBe(500);
  expect(greedy.logged.join("")).toContain("Mount Portside before body parsers such as express.json().");
  expect((await greedy.get()).status).toBe(200);
  using modest = await serveBehindExpress(false);
  expect((await modest.post(path, type, body as string)).status).not.toBe(500);
});
