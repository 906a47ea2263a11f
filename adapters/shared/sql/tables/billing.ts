/** The rows of the table `billing`, and their source. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";

/** The usage of one SKU in one period, such as a day. Numbers are decimal text, so that sums are exact. */
export interface BillingRow {
  /** RFC 3339. */
  readonly usage_start_time: string;
  readonly usage_end_time: string;
  readonly service_description: string;
  readonly sku_description: string;
  readonly usage_amount: string;
  readonly usage_unit: string;
  readonly cost: string;
  readonly currency: string;
  /** The name of the deployment. Null for a charge without a deployment. */
  readonly resource_name: string | null;
}

/** Returns all current rows of an account. */
export type BillingSource = (owner: AccountId) => Promise<readonly BillingRow[]>;

export const noBilling: BillingSource = async () => [];
