/**
 * A sandboxed service has a separate network: it reaches the internet, and on this machine only what the platform
 * opens.
 */
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { allProcesses, environmentOf } from "../../../../adapters/local/instances/proc.ts";
import { whyNoNetworks } from "../../../../adapters/local/sandbox/network/networks.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portOf, send } from "../../../support/http/clients.ts";
import { principalOf, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { has } from "../../../support/vitest/machine.ts";

/** Tries a TCP connection, an HTTP request, a DNS query or a listener on demand, and responds with the result. */
const prober = nodeSource(`import { createServer } from "node:http";
import { connect } from "node:net";
import { Resolver } from "node:dns/promises";
const tcp = ({ host, port }) => new Promise((resolve) => {
  const socket = connect({ host, port: Number(port) });
  socket.setTimeout(1500, () => { socket.destroy(); resolve("silent"); });
  socket.once("data", (data) => { socket.destroy(); resolve(String(data)); });
  socket.once("end", () => resolve("ended"));
  socket.once("error", ({ code }) => resolve(code));
});
const http = async ({ url, method = "GET", body }) => {
  const answer = await fetch(url, { method, body });
  return answer.status + " " + await answer.text();
};
const name = ({ name }) => new Resolver({ timeout: 4000, tries: 2 }).resolve4(name).then(String, ({ code }) => code);
const listens = ({ host, port }) => new Promise((resolve) => {
  const server = createServer((_, answer) => answer.end("attacker"));
  server.once("error", ({ code }) => resolve(code));
  server.listen(Number(port), host, () => resolve("listens"));
});
createServer(async (request, response) => {
  const url = new URL(request.url, "http://x");
  const what = { "/tcp": tcp, "/http": http, "/listen": listens, "/name": name }[url.pathname];
  const outcome = what === undefined ? "hi" : await what(Object.fromEntries(url.searchParams)).catch(String);
  response.end(outcome);
}).listen(process.env.PORT);`);

const lacking = has("bubblewrap") ? await whyNoNetworks("test") : "bubblewrap does not work here";

let platform: TestPlatform;
let url: string;
const servers: Server[] = [];

/** A program of this machine that services must not reach. */
const secret = async (host: string): Promise<number> => {
  const server = createServer((socket) => socket.end("secret"));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  servers.push(server);
  return (server.address() as { port: number }).port;
};

const ask = async (path: string, query: Record<string, unknown>, at = url): Promise<string> =>
  (await send(at, { path: `${path}?${new URLSearchParams(query as Record<string, string>)}` })).text;

let allowed: number;

beforeAll(async () => {
  if (lacking !== undefined) return;
  allowed = await secret("127.0.0.1");
  platform = await startLocal({ runner: "bubblewrap", allowHostPort: [allowed], ingressPort: 0 });
  url = await platform.up(prober, { function_name: "prober" });
});

afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  for (const server of servers) server.close();
});

beforeEach((context) => {
  if (lacking !== undefined) context.skip(lacking);
});

test("reports full isolation", () => {
  expect(platform.controlPlane.capabilities().isolation).toBe("full");
});

