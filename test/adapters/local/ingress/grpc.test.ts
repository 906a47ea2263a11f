/** gRPC: an unmodified `@grpc/grpc-js` server with `use_http2`, and an unmodified client. */
import { Client, credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallbackServer, startCallbackServer } from "../../../support/http/callback-server.ts";
import { portOf } from "../../../support/http/clients.ts";
import { chat, drain, FAILURE, failed, grpcEcho, stream, sumOf, unary } from "../../../support/http/grpc-echo.ts";
import { requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

let callbacks: CallbackServer;
let platform: TestPlatform;
const clients: Record<string, Client> = {};

beforeAll(async () => {
  callbacks = await startCallbackServer();
  platform = await startLocal({ runner: "process" });
  const url = await platform.up(grpcEcho, { use_http2: true, max_instances: 1, env: callbacks.env });
  const shared = platform.local.ingressPort;
  const insecure = credentials.createInsecure();
  clients["its own port"] = new Client(`127.0.0.1:${portOf(url)}`, insecure);
  clients["the shared port"] = new Client(`127.0.0.1:${shared}`, insecure, {
    "grpc.default_authority": `app.localhost:${shared}`,
  });
});

afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await platform[Symbol.asyncDispose]();
  await callbacks[Symbol.asyncDispose]();
});

describe.each(["its own port", "the shared port"])("through %s", (way) => {
  const client = () => clients[way] as Client;

  test("forwards a unary call with its metadata and trailers", async () => {
    const metadata = new Metadata();
    metadata.set("x-asked", "yes");
    metadata.set("x-raw-bin", Buffer.from([1, 0, 254]));
    const { message, error, head, end } = await unary(client(), "Unary", metadata);
    expect(error).toBeNull();
    expect(message.value).toBe(42);
    expect(message.metadata).toMatchObject({ "x-asked": "yes", "x-forwarded-for": "127.0.0.1" });
    expect(message.metadata["x-request-id"]).toMatch(/^[a-z0-9]{20}$/);
    expect(message.host).toBe(
      way === "the shared port"
        ? `app.localhost:${platform.local.ingressPort}`
        : client().getChannel().getTarget().replace("dns:", ""),
    );
    expect(head.get("x-head")).toEqual(["of the answer"]);
    expect(end.code).toBe(status.OK);
    expect(end.metadata.get("x-trailer")).toEqual(["of the answer"]);
  });

  test("forwards the code, message and metadata of a failed call", async () => {
    const { error, end } = await unary(client(), "Fail");
    expect(failed(error as ServiceError)).toEqual(FAILURE);
    expect(end.code).toBe(status.FAILED_PRECONDITION);
  });

  test("forwards a stream of a thousand messages with its trailers", async () => {
    const { values, end } = await drain(stream(client(), "Count", 1000));
    expect(values).toEqual(Array.from({ length: 1000 }, (_, value) => value));
    expect(end.code).toBe(status.OK);
    expect(end.metadata.get("x-trailer")).toEqual(["after 1000"]);
  });

  test("forwards the messages and then the error of a stream that fails midway", async () => {
    const { values, end } = await drain(stream(client(), "FailLate", 0));
    expect(values).toEqual([1, 2]);
    expect(failed(end)).toEqual(FAILURE);
  });

  test("forwards a client stream", async () => {
    const values = Array.from({ length: 1000 }, (_, index) => index + 1);
    expect(await sumOf(client(), values)).toEqual({ value: 500_500 });
  });

  test("forwards a bidirectional stream in which each side waits for the other", async () => {
    const call = chat(client());
    const answers = call[Symbol.asyncIterator]();
    for (let value = 1; value <= 100; value++) {
      call.write({ value });
      expect((await answers.next()).value).toEqual({ value: value * 2 });
    }
    call.end();
    expect((await answers.next()).done).toBe(true);
  });

  test("cancels a call at the service if the client cancels it", async () => {
    const before = callbacks.seen("cancelled").length;
    const call = stream(client(), "Wait", 0);
    const ended = drain(call);
    await new Promise((resolve) => call.once("data", resolve));
    call.cancel();
    expect((await ended).end.code).toBe(status.CANCELLED);
    await callbacks.reported("cancelled", before + 1);
  });
});

test("lets the service refuse an unknown method", async () => {
  const { error } = await unary(clients["its own port"] as Client, "Unknown");
  expect(error?.code).toBe(status.UNIMPLEMENTED);
});

test("logs calls", async () => {
  const entry = (await requestsOf(platform)).find(({ http }) => http?.requestUrl?.endsWith("/test.Echo/Count"));
  expect(entry?.http).toMatchObject({ requestMethod: "POST", status: 200, protocol: "HTTP/2" });
  expect(entry?.http?.responseSize).toBeGreaterThan(1000);
});
