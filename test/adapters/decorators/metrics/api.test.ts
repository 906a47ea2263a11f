/** The API reports each request at its end. */
import Fastify from "fastify";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { portside, type ServedCall } from "../../../../hosts/http/plugin.ts";

test("reports requests by endpoint and not by path, even under an application's prefix", async () => {
  const served: ServedCall[] = [];
  await using app = Fastify();
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { prefix: "/platform", controlPlane, onServed: (call) => void served.push(call) });
  app.get("/own", (_request, reply) => reply.send("own"));
  await app.inject("/platform/v1/deployment/list");
  await app.inject("/platform/v1/deploy/abc");
  await app.inject("/own");
  expect(served).toEqual([
    { method: "GET", route: "/v1/deployment/list", status: 401, seconds: expect.any(Number) },
    { method: "GET", route: "/v1/deploy/:deploy_id", status: 401, seconds: expect.any(Number) },
  ]);
});
