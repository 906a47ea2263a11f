/** One call that reads the logs of several followers. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { SharedPrefixes } from "../../../../adapters/aws/logs/shared-streams.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { accountPrefixOf, streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import type { LogToRead } from "../../../../adapters/cloud/logs/followers.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { behind, type LogPosition } from "../../../../core/domain/logs/cursor.ts";
import { everything } from "../../../../core/domain/logs/filter/tree.ts";
import { plusMillis } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { LogScope } from "../../../../core/ports/log-store.ts";
import { logQuery, texts } from "../../../clouds/logs.ts";
import { fixedClients } from "../../../clouds/subject.ts";
import { expectOk } from "../../../contracts/support.ts";
import { inProcessClient } from "../../../fakes/aws/logs/in-process.ts";
import { createCloudWatchService } from "../../../fakes/aws/logs/service.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { runs } from "../../../support/vitest/runs.ts";

const scopeOf = (owner: string, service: string): LogScope => ({
  owner: owner as AccountId,
  service: service as DeploymentName,
});
const prefixOf = ({ owner, service }: LogScope): string => streamPrefixOf(owner, service);

const [a1, a2, b1] = [scopeOf("a", "one"), scopeOf("a", "two"), scopeOf("b", "one")];

const start = () => {
  const clock = createLeapingClock();
  const until = clock.now();
  const logOf = (scope: LogScope, lag = 0): LogToRead => ({
    scope,
    filter: everything,
    through: behind(plusMillis(until, -lag)),
  });
  return { clock, until, logOf, prefixes: new SharedPrefixes(clock) };
};

test("the prefix is the deployment, account or log group that all logs share", () => {
  const { until, logOf, prefixes } = start();
  const choose = (...scopes: readonly [LogScope, ...LogScope[]]) => {
    const [first, ...others] = scopes.map((scope) => logOf(scope));
    return prefixes.choose([first as LogToRead, ...others], until);
  };
  expect(choose(a1)).toMatchObject({ prefix: prefixOf(a1), parts: 1 });
  expect(choose(a1, a1)).toMatchObject({ prefix: prefixOf(a1), parts: 1 });
  expect(choose(a1, a2)).toMatchObject({ prefix: accountPrefixOf(a1.owner), parts: 2 });
  expect(choose(a1, b1)).toMatchObject({ prefix: "", parts: 2 });
  expect(choose(a1, a2, b1)).toMatchObject({ prefix: "", parts: 2 });
});

test("a log that is more than a minute behind is read alone", () => {
  const { until, logOf, prefixes } = start();
  const others = [logOf(a2), logOf(b1)];
  expect(prefixes.choose([logOf(a1, 61_000), ...others], until)).toMatchObject({ read: [{ scope: a1 }] });
  expect(prefixes.choose([logOf(a1, 59_000), ...others], until).read).toHaveLength(3);
});

test("a prefix that costs as many calls as its parts is not used for a minute", () => {
  const { clock, until, logOf, prefixes } = start();
  const choose = () => prefixes.choose([logOf(a1), logOf(a2), logOf(b1)], until);
  const group = choose();
  prefixes.took(group, 1, false);
  prefixes.took(group, 1, true);
  prefixes.took(group, 1, false);
  expect(choose().prefix).toBe("");
  prefixes.took(group, 1, false);
  const account = choose();
  expect(account.prefix).toBe(accountPrefixOf(a1.owner));
  prefixes.took(account, 2, false);
  expect(choose().prefix).toBe(prefixOf(a1));
  clock.pass(59_999);
  expect(choose().prefix).toBe(prefixOf(a1));
  clock.pass(1);
  expect(choose().prefix).toBe("");
});

const scopes = [a1, a2, b1];
/** Entries to write: the deployment, the milliseconds since the previous entry, and whether the platform writes it. */
const writes = () =>
  fc.array(fc.tuple(fc.constantFrom(...scopes), fc.constantFrom(0, 0, 1, 1000, 30_000), fc.boolean()), {
    minLength: 1,
    maxLength: 30,
  });

test("each follower reads what a search finds, whatever the pages contain", () =>
  fc.assert(
    fc.asyncProperty(writes(), fc.integer({ min: 1, max: 8 }), async (lines, looksAt) => {
      const clock = createLeapingClock();
      const service = createCloudWatchService({ clock, looksAt });
      let calls = 0;
      const deps = { clock, ids: randomIds, logger: silentLogger, random: () => 0.5 };
      const make = (delay = async () => {}) =>
        createAwsLogs(awsConfig, fixedClients<AwsClients>({ logs: inProcessClient(service, delay) }), deps);
      const writer = make();
      const logs = make(async () => {
        calls++;
        await clock.sleep(10);
      });
      const from = behind(clock.now());
      const query = (settleMs: number) => ({ ...logQuery(), until: plusMillis(clock.now(), -settleMs) });
      for (const scope of scopes) await expectOk(logs.after(scope, from, query(0)));

      clock.pass(1000);
      for (const [index, [scope, pause, isPlatform]] of lines.entries()) {
        clock.pass(pause);
        const text = `line ${index}`;
        // The writer's calls take no time, so that entries can share a millisecond.
        if (isPlatform) await expectOk(writer.append([{ ...scope, severity: "INFO", logName: "platform", text }]));
        else service.ingest({ stream: `${prefixOf(scope)}r-1/app/task-${index % 2}`, line: text });
      }
      const written = clock.now();
      clock.pass(500);
      calls = 0;
      const follow = async (scope: LogScope): Promise<unknown[]> => {
        const seen: unknown[] = [];
        let position: LogPosition = from;
        for (let isComplete = false; !isComplete; ) {
          const asked = query(500);
          const found = await expectOk(logs.after(scope, position, asked));
          seen.push(...texts(found.entries));
          position = found.seen ?? position;
          isComplete = !found.partial && found.entries.length === 0 && asked.until > plusMillis(written, 1);
          clock.pass(isComplete ? 0 : 1);
        }
        return seen;
      };
      const followed = await Promise.all(scopes.map(follow));
      const callsOfFollowers = calls;
      for (const [index, scope] of scopes.entries())
        expect(followed[index]).toEqual(texts((await expectOk(make().after(scope, from, query(0)))).entries));
      const isRecent = lines.reduce((sum, [, pause]) => sum + pause, 0) < 30_000;
      if (isRecent && looksAt > lines.length) expect(callsOfFollowers).toBeLessThanOrEqual(scopes.length);
    }),
    runs(200),
  ));
