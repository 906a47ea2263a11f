/** The engine and the server communicate over a Unix socket. */
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { createServer, request, type ServerResponse } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import { batchSender } from "../../../../adapters/local/engine/socket/batch-sender.ts";
import { connectEngine } from "../../../../adapters/local/engine/socket/connect-engine.ts";
import { inputs, MAX_BODY } from "../../../../adapters/local/engine/socket/protocol.ts";
import { type ServedEngine, serveEngine } from "../../../../adapters/local/engine/socket/serve-engine.ts";
import { clientPath } from "../../../../adapters/local/engine/socket/socket-path.ts";
import { TooManyFires } from "../../../../adapters/local/schedules/too-many-fires.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { InstanceStatus } from "../../../../core/domain/deploy/instance-status.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { needs } from "../../../support/vitest/machine.ts";
import { runs } from "../../../support/vitest/runs.ts";

const candidate = {
  name: "app" as DeploymentName,
  createdAt: "2026-01-01T00:00:00+00:00" as Timestamp,
  revision: "app-00001",
};
const entry: NewLogEntry = {
  owner: "acme" as AccountId,
  service: candidate.name,
  severity: "INFO",
  logName: "platform",
  json: { event: "deploy", message: "line\u2028separator" },
};

const instance: InstanceStatus = {
  id: "i1",
  revision: candidate.revision,
  state: "ready",
  startedAt: candidate.createdAt,
  memoryBytes: 1024,
  cpuPercent: null,
};

const fakeEngine = () => {
  const candidates: (typeof candidate)[] = [];
  const served = {
    ingressPort: 1234,
    storagePort: 1235,
    engine: {
      start: vi.fn<ServedEngine["engine"]["start"]>(async () => undefined),
      end: vi.fn<ServedEngine["engine"]["end"]>(async () => undefined),
      apply: vi.fn<ServedEngine["engine"]["apply"]>(async () => ({ ports: { app: 4000 } })),
      fire: vi.fn<ServedEngine["engine"]["fire"]>(async () => true),
      instances: vi.fn<ServedEngine["engine"]["instances"]>(async () => [instance]),
      get candidates() {
        return [...candidates];
      },
    },
    logs: {
      append: vi.fn<ServedEngine["logs"]["append"]>(() => okAsync(undefined)),
      writeAll: vi.fn<ServedEngine["logs"]["writeAll"]>(async () => undefined),
      nextEntry: vi.fn<ServedEngine["logs"]["nextEntry"]>(async () => undefined),
      repair: vi.fn<ServedEngine["logs"]["repair"]>(async () => undefined),
    },
    lease: { receive: vi.fn<ServedEngine["lease"]["receive"]>(async () => true) },
    checkFiles: vi.fn<ServedEngine["checkFiles"]>(async () => undefined),
    losesLogs: vi.fn<ServedEngine["losesLogs"]>(async () => true),
    metrics: vi.fn<ServedEngine["metrics"]>(async () => [{ name: "a" }]),
    upgrade: vi.fn<ServedEngine["upgrade"]>(async () => 4711),
  };
  return { served, candidates };
};

