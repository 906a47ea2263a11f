/** Reports of an account's costs: the model costs in the logs, and the provider's charges for infrastructure. */
import { z } from "zod";
import { type Instant, instantOfMillis, parseInstant, timestampOf } from "../wire/instant.ts";
import { type Decimal, decimalText, parseDecimal, plus, zero } from "./decimal.ts";
import { dayOf, type Period, periodOfDay } from "./month.ts";
import { USAGE_FILTER, type Usage } from "./usage.ts";
import { type Group, noUsage, type UsageSum, type UsageSums, usageKeys } from "./usage-sums.ts";

export const costKeys = ["day", "deployment", ...usageKeys] as const;
/** The key that groups costs. */
export type CostKey = (typeof costKeys)[number];

const DAY_MS = 86_400_000;

/** Returns the group of a usage line. Uses the log's timestamp, which services cannot set. */
export const costGroupOf = (key: CostKey, deployment: string, instant: Instant, usage: Usage): Group =>
  key === "deployment" ? deployment : key === "day" ? dayOf(instant) : usage[key];

/** Returns the log filter for the usage lines of a period. */
export const usageFilterOf = ({ from, to }: Period): string =>
  `timestamp>="${timestampOf(from)}" AND timestamp<"${timestampOf(to)}" AND ${USAGE_FILTER}`;

/**
 * Returns whether the log still covers the whole period. Entries expire after `retentionDays`, so a younger deployment
 * has lost no entries. If `deployment` is undefined (deleted), assumes that it existed during the whole period.
 */
export const isComplete = (
  period: Pick<Period, "from">,
  deployment: { readonly created_at: string } | undefined,
  retentionDays: number,
  now: number,
): boolean => {
  const oldestKept = instantOfMillis(now - retentionDays * DAY_MS);
  const born = deployment === undefined ? undefined : parseInstant(deployment.created_at);
  const begins = born !== undefined && born > period.from ? born : period.from;
  return begins >= oldestKept;
};

/** Returns the UTC days that the period overlaps, oldest first. */
export const daysOf = ({ from, to }: Period): string[] => {
  const days: string[] = [];
  for (let next = from; next < to; ) {
    const day = dayOf(next);
    days.push(day);
    next = periodOfDay(day).to;
  }
  return days;
};

/** Returns whether the period contains the whole UTC day. */
const containsDay = ({ from, to }: Period, day: string): boolean => {
  const whole = periodOfDay(day);
  return whole.from >= from && whole.to <= to;
};

