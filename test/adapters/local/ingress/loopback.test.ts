/** The platform's ports are reserved on both loopback families, so that `localhost` always leads to the platform. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Listener } from "../../../../adapters/local/ingress/listener.ts";
import { describeListenError } from "../../../../adapters/shared/runtime/loopback.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portOf } from "../../../support/http/clients.ts";
import { startLocal, startLocalIn } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const others: Server[] = [];

/** Another program's server at an address. */
const occupy = async (host: string, port: number): Promise<number> => {
  const server = createServer((socket) => socket.end("attacker")).listen({ host, port });
  await once(server, "listening");
  others.push(server);
  return (server.address() as { port: number }).port;
};

beforeEach((context) => needs(context, "ipv6"));

afterEach(async () => {
  await Promise.all(others.splice(0).map((server) => new Promise((closed) => server.close(closed))));
});

const ask = (address: string, port: number, host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ host: address, port, headers: { host }, agent: false }, async (response) => {
      resolve(Buffer.concat(await response.toArray()).toString());
    })
      .once("error", reject)
      .end();
  });

test.each(["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"])(
  "with the host %s, a service's port and the shared port listen in both families, and no other program can use them",
  async (host) => {
    await using platform = await startLocal({ runner: "process", host });
    const own = portOf(await platform.up(nodeSource(helloServer("hi"))));
    for (const port of [own, platform.local.ingressPort]) {
      for (const address of ["127.0.0.1", "::1"]) {
        expect(await ask(address, port, "app.localhost")).toBe("hi");
        await expect(occupy(address, port)).rejects.toMatchObject({ code: "EADDRINUSE" });
      }
    }
  },
);

test("assigns another port if a program uses the other family of the previous port", async () => {
  using folder = folderWith();
  const first = await startLocalIn(folder.path, { runner: "process" });
  const before = portOf(await first.up(nodeSource(helloServer("hi"))));
  await first[Symbol.asyncDispose]();
  await occupy("::1", before);
  await using again = await startLocalIn(folder.path, { runner: "process" });
  const after = portOf(await again.up(nodeSource(helloServer("again"))));
  expect(after).not.toBe(before);
  expect(await ask("::1", after, "app.localhost")).toBe("again");
});

test("chooses ports that no outgoing connection gets, so that a restart finds them free", async () => {
  const range = await readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8").catch(() => "32768 60999");
  const [lowest = 0] = range.split(/\s+/).map(Number);
  await using platform = await startLocal({ runner: "process" });
  const own = portOf(await platform.up(nodeSource(helloServer("hi"))));
  for (const port of [own, platform.local.ingressPort]) expect(port).toBeLessThan(lowest);
});

test.each(["127.0.0.1", "::1"])("names the program that uses the shared port at %s", async (held) => {
  const port = await occupy(held, 0);
  const address = held === "::1" ? `[::1]:${port}` : `127.0.0.1:${port}`;
  await expect(startLocal({ runner: "process", ingressPort: port })).rejects.toThrow(
    `Port ${port} (services) is in use. Stop the other process or pass --ingress-port N. ${address} is in use by node (process ${process.pid}).`,
  );
});

test("advises a first port of all users that also permits port 80", () => {
  const denied = Object.assign(new Error("denied"), { code: "EACCES" });
  const messageFor = (port: number) => describeListenError(denied, { port, purpose: "HTTPS", setting: "--tls-port" });
  expect(messageFor(443)).toContain("'sysctl net.ipv4.ip_unprivileged_port_start=80'");
  expect(messageFor(22)).toContain("'sysctl net.ipv4.ip_unprivileged_port_start=22'");
});

const nothing = () => undefined;
const handlers = {
  request: nothing,
  mayContinue: () => true,
  mayUpgrade: () => false,
  upgrade: nothing,
  stream: nothing,
};

test("frees the port in both families when a listener stops or closes", async () => {
  for (const end of ["stop", "close"] as const) {
    const listener = await Listener.open("127.0.0.1", 0, handlers);
    listener[end]();
    for (const address of ["127.0.0.1", "::1"]) await occupy(address, listener.port);
  }
});