const open = async () => {
  const folder = folderWith();
  const { served, candidates } = fakeEngine();
  const socket = await serveEngine(served, join(folder.path, "engine.sock"), silentLogger);
  onTestFinished(async () => {
    await socket[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  return { ...served, candidates, path: socket.path, close: () => socket[Symbol.asyncDispose]() };
};

const connected = async (path: string, onEnd?: () => void) => {
  const remote = await connectEngine(path, onEnd);
  onTestFinished(() => remote[Symbol.dispose]());
  return remote;
};

const starting = (signal = new AbortController().signal, say: (message: string) => void = () => undefined) => ({
  listenMillis: 1000,
  signal,
  say,
});

test("passes every call with its input and its result", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  expect([remote.ingressPort, remote.storagePort]).toEqual([1234, 1235]);
  expect(await remote.engine.start(candidate, starting())).toBeUndefined();
  expect(engine.engine.start.mock.calls[0]?.[0]).toEqual(candidate);
  const failure = { reason: "crashed", message: "It crashed.", exitCode: 3, logTail: ["a\u2028b"] } as const;
  engine.engine.start.mockResolvedValueOnce(failure);
  expect(await remote.engine.start(candidate, starting())).toEqual(failure);
  await remote.engine.end(candidate);
  expect(engine.engine.end).toHaveBeenCalledWith(candidate);
  expect(await remote.engine.apply()).toEqual({ ports: { app: 4000 } });
  const ours = { name: candidate.name, owner: entry.owner };
  expect(await remote.engine.instances(ours)).toEqual([instance]);
  expect(await remote.engine.fire(ours, "f1")).toBe(true);
  expect(engine.engine.fire).toHaveBeenCalledWith(ours, "f1");
  engine.engine.fire.mockResolvedValueOnce(false);
  expect(await remote.engine.fire(ours, "f2")).toBe(false);
  engine.engine.fire.mockRejectedValueOnce(new TooManyFires());
  await expect(remote.engine.fire(ours, "f3")).rejects.toThrow(TooManyFires);
  expect(engine.engine.instances).toHaveBeenCalledWith(ours);
  expect((await remote.logs.append([entry])).isOk()).toBe(true);
  expect(engine.logs.append).toHaveBeenCalledWith([entry]);
  engine.logs.append.mockReturnValueOnce(errAsync(unavailable("The log cannot be written.", 5)));
  expect((await remote.logs.append([entry])).isErr()).toBe(true);
  await remote.logs.writeAll(entry.owner);
  expect(engine.logs.writeAll).toHaveBeenCalledWith("acme");
  const unaborted = new AbortController().signal;
  await remote.logs.nextEntry({ owner: entry.owner, service: candidate.name }, unaborted);
  expect(engine.logs.nextEntry.mock.calls[0]?.[0]).toEqual({ owner: "acme", service: candidate.name });
  await remote.logs.repair(entry.owner, "1:2");
  expect(engine.logs.repair).toHaveBeenCalledWith("acme", "1:2");
  await remote.checkFiles();
  expect(engine.checkFiles).toHaveBeenCalledOnce();
  expect(await remote.losesLogs()).toBe(true);
  expect(await remote.metrics()).toEqual([{ name: "a" }]);
});

const service = { owner: entry.owner, name: candidate.name, createdAt: candidate.createdAt };
const batch: Parameters<ReturnType<typeof batchSender>>[0] = {
  sender: "one",
  number: 1,
  reports: [
    { kind: "entry", at: "1767225600000000001", entry: { ...entry, json: { ...entry.json, ["__proto__"]: { a: 1 } } } },
    {
      kind: "usage",
      increments: [{ owner: "acme", deployment: "app", day: "2026-01-01", sku: "cpu", grains: "9".repeat(19) }],
    },
    { kind: "fire", service, fire: { at: candidate.createdAt, status: null, attempts: 4, fireId: "f1" } },
    { kind: "retry", service, fire: { scheduled: "-1", attempts: 0, at: "0" } },
    { kind: "retry", service, fire: { scheduled: "1", attempts: 1, at: "2", fireId: "f1" } },
  ],
};

test("passes a batch of every kind of report, and reports whether the engine took it", async () => {
  const engine = await open();
  const send = batchSender(engine.path);
  const { signal } = new AbortController();
  expect(await send(batch, signal)).toBe(true);
  expect(engine.lease.receive).toHaveBeenCalledWith(batch);
  engine.lease.receive.mockResolvedValueOnce(false);
  expect(await send(batch, signal)).toBe(false);
  engine.lease.receive.mockRejectedValueOnce(new Error("a bug"));
  await expect(send(batch, signal)).rejects.toThrow("The engine failed.");
  engine.lease.receive.mockImplementationOnce(async () => {
    await engine.close();
    return true;
  });
  expect(await send(batch, signal)).toBe(false);
  expect(await send(batch, signal)).toBe(false);
});

test("drops only an entry that JSON cannot represent", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  expect((await remote.logs.append([{ ...entry, json: { big: 1n } }, entry])).isOk()).toBe(true);
  expect(engine.logs.append).toHaveBeenCalledWith([entry]);
});

test("reports progress in order, before the result", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  engine.engine.start.mockImplementationOnce(async (_candidate, { say }) => {
    for (let n = 0; n < 100; n++) say(`step ${n}`);
    return undefined;
  });
  const said: string[] = [];
  await remote.engine.start(
    candidate,
    starting(undefined, (message) => said.push(message)),
  );
  expect(said).toEqual(Array.from({ length: 100 }, (_, n) => `step ${n}`));
});

