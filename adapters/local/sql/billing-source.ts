/** Converts metered usage to rows of the SQL table `billing`. */
import type { BillingSource } from "../../shared/sql/tables/billing.ts";
import type { BillingRows } from "../usage/billing-rows.ts";

export const billingSourceOf =
  (rows: BillingRows): BillingSource =>
  async (owner) =>
    rows.ofAccount(owner).map(({ service, sku, usage, resource, ...row }) => ({
      ...row,
      service_description: service.description,
      sku_description: sku.description,
      usage_amount: usage.amount,
      usage_unit: usage.unit,
      resource_name: resource.name,
    }));
