/** HTTP/2 without TLS on the same port, which Cloud Run requires for large bodies. */
import { randomBytes } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { LogStore } from "../../../../core/ports/log-store.ts";
import { errAsync, ResultAsync } from "../../../../core/result.ts";
import { sourceOf, tarOf } from "../../../support/archives/archives.ts";
import { serveApi } from "../../../support/http/api.ts";
import { openRaw } from "../../../support/http/clients.ts";
import { serveOnDisk } from "../../../support/http/disk-api.ts";
import { bigArchive } from "../../../support/http/half-upload.ts";
import { serveHeld } from "../../../support/http/held-api.ts";
import { type Http2Opened, openHttp2, sendHttp2 } from "../../../support/http/http2-client.ts";
import { clientPreface, FRAME, frame, headersFrame, resetFrame } from "../../../support/http/http2-frames.ts";
import { aroundFile, formType } from "../../../support/http/multipart.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Sends a request that expects `100 Continue`, with its reset in the same packet. */
const sendAndReset = async (url: string): Promise<void> => {
  const { socket, received } = openRaw(url);
  const request = {
    ":method": "POST",
    ":scheme": "http",
    ":authority": "a",
    ":path": "/health",
    expect: "100-continue",
  };
  socket.write(
    Buffer.concat([clientPreface, headersFrame(1, request), resetFrame(1, 0), frame(FRAME.ping, 0, 0, PING)]),
  );
  await received(PING.toString());
  socket.destroy();
};

/** The server returns the contents after it has read the frames before them. */
const PING = Buffer.from("12345678");

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const post = (key: string | undefined, path = "/v1/deploy", type = formType) => ({
  ":method": "POST",
  ":path": path,
  "content-type": type,
  ...(key === undefined ? {} : { "x-api-key": key }),
});

const form = aroundFile({ function_name: "app", volumes: "{}" });

/** Sends a source as fast as the server takes it. */
const upload = async ({ stream }: Http2Opened, archive: Uint8Array): Promise<void> => {
  for (const piece of [form.before, archive, form.after])
    await new Promise<void>((resolve, reject) => stream.write(piece, (error) => (error ? reject(error) : resolve())));
  stream.end();
};

const recordsIn = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("both versions on one port", () => {
  test("give the same responses", async () => {
    await using api = await serveOnDisk();
    const key = await api.key();
    const old = await api.call("GET", "/v1/deployment/list", { key });
    const reply = await sendHttp2(api.url, { ":path": "/v1/deployment/list", "x-api-key": key });
    expect(reply.status).toBe(old.status);
    expect(JSON.parse(reply.text)).toEqual(old.json);
    const refused = await sendHttp2(api.url, post(key, "/v1/sql", "application/json"), '{"query":');
    expect(refused.status).toBe(422);
    expect((await sendHttp2(api.url, { ":path": "/nothing" })).status).toBe(404);
  });

  test("are distinguished even if their first bytes arrive one by one", async () => {
    await using api = await serveOnDisk();
    const sendSlowly = async (bytes: string) => {
      const connection = openRaw(api.url);
      connection.socket.setNoDelay(true);
      for (const byte of bytes.slice(0, 16)) {
        await new Promise((resolve) => connection.socket.write(byte, "latin1", resolve));
        await new Promise((resolve) => setImmediate(resolve));
      }
      connection.socket.write(bytes.slice(16), "latin1");
      return connection;
    };
    const old = await sendSlowly("PUT /health HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(await old.received("\r\n\r\n")).toMatch(/^HTTP\/1\.1 405 /);
    old.socket.destroy();
    // Sends an empty SETTINGS frame. The server's own SETTINGS frame begins with its length and the type 4.
    const recent = await sendSlowly(`${PREFACE}\0\0\0\x04\0\0\0\0\0`);
    expect(await recent.received("\x04")).not.toContain("HTTP/1.1");
    recent.socket.destroy();
  });

  test("a silent connection does not block the others", async () => {
    await using api = await serveOnDisk();
    const silent = openRaw(api.url);
    await new Promise((resolve) => silent.socket.write("PRI", resolve));
    expect((await sendHttp2(api.url, { ":path": "/health" })).status).toBe(200);
    silent.socket.destroy();
  });
});

test("receives a source of 40 MiB, and sends records while the deploy runs", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const archive = gzipSync(tarOf([{ path: "data.bin", content: randomBytes(40 * MiB) }]), { level: 0 });
  const opened = openHttp2(api.url, post(key), true);
  const first = new Promise<string>((resolve) => opened.stream.once("data", (chunk) => resolve(String(chunk))));
  await upload(opened, archive);
  expect(recordsIn(await first)[0]).toMatchObject({ status: "BUILDING", seq: 1 });
  await held.waiting;
  held.release();
  const { status, headers, text } = await opened.reply;
  expect(status).toBe(200);
  expect(headers["content-type"]).toBe("application/x-ndjson");
  expect(recordsIn(text).at(-1)).toMatchObject({ status: "DONE" });
});