test("a failed call fails with a message, and the next one works", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  engine.engine.apply.mockRejectedValueOnce(new Error("a secret detail"));
  await expect(remote.engine.apply()).rejects.toThrow("The engine failed. Its log has the cause.");
  expect(await remote.engine.apply()).toEqual({ ports: { app: 4000 } });
});

test("consecutive calls use one connection", async () => {
  using folder = folderWith();
  const path = join(folder.path, "engine.sock");
  const connections = new Set<unknown>();
  const server = createServer((request, response) => {
    connections.add(request.socket);
    // The response ends later than its last line.
    response.write('{"result":true}\n', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  const send = batchSender(path);
  for (let n = 0; n < 5; n++) expect(await send(batch, new AbortController().signal)).toBe(true);
  expect(connections.size).toBe(1);
});

test("an aborted start is aborted in the engine, and ends as interrupted", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  const abort = new AbortController();
  const inEngine = Promise.withResolvers<void>();
  engine.engine.start.mockImplementationOnce(async (_candidate, { signal }) => {
    abort.abort();
    await vi.waitFor(() => expect(signal.aborted).toBe(true));
    inEngine.resolve();
    return undefined;
  });
  expect(await remote.engine.start(candidate, starting(abort.signal))).toMatchObject({ reason: "interrupted" });
  await inEngine.promise;
});

test("ends candidates ten seconds after their server died, and no newer ones", async () => {
  const engine = await open();
  const remote = await connected(engine.path);
  engine.candidates.push(candidate);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  remote[Symbol.dispose]();
  while (vi.getTimerCount() === 0) await new Promise(setImmediate);
  const newer = { ...candidate, revision: "app-00002" };
  engine.candidates.push(newer);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(engine.engine.end).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(engine.engine.end.mock.calls).toEqual([[candidate]]);
});

test("the server learns that the engine has ended, and its calls fail", async () => {
  const engine = await open();
  const onEnd = vi.fn();
  const remote = await connected(engine.path, onEnd);
  const begun = Promise.withResolvers<void>();
  engine.engine.apply.mockImplementationOnce(() => {
    begun.resolve();
    return new Promise(() => undefined);
  });
  const pending = remote.engine.apply();
  const failed = expect(pending).rejects.toThrow(/^The engine /);
  await begun.promise;
  await engine.close();
  await failed;
  expect(onEnd).toHaveBeenCalledOnce();
  await expect(remote.engine.apply()).rejects.toThrow("The engine does not answer the call 'apply'");
  expect((await remote.logs.append([entry])).isErr()).toBe(true);
});

test("the end of the engine is reported before the call that it interrupts fails", async () => {
  using folder = folderWith();
  const path = join(folder.path, "engine.sock");
  const sessions: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === "/hello") response.end('{"result":{"protocol":1,"ingressPort":1,"storagePort":2}}\n');
    else if (request.url === "/session") sessions.push(response.writeHead(200)) && response.write('{"say":""}\n');
    else {
      request.socket.destroy();
      setTimeout(() => sessions[0]?.destroy(), 50);
    }
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  const order: string[] = [];
  const remote = await connected(path, () => order.push("end"));
  await remote.engine.start(candidate, starting()).catch(() => order.push("failed"));
  expect(order).toEqual(["end", "failed"]);
});

test("refuses an engine of another protocol version, and a socket of another program", async () => {
  using folder = folderWith();
  const path = join(folder.path, "engine.sock");
  let answer: unknown = { protocol: 2, ingressPort: 1, storagePort: 2 };
  const server = createServer((_request, response) => response.end(`${JSON.stringify({ result: answer })}\n`));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => void server.close());
  await expect(connectEngine(path)).rejects.toThrow("version 2 of its protocol, but this server speaks version 1");
  answer = { hello: "world" };
  await expect(connectEngine(path)).rejects.toThrow("belongs to another program");
  await expect(connectEngine(join(folder.path, "nothing.sock"))).rejects.toThrow("does not answer");
});

