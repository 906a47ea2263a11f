/** Bodies are streamed in both directions with backpressure. */
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { openRequest, replyOf, send } from "../../../support/http/clients.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

const MiB = 1024 ** 2;

/**
 * `/events` is an event stream. `/next` sends its next event, `/end` ends it, and `/ended` responds when it has ended.
 * `/upload` responds with a line for every MiB that it has read. `/reluctant` reads only after `/go`. `/download` sends
 * 100 MiB; `/sent` returns how many bytes of them were sent.
 */
const server = `
import { createServer } from "node:http";
let events, ended, count = 0, goAhead, download;
const MiB = 1024 ** 2;
createServer(async (request, response) => {
  switch (request.url) {
    case "/events":
      events = response;
      ended = new Promise((resolve) => events.once("close", resolve));
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.flushHeaders();
    case "/next":
      events.write("id: " + count + "\\ndata: event " + count++ + "\\n\\n");
      return response.end();
    case "/ended":
      await ended;
      return response.end("ended");
    case "/end":
      events.end();
      return response.end();
    case "/upload": {
      let bytes = 0, lines = 0;
      response.writeHead(200);
      for await (const chunk of request) {
        bytes += chunk.length;
        for (; lines < Math.floor(bytes / MiB); lines++) response.write("read " + (lines + 1) + "\\n");
      }
      return response.end("all " + bytes + "\\n");
    }
    case "/reluctant": {
      goAhead = Promise.withResolvers();
      await goAhead.promise;
      let bytes = 0;
      for await (const chunk of request) bytes += chunk.length;
      return response.end(String(bytes));
    }
    case "/go":
      goAhead.resolve();
      return response.end();
    case "/download": {
      download = { sent: 0 };
      const piece = Buffer.alloc(64 * 1024, "x");
      response.writeHead(200, { "content-length": 100 * MiB });
      for (; download.sent < 100 * MiB; download.sent += piece.length) {
        if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve));
      }
      return response.end();
    }
    case "/sent":
      return response.end(String(download.sent));
  }
}).listen(process.env.PORT);
`;

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(nodeSource(server), { max_instances: 1 });
});

afterAll(() => platform[Symbol.asyncDispose]());

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** The memory in use by this process (clients and platform), without garbage and the allocator's reserve. */
const held = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Returns a function that reads the stream up to the end of a given text, and returns the text that it has read. */
const piecesOf = (stream: AsyncIterable<Buffer>) => {
  const chunks = stream[Symbol.asyncIterator]();
  let text = "";
  return async (wanted: string): Promise<string> => {
    while (!text.includes(wanted)) {
      const { done, value } = await chunks.next();
      if (done === true) throw new Error(`the stream ended after: ${text}`);
      text += value;
    }
    const end = text.indexOf(wanted) + wanted.length;
    const piece = text.slice(0, end);
    text = text.slice(end);
    return piece;
  };
};

test("forwards a hundred server-sent events one by one, each before the next is sent", async () => {
  const { request, response } = openRequest(url, { path: "/events", headers: { accept: "text/event-stream" } });
  request.end();
  // The head arrives before the first event.
  const events = await response;
  expect(events.headers["content-type"]).toBe("text/event-stream");
  const next = piecesOf(events);
  for (let count = 0; count < 100; count++) {
    const asked = send(url, { path: "/next" });
    expect(await next("\n\n")).toBe(`id: ${count}\ndata: event ${count}\n\n`);
    await asked;
  }
  await send(url, { path: "/end" });
  await expect(next("\n\n")).rejects.toThrow("the stream ended after: ");
});

test("forwards an upload of 100 MiB as it is sent, with flat memory", async () => {
  const piece = Buffer.alloc(MiB);
  const upload = async (mebibytes: number): Promise<number> => {
    const headers = { "content-length": mebibytes * MiB };
    const { request, response } = openRequest(url, { method: "POST", path: "/upload", headers });
    request.write(piece);
    const acknowledged = piecesOf(await response);
    let most = 0;
    for (let count = 1; count <= mebibytes; count++) {
      // The client continues only after the service has read everything sent so far.
      expect(await acknowledged("\n")).toBe(`read ${count}\n`);
      if (count % 10 === 0) most = Math.max(most, held());
      if (count < mebibytes) request.write(piece);
    }
    request.end();
    expect(await acknowledged("\n")).toBe(`all ${mebibytes * MiB}\n`);
    return most;
  };
  // Exclude the memory that the first request allocates.
  await upload(1);
  const before = held();
  const most = await upload(100);
  expect(most - before).toBeLessThan(40 * MiB);
});

test("an upload of 100 MiB waits in the client while the service does not read it", async () => {
  const { request, response } = openRequest(url, {
    method: "POST",
    path: "/reluctant",
    headers: { "content-length": 100 * MiB },
  });
  let made = 0;
  const pieces = async function* () {
    for (const piece = Buffer.alloc(MiB); made < 100 * MiB; made += MiB) yield piece;
  };
  const sent = pipeline(pieces(), request);
  // Other requests pass meanwhile, but the upload does not.
  for (let count = 0; count < 200; count++) await send(url, { method: "POST", path: "/upload", body: "x" });
  expect(made).toBeLessThan(50 * MiB);
  await send(url, { path: "/go" });
  expect((await replyOf(await response)).text).toBe(String(100 * MiB));
  await sent;
});

test("a download of 100 MiB waits in the service while the client does not read it", async () => {
  const before = held();
  const { request, response } = openRequest(url, { path: "/download" });
  request.end();
  const answer = await response;
  // The client does not read. Other requests pass meanwhile, but the download does not.
  for (let count = 0; count < 200; count++) await send(url, { method: "POST", path: "/upload", body: "x" });
  expect(Number((await send(url, { path: "/sent" })).text)).toBeLessThan(50 * MiB);
  let bytes = 0;
  let most = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (Math.floor(bytes / (10 * MiB)) !== Math.floor((bytes + chunk.length) / (10 * MiB)))
      most = Math.max(most, held());
    bytes += chunk.length;
  }
  expect(bytes).toBe(100 * MiB);
  expect(most - before).toBeLessThan(40 * MiB);
});

test("forwards a body without a length chunk by chunk", async () => {
  const { request, response } = openRequest(url, { method: "POST", path: "/upload" });
  request.write(Buffer.alloc(MiB));
  const acknowledged = piecesOf(await response);
  expect(await acknowledged("\n")).toBe("read 1\n");
  request.end(Buffer.alloc(10));
  expect(await acknowledged("\n")).toBe(`all ${MiB + 10}\n`);
});

test("cancels a response at the service if the client disconnects", async () => {
  const { request, response } = openRequest(url, { path: "/events" });
  request.end();
  const answer = await response;
  answer.on("error", () => undefined);
  answer.destroy();
  expect((await send(url, { path: "/ended" })).text).toBe("ended");
});
