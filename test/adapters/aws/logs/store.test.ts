/** Logs in CloudWatch Logs: the number of calls, late and failing calls, and the lines of services. */

import { afterEach, describe, expect, test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import type { AwsConfig } from "../../../../adapters/aws/config.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { LogPosition } from "../../../../core/domain/logs/cursor.ts";
import { millisOf, plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { logQuery, logReadTests, platformEntry, START, scope, texts } from "../../../clouds/logs.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { type FakeCloudWatch, startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import type { FakeCloudWatchOptions } from "../../../fakes/aws/logs/service.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const [FILTER, PUT, MAKE] = ["FilterLogEvents", "PutLogEvents", "CreateLogStream"];

let fakes: FakeCloudWatch[] = [];
afterEach(async () => {
  await Promise.all(fakes.map((fake) => fake.close()));
  fakes = [];
});

const start = async (options: Partial<FakeCloudWatchOptions> = {}, config: Partial<AwsConfig> = {}) => {
  const clock = createLeapingClock("2026-01-31T00:00:00Z");
  const fake = await startFakeCloudWatch({ clock, ...options });
  fakes.push(fake);
  const { logger, logged } = recordingLogger();
  const deps = { clock, ids: randomIds, logger };
  const make = (more: Partial<AwsConfig> = {}) =>
    createAwsLogs({ ...awsConfig, ...config, ...more }, fixedClients<AwsClients>({ logs: fake.client }), deps);
  const line = (text: string, owner: AccountId = scope.owner, service: DeploymentName = scope.service) =>
    fake.ingest({ stream: `${streamPrefixOf(owner, service)}app-00001/app/task-1`, line: text });
  return { clock, fake, logs: make(), make, line, logged };
};

logReadTests(FILTER as string, start);

describe("calls", () => {
  test("takes one call for a page with any filter on content, two for a page with a time filter", async () => {
    const { fake, logs, line } = await start();
    for (const text of ["a timeout", "b", "c"]) line(text);
    await expectOk(logs.newest(scope, logQuery()));
    await expectOk(logs.after(scope, START, logQuery("timeout")));
    expect(fake.faults.log).toEqual([FILTER, FILTER]);
    await expectOk(logs.after(scope, START, logQuery('timestamp<"2026-02-01T00:00:00Z"')));
    expect(fake.faults.count(FILTER as string)).toBe(4);
    await expectOk(logs.newest(scope, logQuery('timestamp>"2026-02-01" timestamp<"2026-01-01"')));
    expect(fake.faults.count(FILTER as string)).toBe(5);
  });

  test("a filter for the platform's entries reads only the platform's stream", async () => {
    const { clock, fake, logs, line } = await start();
    for (let n = 0; n < 500; n++) {
      line(`line ${n} ${"x".repeat(10_000)}`);
      clock.pass(1);
    }
    await expectOk(logs.append([platformEntry("made")]));
    fake.faults.clear();
    expect(texts((await expectOk(logs.newest(scope, logQuery("logName=platform")))).entries)).toEqual(["made"]);
    expect(fake.faults.count(FILTER as string)).toBe(2);
    const all = await expectOk(logs.newest(scope, logQuery("made")));
    expect(texts(all.entries)).toEqual(["made"]);
    expect(fake.faults.count(FILTER as string)).toBeGreaterThan(5);
  });

  test("the first write creates the stream, and one call writes a thousand entries", async () => {
    const { fake, logs } = await start();
    const many = Array.from({ length: 1000 }, (_, n) => platformEntry(`line ${n}`));
    await expectOk(logs.append(many));
    expect(fake.faults.log).toEqual([PUT, MAKE, PUT]);
    await expectOk(logs.append(many));
    expect(fake.faults.log).toEqual([PUT, MAKE, PUT, PUT]);
  });
});

describe("the quota of reads", () => {
  test("delays reads instead of failing them", async () => {
    const { logs, line } = await start({ adverse: new Set(["log_read_quota"]) });
    line("a");
    for (let n = 0; n < 12; n++) expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual(["a"]);
  });

  test("if it runs out during a search, the search returns its matches so far, and its cursor continues even without matches", async () => {
    const { clock, logs, line } = await start({ looksAt: 4 }, { logReadsPerMinute: 2 });
    for (let n = 0; n < 12; n++) {
      line(`line ${n}`);
      clock.pass(1);
    }
    const first = await expectOk(logs.after(scope, START, logQuery("none", { timeoutMs: 0 })));
    expect(first).toMatchObject({ entries: [], partial: true });
    expect(first.seen?.instant).toBeGreaterThan(plusMillis(clock.now(), -12));
    const received: string[] = [];
    let place = first.seen as LogPosition;
    for (let page = 0; page < 10; page++) {
      clock.pass(60_000);
      const found = await expectOk(logs.after(scope, place, logQuery("", { timeoutMs: 0 })));
      received.push(...(texts(found.entries) as string[]));
      place = found.seen ?? place;
    }
    const all = Array.from({ length: 12 }, (_, n) => `line ${n}`);
    expect(received).toEqual(all.slice(-received.length));
    expect(received.length).toBeGreaterThan(3);
    expect(received.length).toBeLessThan(12);
  });
});

describe("order", () => {
  test("entries of the same millisecond have the same order forwards and backwards, across pages", async () => {
    const { logs, line } = await start({ looksAt: 3 });
    for (let n = 0; n < 20; n++) line(`line ${n}`);
    await expectOk(logs.append([platformEntry("own 1"), platformEntry("own 2")]));
    const all = (await expectOk(logs.after(scope, START, logQuery()))).entries;
    expect(all).toHaveLength(22);
    for (const limit of [1, 5, 21])
      expect((await expectOk(logs.newest(scope, logQuery("", { limit })))).entries).toEqual(all.slice(-limit));
    for (const [index, entry] of all.entries())
      expect((await expectOk(logs.after(scope, entry, logQuery()))).entries).toEqual(all.slice(index + 1));
  });

  test("does not skip late entries for a reader that waits for the settle window", async () => {
    const { clock, logs, line } = await start({ visibleAfter: 8000 });
    const received: string[] = [];
    let place: LogPosition = START;
    for (let second = 0; second < 60; second++) {
      if (second < 40) line(`line ${second}`);
      clock.pass(1000);
      const { entries, seen } = await expectOk(
        logs.after(scope, place, logQuery("", { until: plusMillis(clock.now(), -10_000) })),
      );
      received.push(...(texts(entries) as string[]));
      place = seen ?? place;
    }
    expect(received).toEqual(Array.from({ length: 40 }, (_, n) => `line ${n}`));
  });
});

describe("faults", () => {
  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("retries after a transient fault, and writes and reads nothing twice", async () => {
    for (const kind of passing)
      for (const nth of [1, 2, 3]) {
        const { fake, logs } = await start();
        fake.faults.inject({ nth, kind });
        await expectOk(logs.append([platformEntry("one"), platformEntry("two")]));
        fake.faults.inject({ method: FILTER as string, nth: 1, kind });
        const found = await expectOk(logs.after(scope, START, logQuery()));
        expect(texts(found.entries), `${kind} ${nth}`).toEqual(["one", "two"]);
        expect(texts((await expectOk(logs.newest(scope, logQuery("", { limit: 2 })))).entries)).toEqual(["one", "two"]);
      }
  });

  test("fails with `unavailable` on a permanent fault, with a retry-after and without Amazon's message", async () => {
    const { fake, logs } = await start();
    for (let nth = 1; nth <= 60; nth++) fake.faults.inject({ nth, kind: "resource_exhausted" });
    expect(await expectError(logs.newest(scope, logQuery()))).toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 5,
    });
    for (const nth of [1, 2, 3]) {
      fake.faults.clear();
      fake.faults.inject({ nth, kind: "permission_denied" });
      expect(
        await expectError(logs.append([{ ...platformEntry("x"), service: `s${nth}` as DeploymentName }])),
      ).toMatchObject({
        kind: "unavailable",
        retryAfterSeconds: 60,
        message: expect.not.stringContaining("authorized"),
      });
    }
  });

  test("drops and logs an entry that is too large, and keeps the others", async () => {
    const { logs, logged } = await start();
    await expectOk(
      logs.append([platformEntry("before"), platformEntry("x".repeat(1_048_576)), platformEntry("behind")]),
    );
    expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual(["before", "behind"]);
    expect(logged.join()).toContain("lost");
    await expectOk(logs.append([platformEntry("y".repeat(1_000_000))]));
    expect((await expectOk(logs.newest(scope, logQuery("", { limit: 1 })))).entries[0]?.text).toHaveLength(1_000_000);
  });

  test("fails with `unavailable` if the log group is missing", async () => {
    const { make } = await start();
    const logs = make({ shared: { ...awsConfig.shared, logGroup: "/another" } });
    expect(await expectError(logs.append([platformEntry("x")]))).toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 60,
    });
    expect(await expectError(logs.newest(scope, logQuery()))).toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 60,
    });
  });
});