test("serves after a client reset a request while it expected 100 Continue", async () => {
  await using api = await serveOnDisk();
  await sendAndReset(api.url);
  const opened = openHttp2(api.url, { ":path": "/nothing", expect: "100-continue" });
  const continued = new Promise((resolve) => opened.stream.once("continue", resolve));
  expect((await opened.reply).status).toBe(404);
  await continued;
});

describe("a client that disconnects", () => {
  const ways: readonly (readonly [string, (opened: Http2Opened) => void])[] = [
    ["by a reset of its stream", ({ stream }) => stream.destroy(new Error("enough"))],
    ["by cancelling its stream", ({ stream }) => stream.close(8)],
    ["by closing its connection", ({ stream }) => stream.session?.destroy()],
  ];

  test.each(ways)("while it sends its source, %s: stores nothing and starts nothing", async (_way, leave) => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const opened = openHttp2(api.url, post(await api.key()), true);
    opened.stream.write(form.before);
    opened.stream.write(bigArchive.subarray(0, bigArchive.length / 2));
    await eventually(async () => expect(await api.spooled()).toHaveLength(1));
    leave(opened);
    await eventually(async () => expect(await api.spooled()).toEqual([]));
    expect((await api.call("GET", "/v1/deployment/list")).json).toEqual([]);
    const next = await eventually(async () => {
      const answer = await api.deploy({ function_name: "next", volumes: "{}" }, bigArchive);
      expect(answer.status).not.toBe(429);
      return answer;
    });
    expect(recordsIn(next.text).at(-1)).toMatchObject({ status: "DONE" });
  });

  test("while it receives records does not end the deploy", async () => {
    await using platform = await serveHeld();
    const { api, key, held } = platform;
    const opened = openHttp2(api.url, post(key), true);
    await upload(opened, sourceOf({ "index.js": "run()" }));
    await held.waiting;
    opened.stream.close(8);
    await expect(opened.reply).rejects.toThrow();
    held.release();
    await eventually(async () => {
      const [deployment] = (await api.call("GET", "/v1/deployment/list")).json;
      expect(deployment).toMatchObject({ name: "app", status: "READY" });
    });
  });

  test("while it waits for a response aborts the read", async () => {
    const memory = createMemoryProvider();
    const asked = Promise.withResolvers<AbortSignal>();
    const logs: LogStore = {
      ...memory.provider.logs,
      // Pending until the signal aborts.
      newest: (_scope, _query, { signal } = {}) => {
        asked.resolve(signal as AbortSignal);
        const given = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
        return ResultAsync.fromSafePromise(given).andThen(() => errAsync(unavailable("given up", 1)));
      },
    };
    await using api = await serveApi({ ...memory.ports, provider: { ...memory.provider, logs } });
    const done = await api.deploy({ function_name: "app", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
    expect(recordsIn(done.text).at(-1)).toMatchObject({ status: "DONE" });
    const { stream } = openHttp2(api.url, post(await api.key(), "/v1/deployment/logs", "application/json"), true);
    stream.end(JSON.stringify({ deployment_name: "app", limit: 1 }));
    const signal = await asked.promise;
    expect(signal.aborted).toBe(false);
    stream.close(8);
    await eventually(() => expect(signal.aborted).toBe(true));
  });
});

describe("a response before the end of the body", () => {
  test("is received by a client that is still sending", async () => {
    await using api = await serveOnDisk();
    const opened = openHttp2(api.url, post(undefined), true);
    opened.stream.write(form.before);
    opened.stream.write(bigArchive);
    expect((await opened.reply).status).toBe(401);
  });

  test("is received if the source is rejected, because the server drains the rest", async () => {
    await using api = await serveOnDisk();
    const opened = openHttp2(api.url, post(await api.key()), true);
    await upload(opened, Buffer.alloc(MiB, "no archive"));
    const { status, text } = await opened.reply;
    expect(status).toBe(422);
    expect(text).toContain("archive_invalid");
  });
});

describe("a server that stops", () => {
  test("does not wait for an idle connection, and ends a running stream with its last record", async () => {
    const platform = await serveHeld();
    const { api, key, held } = platform;
    const idle = connectHttp2(api.url);
    const settled = idle.request({ ":path": "/health" });
    await new Promise((resolve) => settled.resume().once("close", resolve));
    const opened = openHttp2(api.url, post(key), true);
    await upload(opened, sourceOf({ "index.js": "run()" }));
    await held.waiting;
    const idleClosed = new Promise((resolve) => idle.once("close", resolve));
    await api[Symbol.asyncDispose]();
    expect(recordsIn((await opened.reply).text).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
    await idleClosed;
  });
});
