/** The fake Cloud Logging behaves as its proto says, as seen by the official client. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type FakeLogging, startFakeLogging } from "../../../fakes/gcp/logging/server.ts";
import { takeViolations } from "../../../fakes/gcp/requests/violations.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";

const clock = createLeapingClock();
let fake: FakeLogging;
beforeAll(async () => {
  fake = await startFakeLogging({ clock });
});
afterAll(() => fake.close());

const once = { autoPaginate: false, retry: null } as const;
const list = (request: object) =>
  fake.client.listLogEntries({ resourceNames: ["projects/test-project"], ...request }, once);
const logName = "projects/test-project/logs/one";
const resource = { type: "global", labels: {} };
const write = (entries: readonly object[], more: object = {}) =>
  fake.client.writeLogEntries({ logName, resource, labels: { a: "1" }, entries, ...more }, { retry: null });

test("completes entries, keeps the order of a request, and stores one entry per insertId", async () => {
  await write([{ textPayload: "first" }, { textPayload: "second", labels: { a: "2" } }]);
  await write([
    { textPayload: "third", insertId: "x", timestamp: { seconds: String(clock.now() / 1_000_000_000n), nanos: 9 } },
    { textPayload: "third", insertId: "x", timestamp: { seconds: String(clock.now() / 1_000_000_000n), nanos: 9 } },
  ]);
  const [entries] = await list({});
  expect(entries.map((entry: { textPayload: string }) => entry.textPayload)).toEqual(["first", "second", "third"]);
  expect(entries.map((entry: { labels: object }) => entry.labels)).toEqual([{ a: "1" }, { a: "2" }, { a: "1" }]);
  const [backwards] = await list({ orderBy: "timestamp desc", filter: 'labels.a="1"' });
  expect(backwards.map((entry: { textPayload: string }) => entry.textPayload)).toEqual(["third", "first"]);
});

test("pages with tokens that are valid only for their query", async () => {
  await write(Array.from({ length: 120 }, (_, n) => ({ textPayload: `page ${n}` })));
  const [first, , answer] = await list({ filter: "page" });
  expect(first).toHaveLength(50);
  const pageToken = answer?.nextPageToken;
  const [second] = await list({ filter: "page", pageToken });
  expect(second[0].textPayload).toBe("page 50");
  await expect(list({ filter: "other", pageToken })).rejects.toMatchObject({ code: 3 });
});

test("rejects what the proto does not allow", async () => {
  for (const request of [
    { pageSize: 1001 },
    { pageSize: -1 },
    { orderBy: "severity" },
    { filter: "(" },
    { filter: "x".repeat(20_001) },
    { resourceNames: [] },
  ])
    await expect(list(request), JSON.stringify(request).slice(0, 40)).rejects.toMatchObject({ code: 3 });
  expect(takeViolations()).toEqual([
    "gRPC /google.logging.v2.LoggingServiceV2/ListLogEntries: resourceNames: missing required field",
  ]);
  await expect(write([{ textPayload: "x" }], { logName: "nonsense" })).rejects.toMatchObject({ code: 3 });
  await expect(write([{ textPayload: "x".repeat(300_000) }])).rejects.toMatchObject({ code: 3 });
});

test("with partialSuccess, writes the valid entries of a request; without it, none", async () => {
  const mixed = [{ textPayload: "good one" }, { textPayload: "x".repeat(300_000) }];
  await expect(write(mixed)).rejects.toMatchObject({ code: 3 });
  expect((await list({ filter: '"good one"' }))[0]).toHaveLength(0);
  await expect(write(mixed, { partialSuccess: true })).rejects.toMatchObject({ code: 3 });
  expect((await list({ filter: '"good one"' }))[0]).toHaveLength(1);
  await write([{ textPayload: "never kept" }], { dryRun: true });
  expect((await list({ filter: '"never kept"' }))[0]).toHaveLength(0);
});

test("injects faults before or after the effect", async () => {
  for (const [kind, code] of [
    ["unavailable", 14],
    ["permission_denied", 7],
    ["resource_exhausted", 8],
  ] as const) {
    fake.faults.inject({ nth: 1, kind });
    await expect(write([{ textPayload: `lost ${kind}` }])).rejects.toMatchObject({ code });
  }
  fake.faults.inject({ nth: 1, kind: "reply_lost" });
  await expect(write([{ textPayload: "kept but unheard" }])).rejects.toMatchObject({ code: 14 });
  expect((await list({ filter: '"lost"' }))[0]).toHaveLength(0);
  expect((await list({ filter: '"unheard"' }))[0]).toHaveLength(1);
});
