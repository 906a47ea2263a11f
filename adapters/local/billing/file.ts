/**
 * What has been metered, in a SQLite file of its own: it is written every few seconds, and other processes read it.
 * A kill loses what was not written yet; a power cut may lose a few writes more, and leaves the file whole.
 */
import type { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../data-folder/layout.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS usage (
    owner TEXT NOT NULL,
    deployment TEXT NOT NULL,
    -- A UTC day, YYYY-MM-DD.
    day TEXT NOT NULL,
    sku TEXT NOT NULL,
    currency TEXT NOT NULL,
    -- In the SKU's grains, which are whole.
    grains INTEGER NOT NULL,
    -- An exact decimal, by the prices of the time when it was used.
    cost TEXT NOT NULL,
    PRIMARY KEY (owner, day, deployment, sku, currency)
  ) STRICT, WITHOUT ROWID;
  -- The number of the last batch of increments that was written.
  CREATE TABLE IF NOT EXISTS batches (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO batches (only, last) VALUES (1, 0);
`;

export const openBillingFile = (path: string): DatabaseSync => {
  const db = openDatabase(path, { timeout: 5000 });
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  db.exec(schema);
  return db;
};
