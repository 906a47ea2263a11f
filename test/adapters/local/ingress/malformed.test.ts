/** Malformed and ambiguous requests are refused or served, and never become two requests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { openRaw, send, sendRaw, statusesOf } from "../../../support/http/clients.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

/** Responds with the requests that it has received since the last `/seen`. */
const server = `
import { createServer } from "node:http";
let seen = [];
createServer(async (request, response) => {
  if (request.url === "/seen") {
    response.end(JSON.stringify(seen));
    seen = [];
    return;
  }
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  seen.push((request.method + " " + request.url + " " + body).trim());
  response.end("served " + request.url);
}).listen(process.env.PORT);
`;

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(nodeSource(server), { max_instances: 1 });
});

afterAll(() => platform[Symbol.asyncDispose]());

const seen = async (): Promise<string[]> => JSON.parse((await send(url, { path: "/seen" })).text);

const request = (line: string, headers: readonly string[], body = ""): string =>
  `${[line, ...headers, "Connection: close"].join("\r\n")}\r\n\r\n${body}`;

/** A request hidden in bytes that one of two parsers takes for a body. */
const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: app\r\n\r\n";
const LENGTH = `Content-Length: ${HIDDEN.length}`;

const refused: readonly [string, string, number][] = [
  [
    "a length and chunks",
    request("POST /a HTTP/1.1", ["Host: app", LENGTH, "Transfer-Encoding: chunked"], `0\r\n\r\n${HIDDEN}`),
    400,
  ],
  [
    "chunks and a length",
    request("POST /a HTTP/1.1", ["Host: app", "Transfer-Encoding: chunked", LENGTH], `0\r\n\r\n${HIDDEN}`),
    400,
  ],
  ["two lengths", request("POST /a HTTP/1.1", ["Host: app", "Content-Length: 0", LENGTH], HIDDEN), 400],
  ["two lengths in one line", request("POST /a HTTP/1.1", ["Host: app", "Content-Length: 0, 5"], "hello"), 400],
  ["an invalid length", request("POST /a HTTP/1.1", ["Host: app", "Content-Length: +5"], "hello"), 400],
  [
    "chunked, but not last",
    request("POST /a HTTP/1.1", ["Host: app", "Transfer-Encoding: chunked, gzip"], HIDDEN),
    400,
  ],
  [
    "an unsupported coding",
    request("POST /a HTTP/1.1", ["Host: app", "Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"),
    501,
  ],
  [
    "a coding that resembles chunked",
    request("POST /a HTTP/1.1", ["Host: app", "Transfer-Encoding: xchunked"], HIDDEN),
    501,
  ],
  [
    "a space before the colon",
    request("POST /a HTTP/1.1", ["Host: app", `Content-Length : ${HIDDEN.length}`], HIDDEN),
    400,
  ],
  ["a folded header", request("GET /a HTTP/1.1", ["Host: app", "X-A: 1", " folded"]), 400],
  ["a NUL in a header", request("GET /a HTTP/1.1", ["Host: app", "X-A: 1\0"]), 400],
  ["lone line feeds as line breaks", "GET /a HTTP/1.1\nHost: app\nConnection: close\n\n", 400],
  ["two hosts", request("GET /a HTTP/1.1", ["Host: app", "Host: other"]), 400],
  ["no host", request("GET /a HTTP/1.1", []), 400],
  ["an absolute URL as target", request("GET http://other/a HTTP/1.1", ["Host: app"]), 400],
  ["a target that is not a path", request("OPTIONS * HTTP/1.1", ["Host: app"]), 400],
  ["a tunnel", request("CONNECT other:80 HTTP/1.1", ["Host: other:80"]), 0],
  ["no HTTP", "SSH-2.0-OpenSSH_9.6\r\n\r\n", 400],
  ["an invalid version", request("GET /a HTTP/9.9", ["Host: app"]), 400],
  ["an overlong head", request("GET /a HTTP/1.1", ["Host: app", `X-A: ${"a".repeat(70_000)}`]), 431],
];

test.each(refused)("refuses %s, without a request to the service", async (_words, bytes, status) => {
  const statuses = statusesOf(await sendRaw(url, bytes));
  expect(statuses).toEqual(status === 0 ? [] : [status]);
  expect(await seen()).toEqual([]);
});

test("serves pipelined requests once each, in order", async () => {
  const post = (path: string, body: string) =>
    `POST ${path} HTTP/1.1\r\nHost: app\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const get = "GET /3 HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n";
  const received = await sendRaw(url, `${post("/1", "one")}${post("/2", HIDDEN)}${get}`);
  expect(received.match(/served \/\d/g)).toEqual(["served /1", "served /2", "served /3"]);
  expect((await seen()).sort()).toEqual(["GET /3", "POST /1 one", `POST /2 ${HIDDEN.trim()}`]);
});

test("forwards a body unchanged, whatever it contains", async () => {
  await sendRaw(url, request("POST /a HTTP/1.1", ["Host: app", LENGTH], HIDDEN));
  expect(await seen()).toEqual([`POST /a ${HIDDEN.trim()}`]);
});

test("answers an upgrade that the service refuses, and hides no request after it", async () => {
  const head = "GET /a HTTP/1.1\r\nHost: app\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  const received = await sendRaw(url, `${head}${HIDDEN}${HIDDEN}`);
  expect(statusesOf(received)).toEqual([200]);
  expect(received).toMatch(/\r\nconnection: close\r\n/i);
  expect(received).toMatch(/served \/a$/);
  expect(await seen()).toEqual(["GET /a"]);
});

test.each([
  ["with a body", "POST", "websocket"],
  ["to HTTP/2", "GET", "h2c"],
  ["to HTTP/2, with a body", "POST", "h2c"],
])("ignores an upgrade offer %s", async (_words, method, protocol) => {
  const upgrade = ["Host: app", "Content-Length: 5", "Connection: Upgrade", `Upgrade: ${protocol}`];
  const received = await sendRaw(url, request(`${method} /a HTTP/1.1`, upgrade, "hello"));
  expect(statusesOf(received)).toEqual([200]);
  expect(await seen()).toEqual([`${method} /a hello`]);
});

test("parses a request that arrives byte by byte", async () => {
  for (const line of ["POST /a HTTP/1.1", "PRI * HTTP/1.1", "PROPFIND /a HTTP/1.1"]) {
    const { socket, closed } = openRaw(url);
    socket.setNoDelay(true);
    for (const byte of request(line, ["Host: app", "Content-Length: 0"]))
      await new Promise<void>((resolve) => socket.write(byte, () => setImmediate(resolve)));
    expect(statusesOf(await closed)).toEqual([line.startsWith("PRI") ? 400 : 200]);
  }
  expect(await seen()).toEqual(["POST /a", "PROPFIND /a"]);
});
