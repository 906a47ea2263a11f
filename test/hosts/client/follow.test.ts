/** Streams of the client and of the control plane continue across broken connections and temporary errors. */
import { expect, test, vi } from "vitest";
import { accountOf } from "../../../core/domain/accounts/account.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { unavailable } from "../../../core/errors.ts";
import { errAsync } from "../../../core/result.ts";
import { createClient } from "../../../hosts/client/index.ts";
import { deployed, startMemory } from "../../support/providers/memory-platform.ts";

const record = (seq: number, status: DeployEvent["status"]): DeployEvent => ({
  status,
  seq,
  message: `record ${seq}`,
  deploy_id: "d1",
  time: "2026-01-01T00:00:00+00:00",
});

const lines = (...records: readonly DeployEvent[]) =>
  new Response(records.map((one) => `${JSON.stringify(one)}\n`).join(""));

const broken = (...records: readonly DeployEvent[]) => {
  const parts = [records.map((one) => `${JSON.stringify(one)}\n`).join(""), undefined];
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const part = parts.shift();
    if (part === undefined) controller.error(new TypeError("terminated"));
    else controller.enqueue(new TextEncoder().encode(part));
  };
  return new Response(new ReadableStream<Uint8Array>({ pull }));
};

const detail = (status: number, headers = {}) => Response.json({ detail: `status ${status}` }, { status, headers });

/** A client whose requests get these responses; undefined is a failed connection. */
const clientOf = (...answers: (Response | undefined)[]) => {
  const sent: string[] = [];
  const fetch = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    init?.signal?.throwIfAborted();
    const { pathname, search } = new URL(String(url));
    sent.push(`${init?.method} ${pathname}${search} ${init?.body ?? ""}`.trim());
    if (answers.length === 0) throw new Error(`unexpected request ${sent.at(-1)}`);
    const answer = answers.shift();
    if (answer === undefined) throw new TypeError("fetch failed");
    return answer;
  };
  return { client: createClient({ url: "http://127.0.0.1:8787/", fetch }), sent };
};

