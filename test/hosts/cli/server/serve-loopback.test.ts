/** `portside serve` listens on IPv4 and IPv6, so a client of `localhost` cannot send its API key to another program. */
import { once } from "node:events";
import { createServer } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { startServing } from "../../../../hosts/cli/server/serving.ts";
import { resolveSettings } from "../../../../hosts/composition/settings.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { needs } from "../../../support/vitest/machine.ts";

const quiet = { port: "0", ingressPort: "0", logLevel: "silent", runner: "process" };

beforeEach((context) => needs(context, "ipv6"));

test.each(["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"])(
  "with the host %s, the API responds on IPv4 and IPv6 until it stops",
  async (host) => {
    using folder = folderWith();
    const settings = { ...quiet, dataDir: folder.path, provider: "memory", host, metricsPort: "0", metricsHost: host };
    const serving = await startServing(resolveSettings(settings, {}));
    const urls = [`${serving.url}/health`, serving.metrics as string].flatMap((url) =>
      ["127.0.0.1", "[::1]"].map((address) => `http://${address}:${new URL(url).port}${new URL(url).pathname}`),
    );
    for (const url of urls) expect((await fetch(url)).status).toBe(200);
    await serving.stop();
    for (const url of urls) await expect(fetch(url)).rejects.toThrow("fetch failed");
  },
);

test.each(["--port", "--metrics-port"])("%s fails if another program uses the port on ::1", async (flag) => {
  using folder = folderWith();
  const other = createServer().listen(0, "::1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const ports = ["--port", "0", "--ingress-port", "0", flag, String(port)];
  const { code, stderr } = await portside(["serve", "--data-dir", folder.path, ...ports, "--log-level", "silent"]);
  expect(code).toBe(1);
  const purpose = flag === "--port" ? "API" : "metrics";
  expect(stderr).toContain(`Port ${port} (${purpose}) is in use. Stop the other process or pass ${flag} N.`);
  expect(stderr).toContain(`[::1]:${port} is in use by node (process ${process.pid}).`);
  await new Promise((closed) => other.close(closed));
});

test.each([
  ["--host", "services", []],
  ["--tls-host", "HTTPS", ["--tls-port", "0"]],
  ["--metrics-host", "metrics", ["--metrics-port", "0"]],
])("%s fails with the name of the option if this machine does not have the address", async (flag, purpose, more) => {
  using folder = folderWith();
  const ports = ["--port", "0", "--ingress-port", "0", ...more, flag, "203.0.113.99"];
  const { code, stderr } = await portside(["serve", "--data-dir", folder.path, ...ports, "--log-level", "silent"]);
  expect(code).toBe(1);
  expect(stderr).toContain(`'203.0.113.99' (${purpose}) is not an address of this machine: `);
  expect(stderr).toContain(`Pass ${flag} with one of its addresses`);
});

test("`run --port` fails if another program uses the port on ::1", async () => {
  using folder = folderWith({ "package.json": "{}", "server.js": "" });
  const other = createServer().listen(0, "::1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const { code, stderr } = await portside(["run", folder.path, "--port", String(port)]);
  expect(code).toBe(1);
  expect(stderr).toContain(`[::1]:${port} is in use by node (process ${process.pid})`);
  await new Promise((closed) => other.close(closed));
});
