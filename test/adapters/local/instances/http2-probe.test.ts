/** A service that declares HTTP/2 is probed before it gets requests, and no reply can block the probe. */
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { judgeHttp2, probeHttp2 } from "../../../../adapters/local/instances/http2-probe.ts";
import { loopback } from "../../../../adapters/local/instances/listen-state.ts";
import { helloServer } from "../../../support/archives/archives.ts";
import { createInstances } from "../../../support/providers/instances.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { createBench } from "../../../support/sandbox/jobs.ts";

const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

const opened: Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

const ask = async (server: Server, millis?: number) => {
  opened.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return probeHttp2(loopback((server.address() as AddressInfo).port), millis);
};

/** A server that handles each connection with `act`. */
const doing = (act: (socket: Socket) => void): Server =>
  createServer((socket) => {
    socket.on("error", () => undefined);
    act(socket);
  });

describe("an HTTP/2 probe", () => {
  test.each([
    ["HTTP/2", () => createHttp2() as unknown as Server, "speaks"],
    [
      "HTTP/2, a byte at a time",
      () => doing((socket) => [...SETTINGS].map((byte) => socket.write(Buffer.of(byte)))),
      "speaks",
    ],
    ["HTTP/1.1", () => createHttp() as Server, "refuses"],
    ["another protocol", () => doing((socket) => socket.end("220 mail.example ESMTP\r\n")), "refuses"],
    ["a part of a frame, then the end", () => doing((socket) => socket.end(SETTINGS.subarray(0, 5))), "refuses"],
    ["the end", () => doing((socket) => socket.end()), "refuses"],
    ["a reset", () => doing((socket) => socket.resetAndDestroy()), "refuses"],
  ] as const)("judges %s", async (_what, make, answer) => {
    expect(await ask(make(), 60_000)).toBe(answer);
  });

  test.each([
    ["nothing", () => doing(() => undefined)],
    ["a part of a frame", () => doing((socket) => socket.write(SETTINGS.subarray(0, 5)))],
  ] as const)("ends at its deadline if it receives %s", async (_what, make) => {
    expect(await ask(make(), 200)).toBe("silent");
  });

  test("rejects a first frame that is an acknowledgement, belongs to a stream or has a different type", () => {
    const changed = (at: number, value: number) => {
      const bytes = Buffer.from(SETTINGS);
      bytes[at] = value;
      return judgeHttp2(bytes);
    };
    expect([changed(3, 7), changed(4, 1), changed(8, 1), changed(2, 6)]).toEqual([
      "refuses",
      "refuses",
      "refuses",
      "speaks",
    ]);
  });
});

const template = { useHttp2: true };
const http1 = helloServer("hello").replace(
  'import { createServer } from "node:http"',
  'const { createServer } = require("node:http")',
);

describe.each(runners)("a start with use_http2: %s", (kind) => {
  const start = async (server: string, listenMillis: number) => {
    await using bench = await createBench({ kind, limits: "watchdog" });
    const outcome = await createInstances(bench).start(server, { template, verifies: true, listenMillis });
    if ("reason" in outcome) return outcome;
    await outcome.stop();
    return "ready";
  };

  test("is ready if the service speaks HTTP/2", async () => {
    expect(await start('require("node:http2").createServer().listen(process.env.PORT)', 60_000)).toBe("ready");
  });

  test("fails with a message if the service speaks only HTTP/1.1", async () => {
    expect(await start(http1, 60_000)).toMatchObject({
      reason: "did_not_listen",
      message: expect.stringMatching(/it does not speak HTTP\/2 without TLS \(h2c\), although it declares use_http2/),
    });
  });

  test("fails at the deadline if the service accepts connections and sends nothing", async () => {
    const mute = 'require("node:net").createServer(() => {}).listen(process.env.PORT)';
    // On a busy machine the service may not listen before the deadline.
    let outcome: unknown;
    for (const listenMillis of [2000, 20_000, 60_000]) {
      outcome = await start(mute, listenMillis);
      if (!JSON.stringify(outcome).includes("nothing listens")) break;
    }
    expect(outcome).toMatchObject({
      reason: "did_not_listen",
      message: expect.stringContaining("does not respond over HTTP/2"),
    });
  });
});
