/** `portside console` against the real HTTP API over the memory provider, with a program in place of the browser. */
import { chmodSync, existsSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import { createPino } from "../../../../hosts/composition/logger.ts";
import { createServer } from "../../../../hosts/http/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const browser = () => {
  const folder = folderWith({ "xdg-open": '#!/bin/sh\nprintf %s "$1" > "$(dirname "$0")/opened"\n' });
  chmodSync(join(folder.path, "xdg-open"), 0o755);
  const opened = () => {
    const file = join(folder.path, "opened");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };
  return { path: `${folder.path}:/usr/bin:/bin`, opened, [Symbol.dispose]: () => folder[Symbol.dispose]() };
};

test("opens the browser with a link that signs in, and does not print the link", async () => {
  await using api = await serveMemory();
  using fake = browser();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: fake.path, DISPLAY: ":0" };
  const { code, stdout, stderr } = await portside(["console"], { env, columns: 80 });
  expect([code, stdout]).toEqual([0, ""]);
  expect(stderr).toContain("Opened the console in the browser.");
  await expect.poll(fake.opened).toMatch(new RegExp(`^${api.url}/console/#link=[A-Za-z0-9]{43}$`));
  const link = fake.opened().split("#link=")[1];
  expect((await api.call("POST", "/v1/console/sign-in", { key: null, json: { link } })).status).toBe(200);
});

test.each([
  ["with --no-open", ["console", "--no-open"], { DISPLAY: ":0" }, 80],
  ["without a display", ["console"], {}, 80],
  ["without a browser", ["console"], { DISPLAY: ":0", PATH: "/nonexistent" }, 80],
  ["in a pipe", ["console"], { DISPLAY: ":0" }, undefined],
] as const)("prints the link %s", async (_when, args, more, columns) => {
  await using api = await serveMemory();
  using fake = browser();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), PATH: fake.path, ...more };
  const { code, stdout, stderr } = await portside(args, { env, ...(columns === undefined ? {} : { columns }) });
  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^${api.url}/console/#link=[A-Za-z0-9]{43}\n$`));
  expect(stderr).toContain("It works once.");
  expect(fake.opened()).toBe("");
});

/** Serves the API with the console at this origin, and a proxy in front of it that removes the prefix `/tools`. */
const serveBehindProxy = async (origin: string) => {
  const memory = createMemoryProvider();
  const server = await createServer({
    controlPlane: createControlPlane(memory.ports),
    logger: createPino("silent"),
    origins: [origin],
  });
  await server.listen({ host: "127.0.0.1", port: 0 });
  const proxy = Fastify({ forceCloseConnections: true });
  proxy.post("/tools/*", async (request, reply) => {
    const url = request.url.slice("/tools".length);
    const { statusCode, body } = await server.inject({ method: "POST", url, headers: request.headers });
    return reply.code(statusCode).type("application/json").send(body);
  });
  await proxy.listen({ host: "127.0.0.1", port: 0 });
  const portOf = (app: { server: { address(): unknown } }) => (app.server.address() as AddressInfo).port;
  const { key } = (await memory.ports.identity.keys.create(accountOf("acme"), "test"))._unsafeUnwrap();
  const close = async () => void (await Promise.all([proxy.close(), server.close()]));
  return { key, port: portOf(server), proxyPort: portOf(proxy), [Symbol.asyncDispose]: close };
};

const printedLink = async (url: string, key: string): Promise<string> => {
  const { stdout } = await portside(["console", "--no-open"], { env: { PORTSIDE_URL: url, PORTSIDE_API_KEY: key } });
  return stdout.trim();
};

test.each(["", "/"])("the link has the prefix of the API's URL, which a proxy removes (%j)", async (slash) => {
  await using served = await serveBehindProxy("https://portside.example.com");
  const url = `http://127.0.0.1:${served.proxyPort}/tools`;
  expect(await printedLink(url + slash, served.key)).toMatch(new RegExp(`^${url}/console/#link=[A-Za-z0-9]{43}$`));
});

test("the link has the origin of the server's setting if a browser cannot sign in at the API's URL", async () => {
  await using served = await serveBehindProxy("https://portside.example.com");
  // Plain HTTP to this machine at an address that is not a loopback address.
  const link = await printedLink(`http://0.0.0.0:${served.port}`, served.key);
  expect(link).toMatch(/^https:\/\/portside\.example\.com\/console\/#link=/);
});

test("prints the link and its expiry with --json", async () => {
  await using api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const { stdout } = await portside(["console", "--json"], { env });
  expect(JSON.parse(stdout)).toEqual({ url: expect.stringContaining("#link="), expires_at: expect.any(String) });
});
