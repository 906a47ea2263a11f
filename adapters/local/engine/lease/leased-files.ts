/** The files that only the engine with the lease may open: the logs, `billing.sqlite` and `engine.sqlite`. */
import { join } from "node:path";
import type { Clock, Logger } from "../../../../core/ports/system.ts";
import type { Telemetry } from "../../../../core/ports/telemetry.ts";
import { canWriteInThread, LogThread } from "../../logs/log-thread.ts";
import { type EngineLogs, LogWriter } from "../../logs/log-writer.ts";
import { LastFires } from "../../schedules/last-fires.ts";
import { openBillingFile } from "../../usage/billing-file.ts";
import { Ledger } from "../../usage/ledger.ts";
import type { Prices } from "../../usage/prices.ts";
import { RollupWriter } from "../../usage/rollups.ts";
import { openEngineFile } from "../engine-file.ts";

export interface LeasedFilesOptions {
  readonly dataDir: string;
  readonly logRetentionDays: number;
  readonly logMaxBytes: number;
  /**
   * Whether a separate thread must write the logs. Defaults to false. Has no effect in a bundle, which lacks the
   * thread's script.
   */
  readonly logsInThread?: boolean;
  readonly prices: Prices;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

export interface LeasedFiles {
  readonly logs: EngineLogs;
  readonly ledger: Ledger;
  readonly lastFires: LastFires;
  readonly rollups: RollupWriter;
  /** Replaces `billing.sqlite` and `engine.sqlite` if they are damaged. */
  check(): void;
  close(): Promise<void>;
}

export const openLeasedFiles = (options: LeasedFilesOptions): LeasedFiles => {
  const { dataDir, clock, logger, telemetry, prices, logRetentionDays: retentionDays, logMaxBytes: maxBytes } = options;
  using stack = new DisposableStack();
  const engineFile = openEngineFile(dataDir, logger);
  stack.defer(() => engineFile.close());
  const billingFile = openBillingFile(dataDir, logger);
  stack.defer(() => billingFile.close());
  const lastFires = new LastFires(engineFile);
  const config = { folder: join(dataDir, "logs"), clock, logger, telemetry, retentionDays, maxBytes };
  const logs = options.logsInThread && canWriteInThread ? new LogThread(config) : new LogWriter(config);
  const files = stack.move();
  return {
    logs,
    ledger: new Ledger({ file: billingFile, prices, logger }),
    lastFires,
    rollups: new RollupWriter(engineFile, clock, logger),
    check: () => {
      for (const one of [billingFile, engineFile]) one.check();
    },
    close: async () => {
      await logs.close();
      files.dispose();
    },
  };
};
