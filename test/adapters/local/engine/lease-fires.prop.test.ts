/** However the lease moves between engines, each fire of a schedule happens once, with each of its retries. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, test } from "vitest";
import { logPath } from "../../../../adapters/local/logs/log-path.ts";
import type { StoredJob } from "../../../../adapters/local/schedules/cron-timers.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import {
  type Instant,
  parseInstant,
  plusMillis,
  type Timestamp,
  timestampOf,
} from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { ENGINES, LeasedEngines } from "../../../support/engine/leased-engines.ts";
import { eventually } from "../../../support/vitest/eventually.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

const owner = "acme" as AccountId;
const createdAt = "2026-01-01T00:00:00+00:00" as Timestamp;
const job: StoredJob = {
  owner,
  name: "app" as DeploymentName,
  createdAt,
  token: "token",
  url: "unused",
  maxSeconds: 60,
  schedule: { cron: "* * * * *", timezone: "UTC" },
};

interface Minute {
  /** How many attempts of the minute's fire fail. */
  readonly failures: number;
  /** The second at which the lease moves, if it moves. */
  readonly moveAt: number | undefined;
  readonly moveSeconds: number;
  /** True if the service responds only after the move. */
  readonly isHeld: boolean;
  readonly to: number;
}

const minute: fc.Arbitrary<Minute> = fc.record({
  failures: fc.nat(4),
  // Often at a time at which a fire is due.
  moveAt: fc.option(fc.oneof(fc.constant(0), fc.nat(40)), { nil: undefined }),
  moveSeconds: fc.nat(15),
  isHeld: fc.boolean(),
  to: fc.nat(ENGINES - 1),
});

interface Fire {
  attempts: number;
  readonly failures: number;
}

/** A service that counts the attempts of each fire. */
const openCronService = async () => {
  const fires = new Map<string, Fire>();
  const plan = { failures: 0, isHolding: false };
  const held: (() => void)[] = [];
  const server = createServer((request, response) => {
    const scheduled = String(request.headers["x-cron-time"]);
    const fire = fires.get(scheduled) ?? { attempts: 0, failures: plan.failures };
    fires.set(scheduled, fire);
    const status = ++fire.attempts <= fire.failures ? 500 : 204;
    const respond = () => void response.writeHead(status).end();
    if (plan.isHolding) held.push(respond);
    else respond();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    fires,
    plan,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The number of attempts that wait for a response. */
    holding: () => held.length,
    respondToAll: () => {
      plan.isHolding = false;
      for (const respond of held.splice(0)) respond();
    },
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};

const open = async () => {
  await using stack = new AsyncDisposableStack();
  const cron = stack.use(await openCronService());
  const clock = createManualClock("2025-12-31T23:59:59Z");
  const engines = stack.use(await LeasedEngines.open({ clock, url: cron.url, jobs: [job] }));
  const kept = stack.move();
  /** Waits for the results of all attempts that the service does not hold. */
  const settle = () =>
    eventually(() => {
      expect(engines.all.reduce((sum, one) => sum + one.attempting(), 0)).toBe(cron.holding());
    });
  const pass = async (seconds: number) => {
    for (let left = seconds; left > 0; left--) {
      await clock.advance(1000);
      await settle();
    }
  };
  /** Waits until the holder has all reports. */
  const deliver = async () => {
    await settle();
    await eventually(() => expect(engines.others.map(({ lease }) => lease.waiting)).toEqual([0, 0]));
    await settle();
  };
  return { cron, clock, engines, pass, deliver, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

type Opened = Awaited<ReturnType<typeof open>>;

const runMinute = async ({ cron, engines, pass, deliver }: Opened, one: Minute): Promise<void> => {
  const { failures, moveAt = 60, moveSeconds, isHeld, to } = one;
  const moves = moveAt < 60 && to !== engines.holder;
  Object.assign(cron.plan, { failures, isHolding: isHeld && moves });
  if (!moves) return pass(60);
  await pass(moveAt);
  await engines.move(to, () => pass(moveSeconds));
  cron.respondToAll();
  await deliver();
  for (let left = 60 - moveAt - moveSeconds; left > 0; left--) {
    await pass(1);
    await deliver();
  }
};

type LoggedAttempt = Readonly<Record<"scheduled" | "attempt" | "status" | "message", string | number>>;

/** Returns the attempts in the order of the log. */
const readLog = (dataDir: string): readonly LoggedAttempt[] => {
  using db = new DatabaseSync(logPath(join(dataDir, "logs"), owner), { readOnly: true });
  const rows = db.prepare("SELECT json FROM entries ORDER BY ns, ord").all() as { json: string }[];
  return rows.map(({ json }) => JSON.parse(json));
};

const readLastFire = (dataDir: string): unknown => {
  using db = new DatabaseSync(join(dataDir, "engine.sqlite"), { readOnly: true });
  return JSON.parse(String(db.prepare("SELECT fire FROM last_fires").get()?.["fire"]));
};

/** Checks that the log has each attempt once, and that the fire ended with a success or without a further retry. */
const checkFire = (logged: readonly LoggedAttempt[], { attempts, failures }: Fire): void => {
  expect(logged.map(({ attempt }) => attempt)).toEqual(Array.from({ length: attempts }, (_, at) => at + 1));
  if (attempts > failures) expect(logged.at(-1)).toMatchObject({ status: 204 });
  else expect(logged.at(-1)).toMatchObject({ status: 500, message: expect.stringMatching("no more retries") });
};

test(
  "each fire happens once, with each of its retries",
  async () => {
    const first = parseInstant("2026-01-01T00:00:00Z") as Instant;
    await fc.assert(
      fc.asyncProperty(fc.array(minute, { minLength: 2, maxLength: 5 }), async (minutes) => {
        await using opened = await open();
        const { engines, cron } = opened;
        for (const one of minutes) await runMinute(opened, one);
        await engines.close();
        const log = readLog(engines.dataDir);
        const expected = minutes.map((_, at) => timestampOf(plusMillis(first, at * 60_000)));
        expect([...cron.fires.keys()]).toEqual(expected);
        for (const [scheduled, fire] of cron.fires)
          checkFire(
            log.filter((one) => one.scheduled === scheduled),
            fire,
          );
        expect(log).toHaveLength([...cron.fires.values()].reduce((sum, { attempts }) => sum + attempts, 0));
        const { scheduled, attempt, status } = log.at(-1) as LoggedAttempt;
        expect(readLastFire(engines.dataDir)).toEqual({ at: scheduled, attempts: attempt, status });
        expect(engines.all.flatMap(({ logged }) => logged)).toEqual([]);
      }),
      runs(15),
    );
  },
  within(),
);
