/** Bodies pass as they are sent, both ways, and never pile up in between. */
import { pipeline } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { openRequest, replyOf, send } from "../../../support/http/clients.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

const MiB = 1024 ** 2;

/**
 * `/events`: an event stream, of which `/next` sends the next one; `/ended` answers when it is over. `/upload`: answers
 * a line for every MiB that it read. `/reluctant`: reads only after `/go`. `/download`: 100 MiB, as fast as they are taken; `/sent` says how many bytes of
 * them went out so far.
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

/** What this process (clients and platform) really holds: neither garbage, nor what the allocator keeps for later. */
const held = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Takes what comes piece by piece, by the text that a piece must hold. */
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

test("a hundred server-sent events arrive one by one, each before the next one is sent", async () => {
  const { request, response } = openRequest(url, { path: "/events", headers: { accept: "text/event-stream" } });
  request.end();
  // The head arrives before there is any event.
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

test("100 MiB of upload arrive as they are sent, and the memory stays flat", async () => {
  const piece = Buffer.alloc(MiB);
  const upload = async (mebibytes: number): Promise<number> => {
    const headers = { "content-length": mebibytes * MiB };
    const { request, response } = openRequest(url, { method: "POST", path: "/upload", headers });
    request.write(piece);
    const acknowledged = piecesOf(await response);
    let most = 0;
    for (let count = 1; count <= mebibytes; count++) {
      // The client goes on only when the service says that it has read what was sent so far.
      expect(await acknowledged("\n")).toBe(`read ${count}\n`);
      if (count % 10 === 0) most = Math.max(most, held());
      if (count < mebibytes) request.write(piece);
    }
    request.end();
    expect(await acknowledged("\n")).toBe(`all ${mebibytes * MiB}\n`);
    return most;
  };
  // What a first request makes the process load is not the upload's.
  await upload(1);
  const before = held();
  const most = await upload(100);
  expect(most - before).toBeLessThan(40 * MiB);
});

test("100 MiB of upload wait in the client while the service does not read them, not in between", async () => {
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
  // As long as this takes, others get through and the upload does not.
  for (let count = 0; count < 200; count++) await send(url, { method: "POST", path: "/upload", body: "x" });
  expect(made).toBeLessThan(50 * MiB);
  await send(url, { path: "/go" });
  expect((await replyOf(await response)).text).toBe(String(100 * MiB));
  await sent;
});

test("100 MiB of download wait in the service while the client does not take them, not in between", async () => {
  const before = held();
  const { request, response } = openRequest(url, { path: "/download" });
  request.end();
  const answer = await response;
  // Nobody reads it. As long as this takes, others get through and the download does not.
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

test("a body that the client sends without saying its length passes piece by piece", async () => {
  const { request, response } = openRequest(url, { method: "POST", path: "/upload" });
  request.write(Buffer.alloc(MiB));
  const acknowledged = piecesOf(await response);
  expect(await acknowledged("\n")).toBe("read 1\n");
  request.end(Buffer.alloc(10));
  expect(await acknowledged("\n")).toBe(`all ${MiB + 10}\n`);
});

test("a client that goes away in the middle of an answer ends it for the service too", async () => {
  const { request, response } = openRequest(url, { path: "/events" });
  request.end();
  const answer = await response;
  answer.on("error", () => undefined);
  answer.destroy();
  expect((await send(url, { path: "/ended" })).text).toBe("ended");
});
