/** Logs in Cloud Logging: the rate of calls, late and failing calls, and entries from services' lines. */
import { afterEach, describe, expect, test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import type { GcpConfig } from "../../../../adapters/gcp/config.ts";
import { createGcpLogs } from "../../../../adapters/gcp/logs/store.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { LogPosition } from "../../../../core/domain/logs/cursor.ts";
import { plusMillis } from "../../../../core/domain/wire/instant.ts";
import { logQuery, logReadTests, platformEntry, START, scope, texts } from "../../../clouds/logs.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { logStoreCases, type ProviderSubject } from "../../../contracts/index.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { messageOfLine } from "../../../fakes/gcp/logging/ingest.ts";
import { type FakeLogging, startFakeLogging } from "../../../fakes/gcp/logging/server.ts";
import type { FakeLoggingOptions } from "../../../fakes/gcp/logging/service.ts";
import { gcpConfig, PROJECT, REGION } from "../../../fakes/gcp/test-project.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

const LIST = "LoggingServiceV2.ListLogEntries";
const WRITE = "LoggingServiceV2.WriteLogEntries";

let fakes: FakeLogging[] = [];
afterEach(async () => {
  await Promise.all(fakes.map((fake) => fake.close()));
  fakes = [];
});

const start = async (options: Partial<FakeLoggingOptions> = {}, config: Partial<GcpConfig> = {}) => {
  const clock = createLeapingClock();
  const fake = await startFakeLogging({ clock, ...options });
  fakes.push(fake);
  const deps = { clock, ids: randomIds, logger: silentLogger };
  const make = (more: Partial<GcpConfig> = {}) =>
    createGcpLogs({ ...gcpConfig, ...config, ...more }, fixedClients<GcpClients>({ logging: fake.client }), deps);
  const line = (text: string, stream: "stdout" | "stderr" = "stdout", owner: AccountId = scope.owner) =>
    fake.ingest({
      service: scope.service,
      revision: "app-00001",
      instance: "i-1",
      stream,
      line: text,
      labels: { "portside-owner": accountDigest(owner) },
    });
  return { clock, fake, logs: make(), make, line };
};

logReadTests(LIST, start);

describe("calls", () => {
  test("takes one call for a page without a filter or a filtered poll without matches, two for a poll with matches", async () => {
    const { fake, logs, line } = await start();
    for (const text of ["a timeout", "b", "c"]) line(text);
    await expectOk(logs.newest(scope, logQuery()));
    expect(fake.faults.count(LIST)).toBe(1);
    const { seen } = await expectOk(logs.after(scope, START, logQuery("timeout")));
    expect(fake.faults.count(LIST)).toBe(3);
    expect(await expectOk(logs.after(scope, seen as LogPosition, logQuery("timeout")))).toEqual({
      entries: [],
      partial: false,
    });
    expect(fake.faults.count(LIST)).toBe(4);
    await expectOk(logs.newest(scope, logQuery("resource.labels.service_name=other")));
    expect(fake.faults.count(LIST)).toBe(5);
  });

  test("takes one call to write a thousand entries, and pushes filters down", async () => {
    const { fake, logs } = await start();
    await expectOk(
      logs.append(Array.from({ length: 1000 }, (_, n) => platformEntry(`line ${n} ${n % 500 === 0 ? "x" : ""}`))),
    );
    expect(fake.faults.count(WRITE)).toBe(1);
    expect(texts((await expectOk(logs.after(scope, START, logQuery('textPayload:" x"')))).entries)).toHaveLength(2);
    expect(fake.faults.count(LIST)).toBe(2);
  });
});

describe("the quota", () => {
  test("is never exceeded, however many clients read", async () => {
    const { clock, fake, logs, line } = await start({ readsPerMinute: 60 });
    line("a timeout");
    let found = 0;
    for (let n = 0; n < 60; n++) {
      const asks = Array.from({ length: 5 }, (_, one) => logQuery(`timeout ${one}`, { timeoutMs: 0 }));
      const reads = await Promise.all(asks.map((query) => logs.newest(scope, query)));
      found += reads.filter((read) => read.isOk()).length;
      clock.pass(2000);
    }
    // Two minutes allow 100 reads while no client follows a log. Each search takes two.
    expect([found > 30, fake.refused()]).toEqual([true, 0]);
  });

  test("if it runs out during a search, the search returns its matches so far, and the next one continues", async () => {
    const { clock, logs, line, make } = await start({ looksAt: 4 }, { logReadsPerMinute: 2 });
    for (let n = 0; n < 10; n++) line(`line ${n}`);
    const first = await expectOk(logs.after(scope, START, logQuery("", { timeoutMs: 0 })));
    expect(first.partial).toBe(true);
    clock.pass(60_000);
    const second = await expectOk(logs.after(scope, first.seen as LogPosition, logQuery("", { timeoutMs: 30_000 })));
    expect(second.partial).toBe(true);
    const third = await expectOk(make({ logReadsPerMinute: 60 }).after(scope, second.seen as LogPosition, logQuery()));
    expect([first, second, third].flatMap(({ entries }) => texts(entries))).toEqual(
      Array.from({ length: 10 }, (_, n) => `line ${n}`),
    );
  });
});

test("reads only entries of the platform's region", async () => {
  const { fake, logs, line } = await start();
  line("here");
  fake.ingestEntries([
    messageOfLine(
      { project: PROJECT, region: "us-east1" },
      {
        service: scope.service,
        revision: "app-00001",
        instance: "i-1",
        stream: "stdout",
        line: "elsewhere",
        labels: { "portside-owner": accountDigest(scope.owner) },
      },
    ),
  ]);
  expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual(["here"]);
});

describe("order", () => {
  for (const ties of ["ascending", "as listed"] as const)
    test(`orders entries of the same nanosecond by id, for newest and after a position, ties ${ties}`, async () => {
      const { clock, fake, logs } = await start({ ties, looksAt: 3 }, { logReadsPerMinute: 1000 });
      const stamp = { seconds: String(clock.now() / 1_000_000_000n), nanos: 7 };
      const ids = ["a", "b", "c", "d", "e", "f", "g", "h"];
      fake.ingestEntries(
        ids.toReversed().map((insertId) => ({
          logName: "projects/test-project/logs/run.googleapis.com%2Fstdout",
          insertId,
          timestamp: stamp,
          resource: { type: "cloud_run_revision", labels: { location: REGION, service_name: scope.service } },
          labels: { "portside-owner": accountDigest(scope.owner) },
          severity: "INFO",
          payload: "textPayload",
          textPayload: insertId,
          httpRequest: null,
          trace: "",
        })),
      );
      expect(texts((await expectOk(logs.newest(scope, logQuery("", { limit: 3 })))).entries)).toEqual(["f", "g", "h"]);
      const all = (await expectOk(logs.after(scope, START, logQuery()))).entries;
      expect(texts(all)).toEqual(ids);
      for (const [index, entry] of all.entries())
        for (const filter of ["", "severity=INFO"])
          expect(texts((await expectOk(logs.after(scope, entry, logQuery(filter)))).entries)).toEqual(
            ids.slice(index + 1),
          );
    });

  test("does not skip late entries for a reader that waits for the settle window", async () => {
    const { clock, logs, line } = await start({ visibleAfter: 8000 });
    const received: string[] = [];
    let place: LogPosition = START;
    for (let second = 0; second < 60; second++) {
      if (second < 40) line(`line ${second}`);
      clock.pass(1000);
      const until = plusMillis(clock.now(), -10_000);
      const { entries, seen } = await expectOk(logs.after(scope, place, logQuery("", { until })));
      received.push(...(texts(entries) as string[]));
      place = seen ?? place;
    }
    expect(received).toEqual(Array.from({ length: 40 }, (_, n) => `line ${n}`));
  });

  test("continues after an empty page of a listing", async () => {
    const { logs, line } = await start({ looksAt: 1 });
    line("theirs", "stdout", "other" as AccountId);
    line("theirs", "stdout", "other" as AccountId);
    line("mine");
    expect(texts((await expectOk(logs.after(scope, START, logQuery("", { timeoutMs: 0 })))).entries)).toEqual(["mine"]);
  });
});

describe("faults", () => {
  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("retries after a transient fault, and writes nothing twice", async () => {
    const { fake, logs } = await start();
    for (const kind of passing) {
      fake.faults.inject({ method: WRITE, nth: 1, kind });
      await expectOk(logs.append([platformEntry(kind)]));
      for (const nth of [1, 2]) {
        fake.faults.inject({ method: LIST, nth, kind });
        expect(texts((await expectOk(logs.newest(scope, logQuery("INFO")))).entries).at(-1)).toBe(kind);
      }
    }
    expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual([...passing]);
  });

  test("fails with `unavailable` on a permanent fault, with a retry-after", async () => {
    const { fake, logs } = await start();
    for (let nth = 1; nth <= 40; nth++) fake.faults.inject({ nth, kind: "resource_exhausted" });
    expect(await expectError(logs.newest(scope, logQuery()))).toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 5,
    });
    fake.faults.clear();
    fake.faults.inject({ nth: 1, kind: "permission_denied" });
    expect(await expectError(logs.append([platformEntry("x")]))).toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 60,
    });
    expect(fake.entries()).toEqual([]);
  });

  test("drops an entry that is too large, and keeps the others", async () => {
    const { logs } = await start();
    await expectOk(
      logs.append([platformEntry("before"), platformEntry("x".repeat(300 * 1024)), platformEntry("behind")]),
    );
    expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual(["before", "behind"]);
  });

  test("applies a filter that Cloud Logging rejects to the results only", async () => {
    const { fake, logs, line } = await start();
    for (const text of ["a timeout", "b"]) line(text);
    const long = `(${Array.from({ length: 600 }, (_, n) => `textPayload:"timeout ${n} ${"x".repeat(10)}"`).join(" OR ")} OR textPayload:"timeout")`;
    expect(texts((await expectOk(logs.newest(scope, logQuery(long)))).entries)).toEqual(["a timeout"]);
    expect(fake.faults.count(LIST)).toBe(2);
  });
});

