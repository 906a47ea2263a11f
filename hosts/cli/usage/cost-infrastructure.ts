/** The provider's charges for running services, if the platform reports them. */
import {
  type Amounts,
  amountsOf,
  type ChargeKey,
  chargeOf,
  chargesStatement,
} from "../../../core/domain/usage/cost.ts";
import type { Group } from "../../../core/domain/usage/usage-sums.ts";
import type { Client } from "../../client/client.ts";
import { ApiError } from "../../client/errors.ts";
import type { CostPeriod } from "./period.ts";

export type Infrastructure =
  | {
      readonly offered: true;
      readonly key: ChargeKey;
      /** The currencies of the charges, in order; USD if there are no charges. */
      readonly currencies: readonly string[];
      /** The charges by deployment or by day, in each currency. Null is the group of charges without a deployment. */
      readonly costs: ReadonlyMap<Group, Amounts>;
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
  const charges = rows.flatMap(({ charged, currency, cost }) => chargeOf(key, charged, currency, cost) ?? []);
  const currencies = amountsOf(charges).map(({ currency }) => currency);
  const byGroup = Map.groupBy(charges, ({ group }) => group);
  return {
    offered: true,
    key,
    currencies: currencies.length === 0 ? ["USD"] : currencies,
    costs: new Map([...byGroup].map(([group, some]) => [group, amountsOf(some)])),
  };
};
