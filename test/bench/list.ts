/** The API's most frequent request, compared with a bare route that returns the same bytes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench } from "./bench.ts";
import { canPin, installed, pin, startPeer, startServer, wrk } from "./processes.ts";

const DEPLOYMENTS = 10;

export const list: Bench = {
  name: "list",
  title: `GET /v1/deployment/list with ${DEPLOYMENTS} deployments, compared with a bare Fastify route that returns the same bytes`,
  unit: "requests/s",
  goals: [{ peer: "fastify route", at: "least", bound: 0.7 }],
  prepare: async ({ small }) => {
    if (!installed("wrk") || !canPin()) throw new Error("wrk and taskset are missing (Debian: wrk, util-linux)");
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000");
    for (let index = 0; index < DEPLOYMENTS; index++)
      await server.cli("deploy", "examples/hello", "--name", `hello-${index}`);
    const folder = mkdtempSync(join(tmpdir(), "portside-bench-list-"));
    const file = join(folder, "list.json");
    writeFileSync(file, await server.cli("list", "--json"));
    const route = await startPeer("test/bench/peers/fastify-route.ts", file);
    pin(server.apiPid, 0);
    pin(route.pid, 0);
    const options = { seconds: small ? 1 : 5, connections: 32, core: 1 };
    return {
      subject: {
        name: "portside",
        measure: () =>
          wrk(`${server.url}/v1/deployment/list`, { ...options, headers: [`X-API-Key: ${server.apiKey}`] }),
      },
      peers: [
        { name: "fastify route", measure: () => wrk(`http://127.0.0.1:${route.port}/v1/deployment/list`, options) },
      ],
      [Symbol.asyncDispose]: async () => {
        await route[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
