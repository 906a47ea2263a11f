/** Reads metered usage as rows of the SQL table `billing`, one row per deployment, SKU, currency and UTC day. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { decimalText } from "../../../core/domain/usage/decimal.ts";
import { periodOfDay } from "../../../core/domain/usage/month.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { ReadOnlyFile } from "../data-folder/read-only-file.ts";
import { amountOf, type Sku, skuFacts } from "./skus.ts";

/** Amounts and costs are exact decimals, as text. */
export interface BillingRow {
  readonly usage_start_time: string;
  readonly usage_end_time: string;
  readonly service: { readonly description: string };
  readonly sku: { readonly description: string };
  readonly usage: { readonly amount: string; readonly unit: string };
  readonly cost: string;
  readonly currency: string;
  /** The deployment. */
  readonly resource: { readonly name: string };
}

interface Stored {
  readonly deployment: string;
  readonly day: string;
  readonly sku: Sku;
  readonly currency: string;
  readonly grains: bigint;
  readonly cost: string;
}

const rowOf = ({ deployment, day, sku, currency, grains, cost }: Stored): BillingRow => {
  const { from, to } = periodOfDay(day);
  const { description, unit } = skuFacts[sku];
  return {
    usage_start_time: timestampOf(from),
    usage_end_time: timestampOf(to),
    service: { description: "Portside" },
    sku: { description },
    usage: { amount: decimalText(amountOf(sku, grains)), unit },
    cost,
    currency,
    resource: { name: deployment },
  };
};

export class BillingRows {
  readonly #file: Pick<ReadOnlyFile, "use">;

  constructor(file: Pick<ReadOnlyFile, "use">) {
    this.#file = file;
  }

  /** Returns all rows of the account, ordered by day, deployment, SKU and currency. */
  ofAccount(account: AccountId): BillingRow[] {
    return this.since(account, "");
  }

  /** Returns the rows of the UTC day (`YYYY-MM-DD`) and all later days. Rows of the current day can still change. */
  since(account: AccountId, day: string): BillingRow[] {
    return this.#file.use((db) => {
      const read = db.prepare(
        `SELECT deployment, day, sku, currency, grains, cost FROM usage
         WHERE owner = ? AND day >= ? ORDER BY day, deployment, sku, currency`,
      );
      read.setReadBigInts(true);
      return (read.all(account, day) as unknown as Stored[]).map(rowOf);
    });
  }
}
