/** The socket on which a service takes a busy lease. */
import { existsSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { array, assert, constantFrom, dictionary, integer, jsonValue, oneof, property, string } from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { BusySocket, readLease } from "../../../../adapters/local/instances/busy-socket.ts";
import { instantOfMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const NOW = Date.parse("2026-01-31T09:00:00Z");
const read = (body: unknown) => readLease(typeof body === "string" ? body : JSON.stringify(body), NOW, 60_000);

describe("readLease", () => {
  test.each([
    ["2026-01-31T09:00:30Z", 30_000],
    ["2026-01-31T10:00:30+01:00", 30_000],
    ["2026-01-31T09:00:30.500000001Z", 30_500],
    ["2026-01-31T09:01:00Z", 60_000],
    ["2026-01-31T08:00:00Z", -3_600_000],
    ["1970-01-01T00:00:00Z", -NOW],
  ])("reads %s", (until, ahead) => expect(read({ until })).toBe(NOW + ahead));

  test.each([
    ["", "The body is not valid JSON"],
    ["{", "The body is not valid JSON"],
    ['{"until": "2026-01-31T09:00:30Z", "until": "2026-01-31T09:00:30Z"}', "The body "],
    ["null", "must be an object with only the field 'until'"],
    ["[]", "must be an object with only the field 'until'"],
    ["{}", "must be an object with only the field 'until'"],
    ['"2026-01-31T09:00:30Z"', "must be an object with only the field 'until'"],
    [{ until: "2026-01-31T09:00:30Z", other: 1 }, "must be an object with only the field 'until'"],
    [{ until: NOW }, "'until' must be a date-time with an offset"],
    [{ until: null }, "'until' must be a date-time with an offset"],
    [{ until: "2026-01-31T09:00:30" }, "'until' must be a date-time with an offset"],
    [{ until: "2026-02-31T09:00:30Z" }, "'until' must be a date-time with an offset"],
    [{ until: "2026-01-31T09:01:01Z" }, "'until' must be at most 60 s from now, which is the 'timeout' of the service"],
  ])("rejects %j", (body, message) => {
    const problem = read(body);
    expect(problem).toContain(message);
    expect(problem).toMatch(/\. Send /);
  });

  test("for any time: accepts it if and only if it is at most the timeout ahead", () =>
    assert(
      property(integer({ min: -10_000_000, max: 10_000_000 }), integer({ min: 1, max: 3_600_000 }), (ahead, max) => {
        const until = timestampOf(instantOfMillis(NOW + ahead));
        const lease = readLease(JSON.stringify({ until }), NOW, max);
        if (ahead <= max) expect(lease).toBe(NOW + ahead);
        else expect(lease).toContain("'until' must be at most");
      }),
    ));

  test("for any body: returns a time or a problem, and never a time beyond the limit", () =>
    assert(
      property(
        oneof(
          string(),
          jsonValue().map((value) => JSON.stringify(value)),
          dictionary(constantFrom("until", "x"), oneof(string(), array(string()))).map((value) =>
            JSON.stringify(value),
          ),
        ),
        (body) => {
          const lease = read(body);
          if (typeof lease === "number") expect(lease).toBeLessThanOrEqual(NOW + 60_000);
          else expect(lease).not.toBe("");
        },
      ),
    ));
});

describe("the socket", () => {
  let folder: ReturnType<typeof folderWith>;
  let socket: BusySocket;
  let changes: number;

  beforeEach(async () => {
    folder = folderWith();
    changes = 0;
    socket = await BusySocket.open({ path: join(folder.path, "a.busy"), user: "own", maxMillis: 60_000 });
    socket.onLease(() => changes++);
  });
  afterEach(async () => {
    await socket.close();
    folder[Symbol.dispose]();
  });

  const call = (body: string | Buffer, { method = "POST", path = "/busy" } = {}) =>
    new Promise<{ status: number; headers: object; json: { until?: string | null; detail?: string } }>(
      (resolve, reject) => {
        const sent = request({ socketPath: socket.path, method, path }, async (response) => {
          const json = JSON.parse(await text(response));
          resolve({ status: response.statusCode ?? 0, headers: response.headers, json });
        });
        sent.once("error", reject);
        sent.end(body);
      },
    );
  const lease = (ahead: number) => call(JSON.stringify({ until: new Date(Date.now() + ahead).toISOString() }));

  test("stores a lease, extends it, shortens it and releases it", async () => {
    expect(socket.until).toBe(0);
    for (const ahead of [10_000, 50_000, 20_000]) {
      const before = Date.now();
      const { status, headers, json } = await lease(ahead);
      expect(status).toBe(200);
      expect(headers).toMatchObject({ connection: "close" });
      expect(Date.parse(json.until ?? "")).toBe(socket.until);
      expect(socket.until).toBeGreaterThanOrEqual(before + ahead);
      expect(socket.until).toBeLessThanOrEqual(Date.now() + ahead);
    }
    expect(changes).toBe(3);
    expect(await lease(-50_000)).toMatchObject({ status: 200, json: { until: null } });
    expect(changes).toBe(4);
    expect(socket.until).toBeLessThanOrEqual(Date.now());
    // The idle time begins at the release.
    expect(socket.until).toBeGreaterThan(Date.now() - 30_000);
  });

  test("a rejected request changes nothing", async () => {
    await lease(30_000);
    const { until } = socket;
    for (const [status, body, options] of [
      [400, "{}", {}],
      [400, JSON.stringify({ until: new Date(Date.now() + 120_000).toISOString() }), {}],
      [404, "{}", { path: "/" }],
      [405, "{}", { method: "PUT" }],
      [413, " ".repeat(1025), {}],
      [413, " ".repeat(500_000), {}],
    ] as const) {
      const response = await call(body, options);
      expect(response).toMatchObject({ status, json: { detail: expect.stringMatching(/Send|Use POST/) } });
      if (status === 405) expect(response.headers).toMatchObject({ allow: "POST" });
    }
    expect(socket.until).toBe(until);
    expect(changes).toBe(1);
  });

  test("continues after requests that are not HTTP, end early, or have too large a head", async () => {
    for (const bytes of [
      "no HTTP\r\n\r\n",
      "POST /busy HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{",
      `POST /busy HTTP/1.1\r\nx: ${"x".repeat(10_000)}`,
    ]) {
      const client = connect(socket.path);
      client.on("error", () => undefined);
      client.end(bytes);
      await text(client).catch(() => undefined);
    }
    expect((await lease(1000)).status).toBe(200);
    expect(changes).toBe(1);
  });

  test("rejects a new lease of an instance that is stopping, but permits a release", async () => {
    socket.refuse();
    expect(await lease(10_000)).toMatchObject({ status: 409 });
    expect(await lease(-10_000)).toMatchObject({ status: 200, json: { until: null } });
  });

  test("is accessible only to the permitted users, and leaves no file", async () => {
    expect(statSync(socket.path).mode & 0o777).toBe(0o600);
    await socket.close();
    expect(existsSync(socket.path)).toBe(false);
    const open = await BusySocket.open({ path: join(folder.path, "b.busy"), user: "any", maxMillis: 1 });
    expect(statSync(open.path).mode & 0o777).toBe(0o666);
    await open.close();
  });

  test("replaces a path that is too long for a socket, and leaves no file", async () => {
    const long = join(folder.path, "x".repeat(120));
    const other = await BusySocket.open({ path: long, user: "own", maxMillis: 60_000 });
    expect(Buffer.byteLength(other.path)).toBeLessThanOrEqual(107);
    expect(statSync(join(other.path, "..")).mode & 0o777).toBe(0o700);
    await other.close();
    expect(existsSync(join(other.path, ".."))).toBe(false);
  });

  test("rejects if the folder does not exist", async () => {
    const path = join(folder.path, "none", "a.busy");
    await expect(BusySocket.open({ path, user: "own", maxMillis: 1 })).rejects.toThrow(path);
  });
});
