/** Clients that disconnect or stop sending during an upload. The server keeps nothing and starts no deploy. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { ResultAsync } from "../../../../core/result.ts";
import { type Receive, readForm } from "../../../../hosts/http/deploy/form.ts";
import { recordsOf } from "../../../support/http/api.ts";
import { openRaw } from "../../../support/http/clients.ts";
import { type DiskApi, serveOnDisk } from "../../../support/http/disk-api.ts";
import { bigArchive, uploadHalf } from "../../../support/http/half-upload.ts";
import { field, file, formOf, formType } from "../../../support/http/multipart.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Expects that nothing is stored, nothing runs, and the account can upload again. */
const expectNothing = async (api: DiskApi): Promise<void> => {
  await eventually(async () => expect(await api.spooled()).toEqual([]));
  expect((await api.call("GET", "/v1/deployment/list")).json).toEqual([]);
  // The upload releases its slot a moment after its file is deleted.
  const answer = await eventually(async () => {
    const answer = await api.deploy({ function_name: "next", volumes: "{}" }, bigArchive);
    expect(answer.status).not.toBe(429);
    return answer;
  });
  expect(recordsOf(answer).at(-1)).toMatchObject({ status: "DONE" });
};

describe("a client that disconnects", () => {
  test("while it sends the file leaves nothing", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    upload.socket.destroy();
    await expectNothing(api);
  });

  test("with a reset leaves nothing", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    upload.socket.resetAndDestroy();
    await expectNothing(api);
  });

  test("by a half-close leaves nothing", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    const upload = await uploadHalf(api);
    upload.socket.end();
    await upload.closed;
    await expectNothing(api);
  });

  test("repeatedly leaves nothing", async () => {
    await using api = await serveOnDisk({ accountLimits: { uploadsAtOnce: 1 } });
    for (let time = 0; time < 5; time++) {
      const upload = await uploadHalf(api);
      upload.socket.destroy();
      await eventually(async () => expect(await api.spooled()).toEqual([]));
    }
    await expectNothing(api);
  });

  test("before the file, among the fields, leaves nothing", async () => {
    await using api = await serveOnDisk();
    const { socket } = openRaw(api.url);
    const head = ["POST /v1/deploy HTTP/1.1", "Host: x", `X-API-Key: ${await api.key()}`, `Content-Type: ${formType}`];
    socket.write(`${[...head, "Content-Length: 100000"].join("\r\n")}\r\n\r\n`);
    await new Promise((resolve) => socket.write(formOf(field("function_name", "app")).slice(0, 60), resolve));
    socket.destroy();
    await expectNothing(api);
  });

  test("after it sent everything does not end the deploy", async () => {
    await using api = await serveOnDisk();
    const upload = await uploadHalf(api);
    upload.finish();
    await upload.received("BUILDING");
    upload.socket.destroy();
    await eventually(async () => {
      const [deployment] = (await api.call("GET", "/v1/deployment/list")).json;
      expect(deployment).toMatchObject({ name: "app-acme", status: "READY" });
    });
    await eventually(async () => expect(await api.spooled()).toEqual([]));
  });
});

describe("a client that stops sending", () => {
  test("after a rejected file receives the response, and is disconnected", async () => {
    await using api = await serveOnDisk();
    const { socket, received, closed } = openRaw(api.url);
    const head = ["POST /v1/deploy HTTP/1.1", "Host: x", `X-API-Key: ${await api.key()}`, `Content-Type: ${formType}`];
    socket.write(`${[...head, "Content-Length: 100000"].join("\r\n")}\r\n\r\n`);
    socket.write(formOf(file("source_archive", "s.tar.gz", "no archive".repeat(100))).slice(0, 500));
    const came = await received("}]}");
    expect(came).toMatch(/^HTTP\/1\.1 422 /);
    expect(came).toContain("archive_invalid");
    await closed;
    expect(await api.spooled()).toEqual([]);
  });

  /** A request whose timeouts the test triggers. */
  const silentRequest = (bytes: Uint8Array) => {
    const timeouts: { millis: number; ring: (() => void) | undefined }[] = [];
    const request = Object.assign(new Readable({ read: () => {} }), {
      headers: { "content-type": formType },
      complete: false,
      setTimeout: (millis: number, ring?: () => void) => void timeouts.push({ millis, ring }),
    });
    request.push(bytes);
    return { request: request as unknown as IncomingMessage, timeouts };
  };
  const whole = formOf(field("function_name", "app"), file("source_archive", "s.tar.gz", "x".repeat(1000)));

  test.each([
    ["in the file", whole.slice(0, 400)],
    ["at the beginning of a nameless file", formOf(file("source_archive", "")).slice(0, 130)],
    ["before anything", new Uint8Array(1)],
  ])("%s is disconnected after a minute of silence", async (_where, bytes) => {
    const { request, timeouts } = silentRequest(bytes);
    let givenUp: AbortSignal | undefined;
    const receive: Receive = (chunks, signal) => {
      givenUp = signal;
      const read = Array.fromAsync(chunks).catch(() => []);
      return ResultAsync.fromSafePromise(read).map(() => ({ kind: "rejected", issues: [] }));
    };
    const form = readForm(request, receive);
    await new Promise((resolve) => setImmediate(resolve));
    const [first] = timeouts;
    expect(first?.millis).toBeLessThanOrEqual(60_000);
    first?.ring?.();
    expect(await form).toBeUndefined();
    if (givenUp !== undefined) expect(givenUp.aborted).toBe(true);
  });
});
