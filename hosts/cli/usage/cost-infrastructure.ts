/** The platform's charges for running services, if it provides them. */
import { type Decimal, parseDecimal, plus, zero } from "../../../core/domain/usage/decimal.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { CostPeriod } from "./period.ts";

export type Infrastructure =
  | { readonly offered: true; readonly currency: string; readonly costs: ReadonlyMap<string, Decimal> }
  | { readonly offered: false; readonly reason: string };

interface Row {
  readonly deployment: string;
  readonly currency: string;
  readonly cost: string | number;
}

const NOT_OFFERED = 501;

/** Selects every row whose usage overlaps the period. A row covers up to a day. */
const queryOf = ({ from, to }: CostPeriod): string =>
  `SELECT resource.name AS deployment, currency, SUM(cost) AS cost FROM billing
   WHERE usage_end_time > TIMESTAMP '${timestampOf(from)}' AND usage_start_time < TIMESTAMP '${timestampOf(to)}'
   GROUP BY deployment, currency ORDER BY deployment`;

export const readInfrastructure = async (
  client: Client,
  period: CostPeriod,
  signal: AbortSignal,
): Promise<Infrastructure> => {
  let rows: readonly Row[];
  try {
    rows = (await client.runSql({ query: queryOf(period) }, { signal })).rows as unknown as readonly Row[];
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== NOT_OFFERED) throw error;
    return { offered: false, reason: error.message };
  }
  const costs = new Map<string, Decimal>();
  for (const { deployment, cost } of rows) {
    const amount = parseDecimal(String(cost));
    if (amount !== undefined) costs.set(deployment, plus(costs.get(deployment) ?? zero, amount));
  }
  return { offered: true, currency: rows[0]?.currency ?? "USD", costs };
};
