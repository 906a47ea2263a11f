/** Unusual responses, written as raw bytes, reach the client correctly. */
import { Agent } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { type Reply, send } from "../../../support/http/clients.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

/** Responds to each request with the bytes in `x-answer`. For `/close`, closes the connection after them. */
const server = `
import { createServer } from "node:net";
createServer((socket) => {
  let head = "";
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    head += chunk.toString("latin1");
    if (!head.includes("\\r\\n\\r\\n")) return;
    const answer = Buffer.from(/x-answer: (\\S*)/i.exec(head)[1], "base64");
    if (head.startsWith("GET /close")) socket.end(answer);
    else socket.write(answer);
    head = "";
  });
}).listen(process.env.PORT);
`;

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(nodeSource(server), { max_instances: 1 });
});

afterAll(() => platform[Symbol.asyncDispose]());

const ask = (answer: string, path = "/", agent?: Agent): Promise<Reply> =>
  send(url, {
    path,
    headers: { "x-answer": Buffer.from(answer).toString("base64") },
    ...(agent === undefined ? {} : { agent }),
  });

const OK = "HTTP/1.1 200 OK\r\n";
const PLAIN = `${OK}Content-Length: 4\r\n\r\nnext`;

const answers: readonly [string, string, string, Partial<Reply>][] = [
  ["no content", "/", "HTTP/1.1 204 No Content\r\nX-Kept: 1\r\n\r\n", { status: 204, text: "" }],
  ["not modified", "/", 'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n', { status: 304, text: "" }],
  ["not modified, with a length", "/", "HTTP/1.1 304 x\r\nContent-Length: 100\r\n\r\n", { status: 304, text: "" }],
  [
    "no length, until the close",
    "/close",
    `${OK}Connection: close\r\n\r\nto the end`,
    { status: 200, text: "to the end" },
  ],
  ["HTTP/1.0", "/close", "HTTP/1.0 200 OK\r\n\r\nold", { status: 200, text: "old" }],
  [
    "a custom reason phrase",
    "/",
    "HTTP/1.1 200 Just Fine\r\nContent-Length: 2\r\n\r\nok",
    { reason: "Just Fine", text: "ok" },
  ],
  ["a non-ASCII reason phrase", "/", "HTTP/1.1 200 Über €\r\nContent-Length: 2\r\n\r\nok", { status: 200, text: "ok" }],
  ["no reason", "/", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n", { status: 404, text: "" }],
  ["a custom status", "/", "HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n", { status: 799, reason: "Odd" }],
  [
    "trailers",
    "/",
    `${OK}Trailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n`,
    { status: 200, text: "abc", trailers: { "x-sum": "6" } },
  ],
  [
    "early hints and processing before the response",
    "/",
    `HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}Content-Length: 4\r\n\r\nlate`,
    { status: 200, text: "late" },
  ],
];

test.each(answers)("forwards %s", async (_words, path, answer, wanted) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect(await ask(answer, path, agent)).toMatchObject(wanted);
  // The next bytes of the client's connection are the next response.
  expect((await ask(PLAIN, "/", agent)).text).toBe("next");
  agent.destroy();
});

test("keeps the headers of 204 and 304", async () => {
  expect((await ask("HTTP/1.1 204 No Content\r\nX-Kept: 1\r\n\r\n")).headers["x-kept"]).toBe("1");
  const { headers } = await ask('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\nContent-Length: 100\r\n\r\n');
  expect(headers).toMatchObject({ etag: '"x"', "content-length": "100" });
});

test.each([
  ["not HTTP", "/close", "SSH-2.0-OpenSSH_9.6\r\n"],
  ["nothing", "/close", ""],
  ["half a head", "/close", "HTTP/1.1 200 OK\r\nContent-Le"],
  ["two lengths", "/", `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`],
  ["a length and chunks", "/", `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an unrequested upgrade", "/", "HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"],
])("returns 502 for an invalid response: %s", async (_words, path, answer) => {
  const reply = await ask(answer, path);
  expect(reply.status).toBe(502);
  expect(JSON.parse(reply.text)).toEqual({ detail: "The service sent no valid response." });
  expect((await ask(PLAIN)).text).toBe("next");
});

test.each([
  ["before its length", `${OK}Content-Length: 10\r\n\r\n12345`],
  ["within its chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n`],
])("truncates a response that ends %s", async (_words, answer) => {
  await expect(ask(answer, "/close")).rejects.toThrow("aborted");
  expect((await ask(PLAIN)).text).toBe("next");
});
