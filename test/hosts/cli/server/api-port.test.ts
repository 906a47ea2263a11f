/** The API's port holds connections until a server takes them, and can move to another process. */
import { once } from "node:events";
import { connect, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import { ApiPort } from "../../../../hosts/cli/server/api-port.ts";
import { type ServedReply, startApiPort } from "../../../support/handover/api-port-child.ts";
import { has } from "../../../support/vitest/machine.ts";

const settings = { host: "127.0.0.1", port: 0 };

const hosts = has("ipv6") ? ["127.0.0.1", "::1"] : ["127.0.0.1"];

/** Longer than any test. */
const LONG_MS = 600_000;

interface Asked {
  readonly socket: Socket;
  /** All received bytes, after the connection has closed. */
  readonly text: Promise<string>;
}

/** Opens a connection and sends a request. */
const ask = async (port: number, host = "127.0.0.1"): Promise<Asked> => {
  const socket = connect(port, host);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => undefined);
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(text)));
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  return { socket, text: closed };
};

const replyOf = (text: string): ServedReply => JSON.parse(text.slice(text.indexOf("\r\n\r\n")));

const open = async () => {
  const api = new ApiPort();
  const port = await api.open(settings, 0);
  return { api, port, [Symbol.dispose]: () => api.close() };
};

test("connections wait in the process that adopts the port, unread, and are served in order", async () => {
  using old = await open();
  using child = await startApiPort();
  for (const server of old.api.servers) await child.send("adopt", server);
  old.api.close();
  const held: Asked[] = [];
  for (let index = 0; index < 20; index++) held.push(await ask(old.port, hosts[index % hosts.length]));
  await child.send("serve");
  // The requests alternate between the hosts, and the last one goes to the first host.
  const texts = await Promise.all([...held, await ask(old.port)].map(({ text }) => text));
  const replies = texts.map(replyOf);
  for (const reply of replies) expect(reply).toMatchObject({ readBefore: 0, allowHalfOpen: true });
  // The kernel has one queue for each address, so connections have an order only in one of them.
  for (const host of hosts) {
    const order = replies.flatMap(({ connection }, index) => (hosts[index % hosts.length] === host ? connection : []));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  }
});

const refused = /^HTTP\/1\.1 503 .*Retry-After: 2\r\n/is;

test("responds 503 to connections beyond the limit, and serves the others", async () => {
  using old = await open();
  old.api.hold(LONG_MS);
  const asked = await Promise.all(Array.from({ length: 510 }, () => ask(old.port)));
  let refusals = 0;
  const count = async ({ text }: Asked) => {
    if (refused.test(await text)) refusals++;
  };
  const counted = asked.map(count);
  await expect.poll(() => refusals).toBe(10);
  const passed: Socket[] = [];
  old.api.passTo((socket) => passed.push(socket));
  expect(passed).toHaveLength(500);
  for (const socket of passed) socket.destroy();
  await Promise.all(counted);
  expect(refusals).toBe(10);
});

test("responds 503 to held and new connections after the hold expires, until a server takes them", async () => {
  using old = await open();
  old.api.hold(100);
  const held = await ask(old.port);
  expect(await held.text).toMatch(refused);
  expect(await (await ask(old.port)).text).toMatch(refused);
  const passed = new Promise<Socket>((resolve) => old.api.passTo(resolve));
  const { socket } = await ask(old.port);
  (await passed).destroy();
  socket.destroy();
});

test("passes connections to a server that is ready before the hold expires", async () => {
  using old = await open();
  old.api.hold(100);
  const passed: Socket[] = [];
  old.api.passTo((socket) => passed.push(socket));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { socket } = await ask(old.port);
  await expect.poll(() => passed.length).toBe(1);
  passed[0]?.destroy();
  socket.destroy();
});

test("closes held connections when the port closes", async () => {
  const api = new ApiPort();
  const port = await api.open(settings, 0);
  api.hold(LONG_MS);
  const accepted = once(api.servers[0] as Server, "connection");
  const { text } = await ask(port);
  await accepted;
  api.close();
  expect(await text).toBe("");
});