/** The logs that a cost report reads. */
export interface CostSource {
  /** Must not end in the future. */
  readonly period: Pick<Period, "from" | "to">;
  /** The deployments whose logs the report contains. `created_at` is absent for deleted ones. */
  readonly deployments: readonly { readonly name: string; readonly created_at?: string }[];
  readonly retentionDays: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Returns whether the logs of all deployments still cover the time since the start of `begins`. */
const covers = ({ deployments, retentionDays, now }: CostSource, begins: Pick<Period, "from">): boolean =>
  deployments.every(({ created_at }) =>
    isComplete(begins, created_at === undefined ? undefined : { created_at }, retentionDays, now),
  );

/** Returns whether the logs still cover the whole period. */
export const coversPeriod = (source: CostSource): boolean => covers(source, source.period);

/** Returns whether the period contains the whole UTC day, and the logs still cover the day. */
export const coversDay = (source: CostSource, day: string): boolean =>
  containsDay(source.period, day) && covers(source, periodOfDay(day));

/** The keys that group the charges for infrastructure. */
export type ChargeKey = "day" | "deployment";

/** A charge for infrastructure. */
export interface Charge {
  /** Null for a charge without a deployment, such as a tax. */
  readonly group: Group;
  readonly currency: string;
  readonly cost: Decimal;
}

/** Returns the SQL statement for the charges that overlap the period. A row of `billing` covers up to a day. */
export const chargesStatement = ({ from, to }: Period, key: ChargeKey): string =>
  `SELECT ${key === "day" ? "usage_start_time" : "resource.name"} AS charged, currency, SUM(cost) AS cost FROM billing
   WHERE usage_end_time > TIMESTAMP '${timestampOf(from)}' AND usage_start_time < TIMESTAMP '${timestampOf(to)}'
   GROUP BY charged, currency ORDER BY charged, currency`;

/** Parses a row of `chargesStatement`. Returns undefined if the row has no cost. */
export const chargeOf = (key: ChargeKey, charged: unknown, currency: unknown, cost: unknown): Charge | undefined => {
  const start = key === "day" ? parseInstant(String(charged)) : undefined;
  const group = key === "day" ? (start === undefined ? null : dayOf(start)) : charged;
  const amount = parseDecimal(String(cost));
  return amount === undefined
    ? undefined
    : { group: typeof group === "string" ? group : null, currency: String(currency), cost: amount };
};

const amountSchema = z.object({
  currency: z.string().meta({ examples: ["USD"] }),
  cost: z.string().meta({ description: "An exact decimal.", examples: ["0.0125"] }),
});

const sumShape = {
  cost: z.string().meta({ description: "The cost of models in USD: an exact decimal.", examples: ["0.0125"] }),
  turns: z.int().meta({ description: "The number of usage lines." }),
  input: z.int().meta({ description: "Input tokens." }),
  output: z.int().meta({ description: "Output tokens." }),
  cached: z.int().meta({ description: "Cached input tokens." }),
  unpriced: z.int().meta({ description: "The number of turns without a cost." }),
  infrastructure: z
    .array(amountSchema)
    .nullable()
    .meta({
      description:
        "The provider's charges, one for each currency, in whole UTC days. Null if the provider does not report charges, " +
        "and in groups by `user`, `chat` and `model`.",
    }),
};

/** The schema of the response of `GET /v1/cost`. */
export const costReportSchema = z
  .object({
    since: z.string().meta({ format: "date-time" }),
    until: z.string().meta({ format: "date-time", description: "At most the time of the request." }),
    complete: z.boolean().meta({
      description: "False if costs may be missing: the period begins before the logs' retention, or `partial` is true.",
    }),
    partial: z.boolean().meta({
      description: "True if the search of the logs reached its time limit. Request a shorter period.",
    }),
    currency: z.literal("USD").meta({ description: "The currency of the cost of models." }),
    by: z.enum(costKeys),
    total: z.object(sumShape),
    groups: z
      .array(
        z.object({
          key: z
            .string()
            .nullable()
            .meta({
              description:
                "The day (`YYYY-MM-DD`, UTC), deployment, user, chat or model. Null for lines and charges that lack it.",
              examples: ["2026-01-31"],
            }),
          complete: z.boolean().meta({
            description: "False if costs of the group may be missing. The current day is always incomplete.",
          }),
          ...sumShape,
        }),
      )
      .meta({
        description: "Days in order, including days without costs. Other groups start with the most expensive.",
      }),
    unreadable: z.int().meta({ description: "The number of invalid usage lines, which the sums omit." }),
  })
  .readonly();

export type CostReport = z.output<typeof costReportSchema>;

/** The costs that a report summarizes. */
export interface Costs extends CostSource {
  readonly period: Period;
  readonly by: CostKey;
  readonly sums: UsageSums;
  /** The charges of the whole period. Null if the provider does not report charges. */
  readonly charges: readonly Charge[] | null;
  readonly partial: boolean;
  readonly unreadable: number;
}

export type Amounts = readonly z.output<typeof amountSchema>[];

/** Adds up the charges in each currency. Sorts the sums by currency. */
export const amountsOf = (charges: readonly Charge[]): Amounts => {
  const sums = new Map<string, Decimal>();
  for (const { currency, cost } of charges) sums.set(currency, plus(sums.get(currency) ?? zero, cost));
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, cost]) => ({ currency, cost: decimalText(cost) }));
};

/** Returns a sum with its amounts as the API and the command line report them. */
export const reportedSum = ({ cost, turns, input, output, cached, unpriced }: UsageSum) => ({
  cost: decimalText(cost),
  turns,
  input: Number(input),
  output: Number(output),
  cached: Number(cached),
  unpriced,
});

const sumOf = (sum: UsageSum, infrastructure: Amounts | null) => ({
  ...reportedSum(sum),
  infrastructure: infrastructure === null ? null : [...infrastructure],
});

/** Returns the groups in the order of the report. Includes groups with only charges and, by day, days without costs. */
const groupsOf = ({ by, sums, charges, period }: Costs): (readonly [Group, UsageSum])[] => {
  const used = sums.groups();
  if (by === "day") {
    const byDay = new Map(used);
    return daysOf(period).map((day) => [day, byDay.get(day) ?? noUsage]);
  }
  if (by !== "deployment" || charges === null) return used;
  const known = new Set(used.map(([group]) => group));
  const silent = new Set(charges.map(({ group }) => group).filter((group) => !known.has(group)));
  const names = [...silent].filter((group) => group !== null).sort();
  return [...used, ...[...names, ...(silent.has(null) ? [null] : [])].map((group) => [group, noUsage] as const)];
};

/** Returns the report of an account's costs. */
export const costReportOf = (costs: Costs): CostReport => {
  const { period, by, sums, charges, deployments, partial, unreadable } = costs;
  const complete = !partial && coversPeriod(costs);
  const isWhole = (group: Group): boolean => {
    if (partial) return false;
    if (by === "day" && group !== null) return coversDay(costs, group);
    if (by === "deployment" && group !== null)
      return coversPeriod({
        ...costs,
        deployments: [deployments.find(({ name }) => name === group) ?? { name: group }],
      });
    return complete;
  };
  const isCharged = by === "day" || by === "deployment";
  const byGroup = Map.groupBy(charges ?? [], ({ group }) => group);
  return {
    since: timestampOf(period.from),
    until: timestampOf(period.to),
    complete,
    partial,
    currency: "USD",
    by,
    total: sumOf(sums.total, charges && amountsOf(charges)),
    groups: groupsOf(costs).map(([key, sum]) => ({
      key,
      complete: isWhole(key),
      ...sumOf(sum, isCharged && charges ? amountsOf(byGroup.get(key) ?? []) : null),
    })),
    unreadable,
  };
};
