/** Reads the spending that services report in their logs, page by page. */
import { type CostKey, costGroupOf, usageFilterOf } from "../../../core/domain/usage/cost.ts";
import { readUsage } from "../../../core/domain/usage/usage.ts";
import type { UsageSums } from "../../../core/domain/usage/usage-sums.ts";
import { type Instant, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { Client } from "../../client/client.ts";
import { LOG_PAGE } from "../logs/follow.ts";
import { LogReader } from "../logs/reader.ts";
import type { Io } from "../terminal/io.ts";
import type { CostPeriod } from "./period.ts";

/**
 * Adds up a deployment's usage lines in the period. Uses the log's timestamps, which services cannot set.
 * Resolves to the number of invalid lines.
 */
export const addUsageOf = async (
  client: Client,
  io: Io,
  deployment: string,
  period: CostPeriod,
  key: CostKey,
  sums: UsageSums,
  onLines: (count: number) => void,
): Promise<number> => {
  const reader = new LogReader(client, io, deployment, usageFilterOf(period));
  let unreadable = 0;
  for (let since: string | undefined; ; ) {
    const { logs, cursor, partial } = await reader.page({ since, limit: LOG_PAGE });
    for (const { message, timestamp } of logs) {
      const usage = readUsage(message);
      if (usage === undefined) unreadable++;
      else sums.add(costGroupOf(key, deployment, parseInstant(timestamp) as Instant, usage), usage);
    }
    onLines(logs.length);
    if (logs.length < LOG_PAGE && !partial) return unreadable;
    since = cursor;
  }
};
