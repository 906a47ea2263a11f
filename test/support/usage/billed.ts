/** A meter on a temporary billing file, and its rows. */
import { openBillingFile } from "../../../adapters/local/usage/billing-file.ts";
import { BillingRows } from "../../../adapters/local/usage/billing-rows.ts";
import { Ledger } from "../../../adapters/local/usage/ledger.ts";
import { Meter } from "../../../adapters/local/usage/meter.ts";
import { loadPrices, type Prices } from "../../../adapters/local/usage/prices.ts";
import { createManualClock, type ManualClock } from "../../../adapters/memory/manual-clock.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { recorder } from "../providers/memory-platform.ts";

export const acme = "acme" as AccountId;
export const GiB = 1024 ** 3;

export const sized = (cpu: number, memory: number, name = "app") => ({
  owner: acme,
  name: name as DeploymentName,
  cpu,
  memory,
});

/** Every row of the account as `day deployment unit amount cost`. */
export const billedRows = (rows: BillingRows, account = acme): string[] =>
  rows
    .ofAccount(account)
    .map(
      ({ usage_start_time, resource, usage, cost }) =>
        `${usage_start_time.slice(0, 10)} ${resource.name} ${usage.unit} ${usage.amount} ${cost}`,
    );

export const openBilled = (
  folder: string,
  clock: ManualClock = createManualClock(),
  prices: Prices = loadPrices(undefined),
) => {
  const ofFile = recorder();
  const file = openBillingFile(folder, ofFile.logger);
  const { logger, logged } = recorder();
  const ledger = new Ledger({ file, prices, logger });
  const meter = new Meter({ clock, write: (increments) => ledger.write(increments) });
  const rows = new BillingRows(file);
  return { file, meter, rows, clock, logged, fileLogged: ofFile.logged, billed: () => billedRows(rows) };
};
