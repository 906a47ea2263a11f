/** Parses the kernel's tables of sockets and judges where a service listens. */

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import {
  accepts,
  judgeListeners,
  listenStateOf,
  loopback,
  watchNetwork,
} from "../../../../adapters/local/instances/listen-state.ts";
import { listenersOf, parseTcpTable } from "../../../../adapters/shared/runtime/listening.ts";

const HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const row = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000 100 0 0 10 0\n`;

test.each([
  ["any IPv4 address", "00000000:1F90", "0.0.0.0", 8080],
  ["IPv4 loopback", "0100007F:0016", "127.0.0.1", 22],
  ["another IPv4 address", "0200007F:FFFF", "127.0.0.2", 65_535],
  ["an outer IPv4 address", "0A00A8C0:0050", "192.168.0.10", 80],
  ["any IPv6 address", "00000000000000000000000000000000:1F90", "::", 8080],
  ["IPv6 loopback", "00000000000000000000000001000000:1F90", "::1", 8080],
  ["IPv4 loopback within IPv6", "0000000000000000FFFF00000100007F:1F90", "127.0.0.1", 8080],
  ["an outer IPv6 address", "B80D01200000000000000000010000FE:1F90", "2001:db8:0:0:0:0:fe00:1", 8080],
])("parses the kernel's table: %s", (_what, local, address, port) => {
  expect([...parseTcpTable(HEAD + row(local, "0A", 77))]).toEqual([["77", { address, port }]]);
});

test("ignores connections in the kernel's table, and returns nothing for an empty table", () => {
  const text = HEAD + row("0100007F:0016", "01", 1) + row("0100007F:0016", "06", 0) + row("00000000:0050", "0A", 3);
  expect([...parseTcpTable(text).keys()]).toEqual(["3"]);
  expect(parseTcpTable(HEAD).size).toBe(0);
  expect(parseTcpTable("").size).toBe(0);
});

describe("judgeListeners for port 8080", () => {
  const at = (address: string, port = 8080) => ({ address, port });

  test.each([
    ["nothing", [], { kind: "nothing" }],
    ["any IPv4", [at("0.0.0.0")], { kind: "right" }],
    ["any IPv6", [at("::")], { kind: "right" }],
    ["any address, and other ports", [at("127.0.0.1", 9229), at("127.0.0.1"), at("::")], { kind: "right" }],
  ])("%s", (_what, listeners, sight) => {
    expect(judgeListeners(listeners, 8080)).toEqual(sight);
  });

  test("accepts the loopback address with a warning", () => {
    const sight = judgeListeners([at("127.0.0.1"), at("::1")], 8080);
    expect(sight).toMatchObject({ kind: "right", warning: expect.stringContaining("127.0.0.1 only") });
  });

  test.each([
    ["another address", [at("127.0.0.2")], ["127.0.0.2:8080", "listen on 0.0.0.0"]],
    ["IPv6 loopback", [at("::1")], ["[::1]:8080", "listen on 0.0.0.0"]],
    ["another port", [at("0.0.0.0", 3000), at("::1", 9229)], ["0.0.0.0:3000, [::1]:9229", "PORT (8080)"]],
  ])("explains %s", (_what, listeners, words) => {
    const sight = judgeListeners(listeners, 8080);
    expect(sight.kind).toBe("elsewhere");
    for (const part of words) expect((sight as { message: string }).message).toContain(part);
  });
});

describe("sockets of this process", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });
  const listen = async (host: string): Promise<number> => {
    const server = createServer().listen(0, host);
    servers.push(server);
    await once(server, "listening");
    return (server.address() as { port: number }).port;
  };

  test("finds their addresses by the process", async () => {
    const ports = await Promise.all(["127.0.0.1", "0.0.0.0", "127.0.0.2"].map(listen));
    const found = await listenersOf([process.pid]);
    expect(found).toContainEqual({ address: "127.0.0.1", port: ports[0] });
    expect(found).toContainEqual({ address: "0.0.0.0", port: ports[1] });
    expect(found).toContainEqual({ address: "127.0.0.2", port: ports[2] });
    expect(await listenersOf([])).toEqual([]);
    expect(await listenersOf([2 ** 22 + 1])).toEqual([]);
    expect((await listenStateOf([process.pid], ports[1] as number, true)).kind).toBe("right");
  });

  test("reports sockets of a network from when they listen until they close", async () => {
    const free = await listen("0.0.0.0");
    servers.pop()?.close();
    const look = watchNetwork({ pid: process.pid, inside: free, opened: [] });
    expect((await look()).kind).not.toBe("right");
    const server = createServer().listen(free, "0.0.0.0");
    servers.push(server);
    await expect.poll(async () => (await look()).kind).toBe("right");
    server.close();
    await expect.poll(async () => (await look()).kind).not.toBe("right");
  });

  test("detects whether an address accepts connections", async () => {
    const port = await listen("127.0.0.1");
    expect(await accepts(loopback(port))).toBe(true);
    servers.pop()?.close();
    await expect.poll(() => accepts(loopback(port))).toBe(false);
  });
});