test("a service reaches no port of this machine at any of its addresses", async () => {
  const everywhere = await secret("0.0.0.0");
  const loopback = await secret("127.0.0.1");
  const own = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
  const scoped = Object.entries(networkInterfaces()).flatMap(([name, all]) =>
    (all ?? []).filter(({ scopeid }) => scopeid).map(({ address }) => `${address}%${name}`),
  );
  const hosts = ["0.0.0.0", "127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "localhost", ...own, ...scoped];
  const heard = await Promise.all(
    hosts.flatMap((host) => [everywhere, loopback].map(async (port) => [host, await ask("/tcp", { host, port })])),
  );
  expect(heard.filter(([, outcome]) => outcome === "secret" || outcome === "ended")).toEqual([]);
});

test("connections to the metadata addresses of clouds fail immediately", async () => {
  for (const host of ["169.254.169.254", "169.254.170.2", "168.63.129.16", "100.100.100.200"])
    expect(await ask("/tcp", { host, port: 80 })).toBe("ECONNREFUSED");
  for (const host of ["fd00:ec2::254", "2001:db8::1"])
    expect(await ask("/tcp", { host, port: 80 })).toBe("ENETUNREACH");
});

test("a service gets replies from this machine's resolver", async () => {
  const asked = "portside.invalid";
  const heard = await new Resolver({ timeout: 4000, tries: 2 }).resolve4(asked).then(String, ({ code }) => code);
  expect(await ask("/name", { name: asked })).toBe(heard);
});

test("a service reaches a port that --allow-host-port opens", async () => {
  expect(await ask("/tcp", { host: "127.0.0.1", port: allowed })).toBe("secret");
});

const textAt = (at: string): Promise<string> =>
  fetch(at).then(
    (answer) => answer.text(),
    () => "",
  );

test("a service occupies no port of this machine", async () => {
  for (const port of [platform.local.ingressPort, portOf(url), 8080])
    await ask("/listen", { host: "0.0.0.0", port }).then((outcome) =>
      expect(["listens", "EADDRINUSE"]).toContain(outcome),
    );
  const loopbacks = ["127.0.0.1", "127.0.0.2", "[::1]"];
  for (const host of loopbacks)
    for (const port of [platform.local.ingressPort, portOf(url), 8080])
      expect(await textAt(`http://${host}:${port}/`)).not.toBe("attacker");
});

test("services reach each other's URLs, including the URLs of later services", async () => {
  const later = await platform.up(nodeSource(helloServer("I came later")), { function_name: "later" });
  expect(await ask("/http", { url: later })).toBe("200 I came later");
  const second = await platform.up(prober, { function_name: "second" });
  expect(await ask("/http", { url }, second)).toBe("200 hi");
});

test("services reach the shared port and signed URLs, even if they listen on the same port number", async () => {
  const principal = principalOf("acme");
  (await platform.controlPlane.createVolume(principal, { name: "files" }))._unsafeUnwrap();
  const { local, controlPlane } = platform;
  const same = await platform.up(prober, { function_name: "same", port: local.ingressPort });
  for (const at of [url, same]) {
    const put = (await controlPlane.grantUpload(principal, { volume: "files", object: "a" }))._unsafeUnwrap() as {
      url: string;
    };
    expect(await ask("/http", { url: put.url, method: "PUT", body: "written" }, at)).toMatch(/^20/);
    const get = (await controlPlane.grantDownload(principal, { volume: "files", path: "a" }))._unsafeUnwrap();
    expect(await ask("/http", { url: get.url }, at)).toBe("200 written");
  }
  expect(await ask("/http", { url: `http://127.0.0.1:${local.ingressPort}/` })).toMatch(/^404 /);
});

test("reserves the port of a deleted service while older services' networks forward to it", async () => {
  const gone = await platform.up(nodeSource(helloServer("gone")), { function_name: "gone" });
  expect(await ask("/http", { url: gone })).toBe("200 gone");
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "gone" }))._unsafeUnwrap();
  for (const host of ["127.0.0.1", "::1", "0.0.0.0"]) {
    const other = createServer().listen(portOf(gone), host);
    servers.push(other);
    await expect(once(other, "listening")).rejects.toThrow("EADDRINUSE");
  }
  await expect.poll(() => ask("/http", { url: gone })).toMatch(/^404 /);
  const back = await platform.up(nodeSource(helloServer("back")), { function_name: "gone" });
  expect(await ask("/http", { url: back })).toBe("200 back");
});

test("a service may listen on a port below 1024, and on 127.0.0.1 alone with a warning", async () => {
  const low = await platform.up(nodeSource(helloServer("low")), { function_name: "low", port: 80 });
  expect((await send(low)).text).toBe("low");
  const records = await platform.deploy(
    nodeSource(`import { createServer } from "node:http";
createServer((_, answer) => answer.end("hi")).listen(process.env.PORT, "127.0.0.1");`),
    { function_name: "narrow" },
  );
  expect(records.at(-1)?.status).toBe("DONE");
  expect(JSON.stringify(records)).toContain("on a cloud it must listen on 0.0.0.0");
});

test("reports a service that listens on a different port, even though its network accepts connections", async () => {
  const records = await platform.deploy(
    nodeSource(`import { createServer } from "node:http"; createServer().listen(9999);`),
    {
      function_name: "elsewhere",
    },
  );
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "did_not_listen" });
  expect(JSON.stringify(records.at(-1))).toContain(":9999, not on PORT (8080)");
});

test("reports a service that listens only on IPv6", async () => {
  const records = await platform.deploy(
    nodeSource(`import { createServer } from "node:http";
createServer().listen({ port: process.env.PORT, host: "::", ipv6Only: true });`),
    { function_name: "six" },
  );
  expect(records.at(-1)).toMatchObject({ status: "ERROR", reason: "did_not_listen" });
  expect(JSON.stringify(records.at(-1))).toContain("over IPv4; listen on 0.0.0.0");
});