test("a deploy's records continue after the last one if the connection breaks", async () => {
  const { client, sent } = clientOf(
    broken(record(1, "DEPLOYING")),
    undefined,
    detail(503),
    lines(record(2, "DEPLOYING")),
    lines(record(3, "DONE")),
  );
  const records = await Array.fromAsync(await client.restartDeployment({ name: "app" }));
  expect(records.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(sent).toEqual([
    'POST /v1/deployment/restart {"name":"app"}',
    "GET /v1/deploy/d1?after=1",
    "GET /v1/deploy/d1?after=1",
    "GET /v1/deploy/d1?after=1",
    "GET /v1/deploy/d1?after=2",
  ]);
});

test("throws `stream_lost` if the server has no records of the deploy, or responds with none", async () => {
  const lost = { code: "stream_lost", message: expect.stringContaining("'d1'"), cause: { status: 404 } };
  const { client } = clientOf(broken(record(1, "BUILDING")), detail(404));
  await expect(Array.fromAsync(await client.restartDeployment({ name: "app" }))).rejects.toMatchObject(lost);
  const { client: silent } = clientOf(lines());
  await expect(Array.fromAsync(await silent.restartDeployment({ name: "app" }))).rejects.toMatchObject({
    code: "stream_lost",
  });
});

test("a deploy's records continue after errors of a proxy and a rate limit, after the pause of Retry-After", async () => {
  const { client } = clientOf(
    broken(record(1, "DEPLOYING")),
    detail(502),
    detail(429, { "retry-after": "30" }),
    detail(504),
    lines(record(2, "DONE")),
  );
  const pauses: unknown[] = [];
  const { setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(((done: () => void, millis: number) => {
    pauses.push(millis);
    return setTimeout(done, 0);
  }) as typeof setTimeout);
  const records = await Array.fromAsync(await client.restartDeployment({ name: "app" })).finally(() =>
    spy.mockRestore(),
  );
  expect(records.map(({ seq }) => seq)).toEqual([1, 2]);
  expect(pauses).toEqual([500, 1000, 30_000, 2000]);
});

test("throws the platform's error if the deploy's records need a different credential", async () => {
  const { client } = clientOf(broken(record(1, "BUILDING")), detail(401));
  await expect(Array.fromAsync(await client.restartDeployment({ name: "app" }))).rejects.toMatchObject({
    code: "unauthenticated",
    message: "status 401 Check the API key.",
  });
});

test("followDeploy ends with the reason of the signal", async () => {
  const stop = new AbortController();
  const { client } = clientOf(broken(record(1, "DEPLOYING")));
  const follow = async () => {
    for await (const _ of client.followDeploy({ deploy_id: "d1" }, { signal: stop.signal }))
      stop.abort(new Error("left"));
  };
  await expect(follow()).rejects.toThrow("left");
});

const page = (cursor: string, ...messages: readonly string[]) =>
  Response.json({ logs: messages.map((message) => ({ message })), cursor });

const html = () => new Response("<h1>Welcome</h1>");

test("followLogs continues from the cursor across failed connections, broken bodies and rate limits", async () => {
  const stop = new AbortController();
  const { client, sent } = clientOf(
    page("c1", "one"),
    undefined,
    html(),
    page("c2", "two"),
    broken(),
    detail(429, { "retry-after": "0" }),
    page("c3", "three"),
  );
  const seen: string[] = [];
  const follow = async () => {
    const rows = client.followLogs({ deployment_name: "app", limit: 10 }, { signal: stop.signal });
    for await (const { message } of rows) if (seen.push(message) === 3) stop.abort(new Error("left"));
  };
  await expect(follow()).rejects.toThrow("left");
  expect(seen).toEqual(["one", "two", "three"]);
  const from = (since?: string) =>
    `POST /v1/deployment/logs ${JSON.stringify({ deployment_name: "app", limit: 10, since, wait: 20 })}`;
  expect(sent).toEqual([from(), ...Array(3).fill(from("c1")), ...Array(3).fill(from("c2"))]);
});

const unknownWait = () =>
  Response.json(
    { detail: [{ loc: ["body", "wait"], msg: "unknown field 'wait'", type: "extra_forbidden" }] },
    { status: 422 },
  );

test("followLogs continues without `wait` if the platform does not know the field", async () => {
  const { client, sent } = clientOf(unknownWait(), page("c1", "one"), page("c2", "two"), detail(404));
  const rows = Array.fromAsync(client.followLogs({ deployment_name: "app", limit: 1 }));
  await expect(rows).rejects.toMatchObject({ status: 404 });
  const asked = sent.map((text) => JSON.parse(text.replace(/^[^{]*/, "")));
  expect(asked.map(({ wait, since }) => [wait, since])).toEqual([
    [20, undefined],
    [undefined, undefined],
    [undefined, "c1"],
    [undefined, "c2"],
  ]);
});

test("followLogs throws if the platform rejects another field, or rejects `wait` in a request without it", async () => {
  const invalid = Response.json({ detail: [{ loc: ["body", "query"], msg: "wrong", type: "x" }] }, { status: 422 });
  for (const answers of [[invalid], [unknownWait(), unknownWait()]]) {
    const { client } = clientOf(...answers, detail(404));
    const rows = Array.fromAsync(client.followLogs({ deployment_name: "app" }));
    await expect(rows).rejects.toMatchObject({ status: 422 });
  }
});

test("followLogs throws an error that a retry would not fix", async () => {
  const { client } = clientOf(detail(404));
  await expect(Array.fromAsync(client.followLogs({ deployment_name: "app" }))).rejects.toMatchObject({ status: 404 });
});

test("the control plane follows a deploy from any record, and reports an unknown one", async () => {
  const platform = startMemory();
  const records = await deployed(platform);
  const { controlPlane, principal } = platform;
  const deploy_id = records[0]?.deploy_id ?? "";
  const items = await Array.fromAsync(controlPlane.followDeploy(principal(), { deploy_id, after: 1 }));
  expect(items.map((item) => item._unsafeUnwrap())).toEqual(records.slice(1));
  const none = await Array.fromAsync(controlPlane.followDeploy(principal(), { deploy_id: "none" }));
  expect(none.map((item) => item._unsafeUnwrapErr().kind)).toEqual(["not_found"]);
});

test("the control plane follows a log while it is unavailable, until the signal aborts", async () => {
  let failures = 2;
  const platform = startMemory({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        newest: (...args) => (failures-- > 0 ? errAsync(unavailable("down", 1)) : logs.newest(...args)),
        append: (...args) => logs.append(...args),
        after: (...args) => logs.after(...args),
      },
    }),
  });
  const { controlPlane, clock } = platform;
  await deployed(platform);
  const stop = new AbortController();
  const principal = { account: accountOf("acme"), credentialId: "test" };
  const rows = controlPlane.followLogs(principal, { deployment_name: "app" }, { signal: stop.signal });
  const first = rows[Symbol.asyncIterator]();
  const wanted = first.next();
  for (let tick = 0; tick < 5; tick++) await clock.advance(1000);
  expect((await wanted).value._unsafeUnwrap().log_name).toBe("platform");
  stop.abort();
  for await (const row of { [Symbol.asyncIterator]: () => first }) expect(row.isOk()).toBe(true);
});

test("the last item of a followed log is an error that a retry would not fix", async () => {
  const { controlPlane, principal } = startMemory();
  const items = await Array.fromAsync(controlPlane.followLogs(principal(), { deployment_name: "none" }));
  expect(items.map((item) => item._unsafeUnwrapErr().kind)).toEqual(["not_found"]);
});
