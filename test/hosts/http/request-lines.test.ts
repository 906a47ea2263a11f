/** The server logs requests that change something or fail, and at debug level also successful reads. */
import { Writable } from "node:stream";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { createServer } from "../../../hosts/http/server/server.ts";

const linesAt = async (level: string): Promise<string[]> => {
  const lines: string[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      const { msg, method, path, status } = JSON.parse(String(chunk));
      if (msg === "request") lines.push(`${method} ${path} ${status}`);
      done();
    },
  });
  const { ports } = createMemoryProvider();
  const app = await createServer({ controlPlane: createControlPlane(ports), logger: pino({ level }, stream) });
  const made = await ports.identity.keys.create("acme" as AccountId, "test");
  const headers = { "x-api-key": made._unsafeUnwrap().key };
  await app.inject({ url: "/health" });
  await app.inject({ url: "/v1/deployment/list?x=1", headers });
  await app.inject({ url: "/v1/deployment/list" });
  await app.inject({ method: "POST", url: "/v1/deployment/logs", headers, payload: { deployment_name: "none" } });
  await app.inject({ method: "POST", url: "/v1/token", headers, payload: {} });
  await app.close();
  return lines;
};

const always = ["GET /v1/deployment/list 401", "POST /v1/deployment/logs 404", "POST /v1/token 200"];

test("successful reads are not logged", async () => {
  expect(await linesAt("info")).toEqual(always);
});

test("successful reads are logged at debug level", async () => {
  const lines = await linesAt("debug");
  expect(lines).toEqual(["GET /health 200", "GET /v1/deployment/list 200", ...always]);
});
