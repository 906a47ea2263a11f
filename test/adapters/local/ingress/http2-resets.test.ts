/** HTTP/2 clients that reset their streams or break the protocol, also in the same packet as the request. */
import { once } from "node:events";
import type { ServerHttp2Stream } from "node:http2";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { Listener } from "../../../../adapters/local/ingress/listener.ts";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { sendHttp2 } from "../../../support/http/http2-client.ts";
import {
  clientPreface,
  END_STREAM,
  FRAME,
  frame,
  headersFrame,
  resetFrame,
} from "../../../support/http/http2-frames.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";

const [NO_ERROR, CANCEL] = [0, 8];

const get = (path: string, authority = "rpc.localhost") => ({
  ":method": "GET",
  ":scheme": "http",
  ":authority": authority,
  ":path": path,
});

/** A port that records its streams and answers none. */
const startListener = async () => {
  const streams: ServerHttp2Stream[] = [];
  const ignore = () => undefined;
  const listener = await Listener.open("127.0.0.1", 0, {
    request: ignore,
    upgrade: ignore,
    mayContinue: () => false,
    mayUpgrade: () => false,
    stream: (stream) => void streams.push(stream),
  });
  onTestFinished(() => listener.close());
  const client = connect({ host: "127.0.0.1", port: listener.port });
  return { streams, send: (...frames: readonly Buffer[]) => void client.write(Buffer.concat(frames)) };
};

test.each([NO_ERROR, CANCEL])("ignores a request whose reset with code %i arrives with it", async (code) => {
  const { streams, send } = await startListener();
  send(clientPreface, headersFrame(1, get("/"), END_STREAM), resetFrame(1, code));
  send(headersFrame(3, get("/")), frame(FRAME.data, 0, 3, Buffer.alloc(9)), resetFrame(3, code));
  send(headersFrame(5, get("/"), END_STREAM));
  await expect.poll(() => streams.map(({ id }) => id)).toEqual([5]);
});

test.each([NO_ERROR, CANCEL])("closes an unread stream when its client resets it with code %i", async (code) => {
  const { streams, send } = await startListener();
  send(clientPreface, headersFrame(1, get("/")), frame(FRAME.data, 0, 1, Buffer.alloc(9)));
  await expect.poll(() => streams.length).toBe(1);
  send(resetFrame(1, code));
  await expect.poll(() => streams[0]?.destroyed).toBe(true);
  expect(streams[0]?.readableEnded).toBe(false);
});

/** Frames that end a request: a reset, and DATA for the connection itself, which is a protocol error. */
const ends = [
  ["a reset", resetFrame(1, NO_ERROR)],
  ["a protocol error", frame(FRAME.data, 0, 0)],
] as const;

test.each(ends)("every port serves after requests with %s in the same packet", async (_name, end) => {
  const authority = createTestAuthority();
  const tls = testTls({ "rpc.localhost": authority.issue("rpc.localhost", "app.localhost", "none.localhost") });
  await using one = await startNamedIngress("one", [], { tls: tls.config });
  const host = "127.0.0.1";
  const paths = ["/", "/_portside/x", "no-path"];
  const requests = ["rpc.localhost", "app.localhost", "none.localhost", "other.localhost"].flatMap((authority) =>
    paths.map((path) => get(path, authority)),
  );
  for (const { port, use } of one.ingress.listeningPorts())
    for (const request of requests) {
      const secure = { host, port, ca: authority.ca, servername: "rpc.localhost", ALPNProtocols: ["h2"] };
      const client = use.kind === "tls" ? connectTls(secure) : connect({ host, port });
      client.on("error", () => undefined);
      client.write(Buffer.concat([clientPreface, headersFrame(1, request, END_STREAM), end]));
      await once(client, "data");
      client.destroy();
    }
  expect((await sendHttp2(one.url("rpc"))).text).toBe("one");
});