test("reports crashed for a service that exits before it listens", async () => {
  const records = await platform.deploy(nodeSource("process.exit(7)"), { function_name: "crash" });
  expect(records.at(-1)).toMatchObject({ status: "ERROR", exit_code: 7 });
});

test("a build reaches only the port of a registry on this machine's loopback address", async () => {
  const closed = await secret("127.0.0.1");
  const registry = createHttp((_, answer) => answer.end("registry"));
  await new Promise<void>((resolve) => registry.listen(0, "127.0.0.1", resolve));
  servers.push(registry);
  const { port } = registry.address() as { port: number };
  const environment = { PATH: process.env["PATH"], npm_config_registry: `http://127.0.0.1:${port}/` };
  await using own = await startLocal({ runner: "bubblewrap" }, {}, { environment });
  const build = `const get = (port) => fetch("http://127.0.0.1:" + port).then((a) => a.text(), (e) => e.cause.code);
(async () => console.log("heard", await get(${port}), await get(${closed})))()`;
  const scripts = { start: "node server.js", build: "node build.cjs" };
  const source = nodeSource(helloServer("built"), {
    "package.json": JSON.stringify({ name: "test", private: true, type: "module", scripts }),
    "build.cjs": build,
  });
  expect(JSON.stringify(await own.deploy(source))).toContain("heard registry ECONNREFUSED");
});

test("removes all networks when the platform closes", async () => {
  const own = await startLocal({ runner: "bubblewrap" });
  await own.up(nodeSource(helloServer("hi")));
  const networks = () =>
    allProcesses().filter(({ pid }) => environmentOf(pid).some((one) => one.includes(".network-")));
  const before = networks().length;
  expect(before).toBeGreaterThan(0);
  await own[Symbol.asyncDispose]();
  await expect.poll(() => networks().length).toBeLessThan(before);
});

test("below a domain, services reach their account's services and signed URLs by name", async () => {
  await using own = await startLocal({ runner: "bubblewrap", domain: "apps.example.test", ingressPort: 0 });
  const shared = `http://127.0.0.1:${own.local.ingressPort}`;
  const from = (path: string, query: Record<string, string>) =>
    send(shared, { path: `${path}?${new URLSearchParams(query)}`, headers: { host: "prober.apps.example.test" } });
  const reach = async (at: string, method = "GET") => (await from("/http", { url: at, method })).text;
  await own.up(prober, { function_name: "prober" });
  const later = await own.up(nodeSource(helloServer("I came later")), { function_name: "later" });
  expect(later).toBe(`http://later.apps.example.test:${own.local.ingressPort}`);
  expect(await reach(later)).toBe("200 I came later");
  const principal = principalOf("acme");
  (await own.controlPlane.createVolume(principal, { name: "files" }))._unsafeUnwrap();
  const put = (await own.controlPlane.grantUpload(principal, { volume: "files", object: "a" }))._unsafeUnwrap();
  expect(await reach((put as { url: string }).url, "PUT")).toMatch(/^20/);
  const theirs = await own.up(nodeSource(helloServer("theirs")), { function_name: "theirs" }, "other");
  expect(await reach(theirs)).toBe("TypeError: fetch failed");
});

test("below a domain with a proxy, names resolve to the loopback address if the proxy's port is open, else through DNS", async () => {
  const proxy = createHttp((request, answer) => answer.end(`proxy for ${request.headers.host}`));
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  servers.push(proxy);
  const { port } = proxy.address() as { port: number };
  for (const [allowHostPort, heard] of [
    [[port], `200 proxy for prober.apps.example.test:${port}`],
    [[], "TypeError: fetch failed"],
  ] as const) {
    const domain = `http://apps.example.test:${port}`;
    await using own = await startLocal({
      runner: "bubblewrap",
      domain,
      allowHostPort: [...allowHostPort],
      ingressPort: 0,
    });
    const at = await own.up(prober, { function_name: "prober" });
    const path = `/http?${new URLSearchParams({ url: at })}`;
    const headers = { host: "prober.apps.example.test" };
    expect((await send(`http://127.0.0.1:${own.local.ingressPort}`, { path, headers })).text).toBe(heard);
  }
});
