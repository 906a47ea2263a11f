/** A deploy's stream: records arrive as they happen, clients resume from any record, and the deploy needs no client. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { serveHeld } from "../../../support/http/held-api.ts";
import { deployForm, openRecords } from "../../../support/http/record-stream.ts";
import { detailOf } from "../../../support/http/refusals.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const form = (name = "app") => deployForm({ function_name: name, volumes: "{}" }, sourceOf({ "index.js": "run()" }));

const statuses = (records: readonly { status: string }[]): string[] => records.map(({ status }) => status);

test("records arrive while the deploy runs, each on its own line", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
  expect(stream.status).toBe(200);
  expect(stream.headers.get("content-type")).toBe("application/x-ndjson");
  expect(stream.headers.get("cache-control")).toBe("no-store");
  expect(await stream.next()).toMatchObject({ status: "BUILDING", message: "Deploying as 'app'", seq: 1 });
  await held.waiting;
  expect(await stream.next()).toMatchObject({ status: "BUILDING", message: "Waiting for the test", seq: 2 });
  held.release();
  const rest = await stream.rest();
  expect(statuses(rest).at(-1)).toBe("DONE");
  expect(statuses(rest)).toContain("DEPLOYING");
});

test("a record has exactly its fields, and seq increases by one", async () => {
  await using platform = await serveHeld();
  platform.held.release();
  const stream = await openRecords(platform.api, "/v1/deploy", { key: platform.key, form: form() });
  const records = await stream.rest();
  const fields = ["deploy_id", "message", "seq", "status", "time"];
  for (const [index, record] of records.entries()) {
    const last = record.status === "DONE" ? ["url"] : [];
    expect(Object.keys(record).sort()).toEqual([...fields, ...last].sort());
    expect(record.seq).toBe(index + 1);
    expect(record.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6}|\.\d{9})?\+00:00$/);
  }
  expect(new Set(records.map(({ deploy_id }) => deploy_id)).size).toBe(1);
});

describe("a resumed stream", () => {
  test("from any record, during and after the deploy, misses nothing", async () => {
    await using platform = await serveHeld();
    const { api, key, held } = platform;
    const first = await openRecords(api, "/v1/deploy", { key, form: form() });
    const { deploy_id: id } = await first.next();
    await held.waiting;
    const [all, rest] = await Promise.all([
      openRecords(api, `/v1/deploy/${id}`, { key }),
      openRecords(api, `/v1/deploy/${id}?after=2`, { key }),
    ]);
    held.release();
    const seen = await all.rest();
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1));
    expect(await rest.rest()).toEqual(seen.slice(2));
    expect([seen[0], ...(await first.rest())]).toEqual(seen);
    for (const after of [0, 1, seen.length - 1, seen.length, seen.length + 100]) {
      const later = await openRecords(api, `/v1/deploy/${id}?after=${after}`, { key });
      expect(await later.rest()).toEqual(seen.slice(after));
    }
  });

  test("sends the response head immediately without new records", async () => {
    await using platform = await serveHeld();
    const { api, key, held } = platform;
    const first = await openRecords(api, "/v1/deploy", { key, form: form() });
    const { deploy_id: id } = await first.next();
    await held.waiting;
    // Resolves with the head; the build is not released before that.
    const following = await openRecords(api, `/v1/deploy/${id}?after=2`, { key });
    expect(following.status).toBe(200);
    held.release();
    expect(statuses(await following.rest()).at(-1)).toBe("DONE");
    await first.rest();
  });

  test("is available for an hour after the deploy has ended, and then returns 404", async () => {
    const clock = createManualClock();
    await using platform = await serveHeld({ clock });
    const { api, key, held } = platform;
    held.release();
    const [{ deploy_id: id }] = await (await openRecords(api, "/v1/deploy", { key, form: form() })).rest();
    await clock.advance(59 * 60_000);
    expect((await api.call("GET", `/v1/deploy/${id}`)).status).toBe(200);
    await clock.advance(60_000);
    expect(detailOf(await api.call("GET", `/v1/deploy/${id}`), 404)).toContain(id);
    expect((await api.call("GET", "/v1/deployment/list")).json[0].last_deploy).toMatchObject({
      deploy_id: id,
      status: "DONE",
    });
  });
});

describe("a client that disconnects", () => {
  test("does not end the deploy", async () => {
    await using platform = await serveHeld();
    const { api, key, held } = platform;
    const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
    const { deploy_id: id } = await stream.next();
    await held.waiting;
    stream.hangUp();
    held.release();
    const again = await openRecords(api, `/v1/deploy/${id}`, { key });
    const records = await again.rest();
    expect(statuses(records).at(-1)).toBe("DONE");
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  });

  test("does not end the deploy either if it is one of a hundred followers", async () => {
    await using platform = await serveHeld();
    const { api, key, held } = platform;
    const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
    const { deploy_id: id } = await stream.next();
    await held.waiting;
    const following = await Promise.all(
      Array.from({ length: 100 }, () => openRecords(api, `/v1/deploy/${id}`, { key })),
    );
    for (const one of following) one.hangUp();
    held.release();
    expect(statuses(await stream.rest()).at(-1)).toBe("DONE");
  });
});

test("a silent step repeats its status every 15 seconds", async () => {
  const clock = createManualClock();
  await using platform = await serveHeld({ clock });
  const { api, key, held } = platform;
  const stream = await openRecords(api, "/v1/deploy", { key, form: form() });
  await held.waiting;
  await stream.next();
  await stream.next();
  for (const seq of [3, 4, 5]) {
    await clock.advance(15_000);
    expect(await stream.next()).toMatchObject({ status: "BUILDING", message: "Still: Waiting for the test", seq });
  }
  held.release();
  expect(statuses(await stream.rest()).at(-1)).toBe("DONE");
});

test("deploys of the same name wait for each other, and report it immediately", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const first = await openRecords(api, "/v1/deploy", { key, form: form() });
  await held.waiting;
  const second = await openRecords(api, "/v1/deploy", { key, form: form() });
  expect(await second.next()).toMatchObject({ status: "BUILDING", seq: 1 });
  expect(await second.next()).toMatchObject({ message: "Waiting for an earlier deploy of 'app'" });
  held.release();
  expect(statuses(await first.rest()).at(-1)).toBe("DONE");
  expect(statuses(await second.rest()).at(-1)).toBe("DONE");
});

test("returns 503 with Retry-After over the limit of queued deploys, and stores nothing", async () => {
  await using platform = await serveHeld();
  const { api, key, held } = platform;
  const streams = [];
  for (let n = 0; n < 6; n++) streams.push(await openRecords(api, "/v1/deploy", { key, form: form() }));
  await held.waiting;
  const answer = await api.call("POST", "/v1/deploy", { key, body: form() });
  detailOf(answer, 503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  held.release();
  for (const stream of streams) expect(statuses(await stream.rest()).at(-1)).toBe("DONE");
  await eventually(async () => expect((await api.call("GET", "/v1/deployment/list")).json).toHaveLength(1));
});
