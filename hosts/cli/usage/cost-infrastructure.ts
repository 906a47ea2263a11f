/** The platform's charges for running services, if it provides them. */
import { type ChargeKey, chargeOf, chargesStatement } from "../../../core/domain/usage/cost.ts";
import { type Decimal, plus, zero } from "../../../core/domain/usage/decimal.ts";
import type { Group } from "../../../core/domain/usage/usage-sums.ts";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { CostPeriod } from "./period.ts";

export type Infrastructure =
  | {
      readonly offered: true;
      readonly key: ChargeKey;
      readonly currency: string;
      /** The charges by deployment or by day. Null is the group of charges without a deployment. */
      readonly costs: ReadonlyMap<Group, Decimal>;
    }
  | { readonly offered: false; readonly reason: string };

interface Row {
  readonly charged: string;
  readonly currency: string;
  readonly cost: string | number;
}

const NOT_OFFERED = 501;

export const readInfrastructure = async (
  client: Client,
  period: CostPeriod,
  key: ChargeKey,
  signal: AbortSignal,
): Promise<Infrastructure> => {
  let rows: readonly Row[];
  try {
    rows = (await client.runSql({ query: chargesStatement(period, key) }, { signal }))
      .rows as unknown as readonly Row[];
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== NOT_OFFERED) throw error;
    return { offered: false, reason: error.message };
  }
  const costs = new Map<Group, Decimal>();
  for (const { charged, currency, cost } of rows) {
    const charge = chargeOf(key, charged, currency, cost);
    if (charge !== undefined) costs.set(charge.group, plus(costs.get(charge.group) ?? zero, charge.cost));
  }
  return { offered: true, key, currency: rows[0]?.currency ?? "USD", costs };
};
