/** Reads the spending that services report in their logs, page by page. */
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import { readUsage, USAGE_FILTER, type Usage } from "../../../core/domain/usage/usage.ts";
import type { UsageKey, UsageSums } from "../../../core/domain/usage/usage-sums.ts";
import { type Instant, instantOfMillis, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Client } from "../../client/client.ts";
import { LOG_PAGE } from "../logs/follow.ts";
import { LogReader } from "../logs/reader.ts";
import type { Io } from "../terminal/io.ts";
import type { CostPeriod } from "./period.ts";

/** The key that groups usage lines; defaults to the deployment that logged them. */
export type CostKey = UsageKey | "deployment";

const DAY_MS = 86_400_000;

const groupOf = (key: CostKey, deployment: string, usage: Usage): string | null =>
  key === "deployment" ? deployment : usage[key];

const filterOf = ({ from, to }: CostPeriod): string =>
  `timestamp>="${timestampOf(from)}" AND timestamp<"${timestampOf(to)}" AND ${USAGE_FILTER}`;

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
  const reader = new LogReader(client, io, deployment, filterOf(period));
  let unreadable = 0;
  for (let since: string | undefined; ; ) {
    const { logs, cursor, partial } = await reader.page({ since, limit: LOG_PAGE });
    for (const { message } of logs) {
      const usage = readUsage(message);
      if (usage === undefined) unreadable++;
      else sums.add(groupOf(key, deployment, usage), usage);
    }
    onLines(logs.length);
    if (logs.length < LOG_PAGE && !partial) return unreadable;
    since = cursor;
  }
};

/**
 * Returns whether the log still covers the whole period. Entries expire after `retentionDays`, so a deployment that is
 * younger than that has lost no entries. If `deployment` is undefined (deleted), assumes that it existed during the
 * whole period.
 */
export const isComplete = (
  period: CostPeriod,
  deployment: Pick<Deployment, "created_at"> | undefined,
  retentionDays: number,
  now: number,
): boolean => {
  const oldestKept = instantOfMillis(now - retentionDays * DAY_MS);
  const born: Instant | undefined = deployment === undefined ? undefined : parseInstant(deployment.created_at);
  const begins = born !== undefined && born > period.from ? born : period.from;
  return begins >= oldestKept;
};
