/** Prints costs: a table with a chart on a terminal, exact numbers in a pipe, or JSON. */
import {
  type CostKey,
  type CostSource,
  coversDay,
  coversPeriod,
  daysOf,
  reportedSum,
} from "../../../core/domain/usage/cost.ts";
import {
  compareDecimals,
  type Decimal,
  decimalText,
  formatAmount,
  parseDecimal,
  shareOf,
  zero,
} from "../../../core/domain/usage/decimal.ts";
import { type Group, noUsage, type UsageSum, type UsageSums } from "../../../core/domain/usage/usage-sums.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import { bar } from "../terminal/chart-bar.ts";
import { canDraw, paint } from "../terminal/colour.ts";
import { plainText } from "../terminal/control-characters.ts";
import { type Io, print, say } from "../terminal/io.ts";
import { printTable } from "../terminal/table.ts";
import { pluralize } from "../volumes/transfer/format.ts";
import type { Infrastructure } from "./cost-infrastructure.ts";
import type { CostPeriod } from "./period.ts";

export interface CostReport {
  readonly source: CostSource;
  readonly period: CostPeriod;
  readonly by: CostKey;
  readonly sums: UsageSums;
  readonly infrastructure: Infrastructure;
  /** The number of invalid usage lines. */
  readonly unreadable: number;
}

const CHART_WIDTH = 20;

const countsOf = ({ turns, input, output, cached }: UsageSum): string[] => [turns, input, output, cached].map(String);

/** Returns the groups. Days are in order and include days without usage. */
const groupsOf = ({ sums, by, period }: CostReport): (readonly [Group, UsageSum])[] => {
  if (by !== "day") return sums.groups();
  const used = new Map(sums.groups());
  return daysOf(period).map((day) => [day, used.get(day) ?? noUsage]);
};

export const costJson = (report: CostReport): unknown => {
  const { source, period, by, sums, infrastructure, unreadable } = report;
  return {
    from: timestampOf(period.from),
    to: timestampOf(period.to),
    complete: coversPeriod(source),
    currency: "USD",
    total: reportedSum(sums.total),
    by,
    groups: groupsOf(report).map(([group, sum]) => ({
      [by]: group,
      ...reportedSum(sum),
      ...(by === "day" ? { complete: coversDay(source, group ?? "") } : {}),
    })),
    unreadable,
    infrastructure: infrastructure.offered
      ? {
          currency: infrastructure.currencies[0],
          costs: [...infrastructure.costs].flatMap(([group, amounts]) =>
            amounts.map(({ currency, cost }) => ({
              [infrastructure.key]: group,
              cost,
              ...(infrastructure.currencies.length > 1 ? { currency } : {}),
            })),
          ),
        }
      : null,
  };
};

/** Returns the groups. If the report is grouped by deployment, adds the deployments that have only provider charges. */
const rowsOf = (report: CostReport): (readonly [Group, UsageSum])[] => {
  const { by, infrastructure } = report;
  const groups = groupsOf(report);
  if (by !== "deployment" || !infrastructure.offered) return groups;
  const silent = [...infrastructure.costs.keys()].filter((name) => !groups.some(([group]) => group === name));
  return [...groups, ...silent.map((name) => [name, noUsage] as const)];
};

const printCosts = async (io: Io, report: CostReport): Promise<void> => {
  const { source, by, infrastructure } = report;
  const onTerminal = io.stdout.isTTY === true;
  const shown = (amount: Decimal): string => (onTerminal ? formatAmount(amount) : decimalText(amount));
  const charges = infrastructure.offered && infrastructure.key === by ? infrastructure : undefined;
  const rows = rowsOf(report);
  const most = rows.reduce((max, [, { cost }]) => (compareDecimals(cost, max) > 0 ? cost : max), zero);
  const chart = (cost: Decimal): string[] =>
    canDraw(io, io.stdout) ? [paint(io, "cyan", bar(shareOf(cost, most), CHART_WIDTH))] : [];
  const head = [by.toUpperCase(), "TURNS", "INPUT", "OUTPUT", "CACHED", "MODELS USD"];
  const currencies = charges?.currencies ?? [];
  const charged = (group: Group, wanted: string): Decimal => {
    const amount = charges?.costs.get(group)?.find(({ currency }) => currency === wanted);
    return (amount && parseDecimal(amount.cost)) ?? zero;
  };
  const table = rows.map(([group, sum]) => [
    plainText(group ?? "-") + (onTerminal && by === "day" && !coversDay(source, group ?? "") ? " (incomplete)" : ""),
    ...countsOf(sum),
    shown(sum.cost),
    ...currencies.map((currency) => shown(charged(group, currency))),
    ...chart(sum.cost),
  ]);
  await printTable(
    io,
    [...head, ...currencies.map((currency) => `PLATFORM ${currency}`), ...(onTerminal ? [""] : [])],
    table,
  );
};

/** Prints notes about missing costs to standard error, because they are not part of the result. */
const printNotes = (io: Io, { source, sums, infrastructure, unreadable, period }: CostReport): void => {
  if (!coversPeriod(source))
    say(io, `Incomplete: the log does not reach back to ${timestampOf(period.from)}, because old entries expire.`);
  const { unpriced } = sums.total;
  if (unpriced > 0)
    say(io, `${pluralize(unpriced, "turn")} reported no cost. The totals include the tokens, but no cost for them.`);
  if (unreadable > 0) say(io, `Omitted ${pluralize(unreadable, "invalid usage line")}. See docs/usage.md.`);
  if (!infrastructure.offered) say(io, `The cost of infrastructure is not available: ${infrastructure.reason}`);
};

export const printCost = async (io: Io, report: CostReport): Promise<void> => {
  const { sums, period } = report;
  await printCosts(io, report);
  const total = paint(io, "bold", `${formatAmount(sums.total.cost)} USD`);
  if (io.stdout.isTTY === true)
    print(io, `\n${total} on models ${period.label}, in ${pluralize(sums.total.turns, "turn")}`);
  printNotes(io, report);
};