describe("a service's lines", () => {
  test("have the severity that they contain, as on every provider", async () => {
    const { logs, line } = await start();
    line('{"severity":"warning","message":"a"}');
    line('{"level":"error","message":"b"}');
    line('{"level":30,"message":"c"}');
    line("plain");
    line("bad", "stderr");
    const { entries } = await expectOk(logs.newest(scope, logQuery()));
    expect(entries.map(({ severity }) => severity)).toEqual(["WARNING", "ERROR", "INFO", "DEFAULT", "ERROR"]);
    expect(entries[0]).toMatchObject({ logName: "stdout", revision: "app-00001", instance: "i-1" });
    const severe = await expectOk(logs.newest(scope, logQuery("severity>=ERROR")));
    expect(texts(severe.entries)).toEqual(['{"level":"error","message":"b"}', "bad"]);
  });

  test("belong to the account of their label, whatever the service's name", async () => {
    const { fake, logs, line } = await start();
    line("mine");
    line("theirs", "stdout", "other" as AccountId);
    fake.ingest({ service: "app", revision: "r", instance: "i", stream: "stdout", line: "unowned", labels: {} });
    const { entries } = await expectOk(logs.newest(scope, logQuery('"mine" OR "theirs" OR "unowned"')));
    expect(texts(entries)).toEqual(["mine"]);
  });
});

