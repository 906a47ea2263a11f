/** The delay of a hundred schedules that are due at the same time. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEngineFile } from "../../adapters/local/engine/engine-file.ts";
import { CronTimers } from "../../adapters/local/schedules/cron-timers.ts";
import { LastFires } from "../../adapters/local/schedules/last-fires.ts";
import { createSystemClock } from "../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { type Instant, millisOf, parseInstant, timestampOf } from "../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../core/domain/wire/names.ts";
import { shiftedClock } from "../support/clocks/shifted-clock.ts";
import type { Bench } from "./bench.ts";

const SCHEDULES = 100;

export const cronLateness: Bench = {
  name: "cron-lateness",
  title: `delay until ${SCHEDULES} simultaneous fires reach their services (99th percentile)`,
  unit: "ms",
  goals: [{ at: "most", bound: 250 }],
  prepare: async () => {
    const folder = mkdtempSync(join(tmpdir(), "portside-bench-cron-"));
    const clock = shiftedClock(createSystemClock());
    let lateness: number[] = [];
    let all: (() => void) | undefined;
    const server = createServer((req, res) => {
      lateness.push(millisOf(clock.now()) - millisOf(parseInstant(String(req.headers["x-cron-time"])) ?? clock.now()));
      res.writeHead(204).end();
      if (lateness.length === SCHEDULES) all?.();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const quiet = () => undefined;
    const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
    const measure = async (): Promise<number> => {
      lateness = [];
      const fired = new Promise<void>((resolve) => {
        all = resolve;
      });
      // A second before the next full minute.
      clock.set(59_000 - (millisOf(clock.now()) % 60_000));
      const file = openEngineFile(folder, logger);
      const timers: CronTimers = new CronTimers({
        clock,
        logger,
        log: quiet,
        onPending: quiet,
        urlOf: () => url,
        drainMillis: 0,
        onAttempt: (service, fire) => timers.note(service, fire),
      });
      timers.start(new LastFires(file));
      timers.apply(
        Array.from({ length: SCHEDULES }, (_, n) => ({
          name: `app-${n}` as DeploymentName,
          owner: "acme" as AccountId,
          createdAt: timestampOf(0n as Instant),
          schedule: { cron: "* * * * *", timezone: "Europe/Paris" },
          token: "token",
          url,
          maxSeconds: 60,
        })),
      );
      await fired;
      await timers.close();
      file.close();
      return lateness.sort((a, b) => a - b)[Math.ceil(SCHEDULES * 0.99) - 1] as number;
    };
    return {
      subject: { name: "portside", measure },
      peers: [],
      [Symbol.asyncDispose]: async () => {
        server.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
