/**
 * Stores metered usage in a separate SQLite file, which the engine writes every few seconds and the server reads. A
 * killed engine loses the increments since the last write.
 */
import type { Logger } from "../../../core/ports/system.ts";
import { ReplaceableFile } from "../data-folder/replaceable-file.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS usage (
    owner TEXT NOT NULL,
    deployment TEXT NOT NULL,
    -- A UTC day, YYYY-MM-DD.
    day TEXT NOT NULL,
    sku TEXT NOT NULL,
    currency TEXT NOT NULL,
    -- In grains of the SKU.
    grains INTEGER NOT NULL,
    -- An exact decimal, at the prices in effect at the time of use.
    cost TEXT NOT NULL,
    PRIMARY KEY (owner, day, deployment, sku, currency)
  ) STRICT, WITHOUT ROWID;
  -- The number of the last batch of increments in this file.
  CREATE TABLE IF NOT EXISTS batches (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO batches (only, last) VALUES (1, 0);
`;

export const BILLING_FILE = "billing.sqlite";

/** Opens `billing.sqlite` of a data folder. */
export const openBillingFile = (dataDir: string, logger: Logger): ReplaceableFile =>
  new ReplaceableFile({
    dataDir,
    name: BILLING_FILE,
    schema,
    whenReplaced: "set aside the damaged file of metered usage; the SQL table 'billing' starts empty",
    logger,
  });
