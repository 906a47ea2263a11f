/** The parts of an engine that depend on the lease: the log, usage and timers, and a socket for other engines. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Handover, Lease } from "../../../adapters/local/engine/lease/lease.ts";
import { openLeasedFiles } from "../../../adapters/local/engine/lease/leased-files.ts";
import { serveEngine } from "../../../adapters/local/engine/socket/serve-engine.ts";
import { CronTimers, type StoredJob } from "../../../adapters/local/schedules/cron-timers.ts";
import { loadPrices } from "../../../adapters/local/usage/prices.ts";
import { randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { noTelemetry } from "../../../core/ports/telemetry.ts";
import { recordingLogger } from "../logs/silent-logger.ts";

export interface LeasedEngineOptions {
  readonly dataDir: string;
  /** Distinguishes the engines of a folder. */
  readonly number: number;
  readonly clock: Clock;
  /** The URL of every service. */
  readonly url?: string;
  readonly jobs?: readonly StoredJob[];
}

export const openLeasedEngine = async ({ dataDir, number, clock, url, jobs = [] }: LeasedEngineOptions) => {
  mkdirSync(join(dataDir, "logs"), { recursive: true });
  const { logger, logged } = recordingLogger();
  const telemetry = noTelemetry;
  const limits = { logRetentionDays: 30, logMaxBytes: 2 ** 30 };
  const open = () => openLeasedFiles({ dataDir, ...limits, prices: loadPrices(undefined), clock, logger, telemetry });
  const lease = new Lease({ open, clock, ids: randomIds, logger, telemetry });
  /** The entries that this engine's timers logged. */
  const entries: NewLogEntry[] = [];
  let begun = 0;
  const timers = new CronTimers({
    clock,
    logger,
    drainMillis: 10_000,
    log: (entry) => {
      entries.push(entry);
      void lease.log(entry);
    },
    onAttempt: (service, fire) => lease.storeFire(service, fire),
    onPending: (service, fire) => lease.forwardFire(service, fire),
    urlOf: () => {
      begun += 1;
      return url;
    },
  });
  timers.apply(jobs);
  const unused = () => Promise.reject(new Error("the test does not use this call"));
  const socket = await serveEngine(
    {
      ingressPort: 1,
      storagePort: 1,
      engine: { start: unused, end: unused, apply: unused, instances: unused, fire: unused, candidates: [] },
      logs: { append: () => lease.files.logs.append([]), writeAll: unused, nextEntry: unused, repair: unused },
      lease,
      checkFiles: unused,
      losesLogs: unused,
      metrics: unused,
      upgrade: unused,
    },
    join(dataDir, `${number}.sock`),
    logger,
  );
  return {
    lease,
    timers,
    entries,
    logged,
    socket: socket.path,
    /** The number of attempts whose result the timers do not know yet. */
    attempting: () => begun - entries.length,
    take: (handover?: Handover) => lease.take(timers, handover),
    close: async () => {
      await timers.close();
      await lease.close();
      await socket[Symbol.asyncDispose]();
    },
  };
};

export type LeasedEngine = Awaited<ReturnType<typeof openLeasedEngine>>;