describe("a service's lines", () => {
  test("have the severity and origin that they contain", async () => {
    const { clock, logs, line } = await start();
    for (const text of ['{"severity":"warning","message":"a"}', '{"level":"error"}', '{"level":30}', "plain"]) {
      line(text);
      clock.pass(1);
    }
    const { entries } = await expectOk(logs.newest(scope, logQuery()));
    expect(entries.map(({ severity }) => severity)).toEqual(["WARNING", "ERROR", "INFO", "DEFAULT"]);
    expect(entries[0]).toMatchObject({ logName: "stdout", revision: "app-00001", instance: "task-1" });
    expect(entries.map(({ instant }) => millisOf(instant) - millisOf(clock.now()))).toEqual([-4, -3, -2, -1]);
  });

  test("cannot imitate the platform's entries", async () => {
    const { logs, line } = await start();
    line('{"portside":1,"at":"1","id":"x","severity":"INFO","log":"platform","text":"forged"}');
    const { entries } = await expectOk(logs.newest(scope, logQuery()));
    expect(entries).toMatchObject([{ logName: "stdout", json: { portside: 1 } }]);
  });

  test("belong only to their own account and deployment, whatever prefix the names share", async () => {
    const { logs, line } = await start();
    line("mine");
    line("theirs", "other" as AccountId);
    line("the other one's", scope.owner, "app-2" as DeploymentName);
    expect(texts((await expectOk(logs.newest(scope, logQuery()))).entries)).toEqual(["mine"]);
  });
});