test("only the engine's user can connect", async (context) => {
  const engine = await open();
  expect(statSync(engine.path).mode & 0o777).toBe(0o600);
  needs(context, "root");
  const script = `require("net").connect(${JSON.stringify(engine.path)})
    .on("connect", () => process.exit(0)).on("error", ({ code }) => { console.log(code); process.exit(1); })`;
  const { stdout } = spawnSync(process.execPath, ["-e", script], {
    uid: 65_534,
    gid: 65_534,
    encoding: "utf8",
    cwd: "/",
  });
  expect(stdout.trim()).toBe("EACCES");
});

test("uses a private temporary folder if the path is too long for a socket, and a link to it", async () => {
  using folder = folderWith({ [`${"x".repeat(100)}/file`]: "" });
  const { served } = fakeEngine();
  const wanted = join(folder.path, "x".repeat(100), "engine.sock");
  await using socket = await serveEngine(served, wanted, silentLogger);
  expect(socket.path.length).toBeLessThan(104);
  expect(statSync(join(socket.path, "..")).mode & 0o777).toBe(0o700);
  expect(clientPath(wanted)).toBe(socket.path);
  using remote = await connectEngine(clientPath(wanted));
  expect(remote.ingressPort).toBe(1234);
});

/** Sends raw bytes, and resolves when the engine closes the connection or the bytes are sent. */
const send = (path: string, bytes: Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(path, () => socket.end(bytes));
    socket.on("error", () => undefined);
    socket.on("data", () => undefined);
    socket.on("close", () => resolve());
  });

const post = (path: string, name: string, body: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request({ socketPath: path, path: name, method: "POST" }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    sent.once("error", reject);
    sent.end(body);
  });

const asText = (value: Uint8Array) => Buffer.from(value).toString("latin1");

test("answers valid calls after arbitrary bytes", async () => {
  const engine = await open();
  const names = Object.keys(inputs).filter((name) => name !== "session");
  const head = fc
    .constantFrom(...names)
    .chain((name) =>
      fc.nat(10_000_000_000).map((length) => `POST /${name} HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`),
    );
  const bytes = fc.uint8Array({ maxLength: 500 });
  const noise = fc.oneof(
    bytes,
    fc.tuple(head, bytes).map(([text, rest]) => Buffer.concat([Buffer.from(text), rest])),
  );
  await fc.assert(
    fc.asyncProperty(noise, async (one) => {
      await send(engine.path, one);
      expect(await post(engine.path, "/losesLogs", "{}"), asText(one)).toBe(200);
    }),
    runs(200),
  );
});

test("rejects unknown calls and inputs of the wrong shape without calling the engine", async () => {
  const engine = await open();
  const names = ["start", "end", "append", "writeAll", "repair", "push"];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), fc.jsonValue(), async (name, input) => {
      expect(await post(engine.path, `/${name}`, JSON.stringify(input))).toBe(400);
    }),
    runs(200),
  );
  const change = fc.record({ at: fc.nat(batch.reports.length - 1), value: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(change, async ({ at, value }) => {
      const reports = batch.reports.with(at, value as (typeof batch.reports)[number]);
      expect(await post(engine.path, "/push", JSON.stringify({ ...batch, reports }))).toBe(400);
    }),
    runs(200),
  );
  for (const one of [{ number: 0 }, { number: 1.5 }, { sender: 1 }, { more: true }])
    expect(await post(engine.path, "/push", JSON.stringify({ ...batch, ...one }))).toBe(400);
  expect(await post(engine.path, "/start", "{")).toBe(400);
  for (const name of ["/", "/constructor", "/__proto__", "/start/x", "/../start"])
    expect(await post(engine.path, name, "{}"), name).toBe(404);
  expect(await post(engine.path, "/append", `{"entries":["${"x".repeat(MAX_BODY)}"]}`)).toBe(413);
  const { start, end } = engine.engine;
  const { append, writeAll, repair } = engine.logs;
  for (const one of [start, end, append, writeAll, repair, engine.lease.receive]) expect(one).not.toHaveBeenCalled();
});