describe("a request to a service", () => {
  test("is an entry with its method, status and latency", async () => {
    const { fake, logs } = await start();
    const labels = { "portside-owner": accountDigest(scope.owner) };
    const served = { method: "POST", url: "https://app.run.app/cron", status: 503, latencySeconds: 1.25 };
    fake.ingestRequest({ service: "app", revision: "r", instance: "i", labels, ...served });
    const { entries } = await expectOk(
      logs.newest(scope, logQuery("httpRequest.status>=500 httpRequest.requestUrl:cron")),
    );
    expect(entries).toMatchObject([
      { logName: "requests", severity: "ERROR", http: { requestMethod: "POST", status: 503, latency: "1.250s" } },
    ]);
  });
});

describe("the suite rejects", () => {
  const broken = async (change: (request: { filter: string; orderBy: string }) => object): Promise<number> => {
    const deps = runtimeDeps();
    const fake = await startFakeLogging(deps);
    fakes.push(fake);
    const logging = {
      writeLogEntries: (request: object, options: object) => fake.client.writeLogEntries(request, options),
      listLogEntries: (request: { filter: string; orderBy: string }, options: object) =>
        fake.client.listLogEntries(change(request), options),
    } as unknown as GcpClients["logging"];
    const logs = createGcpLogs(
      { ...gcpConfig, logReadsPerMinute: 1_000_000 },
      fixedClients<GcpClients>({ logging }),
      deps,
    );
    const subject: ProviderSubject = providerWith("gcp", { logs });
    let failed = 0;
    for (const one of logStoreCases) await one.run(subject).catch(() => failed++);
    return failed;
  };
  test("nothing if nothing is broken", async () => expect(await broken((request) => request)).toBe(0));
  test("a search that ignores the account", async () =>
    expect(
      await broken((request) => ({
        ...request,
        filter: request.filter.replace(/labels\."portside-owner"="\w+" AND /, ""),
      })),
    ).toBeGreaterThan(0));
  test("a listing in a different order", async () =>
    expect(await broken((request) => ({ ...request, orderBy: "timestamp asc" }))).toBeGreaterThan(0));
});
