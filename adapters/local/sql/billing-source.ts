/** The metered rows of this machine, as the SQL table `billing` takes them. */
import type { BillingSource } from "../../shared/sql/tables/billing.ts";
import type { BillingRows } from "../usage/rows.ts";

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
