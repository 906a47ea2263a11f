/** Collects increments of usage and writes them in batches. Each batch counts exactly once, even if a write fails. */
import type { DatabaseSync } from "node:sqlite";
import { decimalText, plus, times, zero } from "../../../core/domain/usage/decimal.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { transaction } from "../state/database.ts";
import type { Prices } from "./prices.ts";
import { amountOf, type Sku, writtenDecimal } from "./skus.ts";

/** The key of an increment. */
export interface Entry {
  readonly owner: string;
  readonly deployment: string;
  readonly day: string;
  readonly sku: Sku;
}

interface Increment extends Entry {
  grains: bigint;
}

const keyOf = ({ owner, deployment, day, sku }: Entry): string => [owner, deployment, day, sku].join("\n");

const COST = "SELECT cost FROM usage WHERE owner = ? AND day = ? AND deployment = ? AND sku = ? AND currency = ?";
const ADD = `INSERT INTO usage (owner, day, deployment, sku, currency, grains, cost) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET grains = grains + excluded.grains, cost = excluded.cost`;

const lastBatch = (db: DatabaseSync): bigint => {
  const read = db.prepare("SELECT last FROM batches");
  read.setReadBigInts(true);
  return (read.get() as { last: bigint }).last;
};

export class Ledger {
  readonly #file: ReplaceableFile;
  readonly #prices: Prices;
  #pending = new Map<string, Increment>();
  /** The batch that is being written. The outcome of a failed write may be unknown. */
  #batch: { readonly number: bigint; readonly increments: readonly Increment[] } | undefined;

  constructor(file: ReplaceableFile, prices: Prices) {
    this.#file = file;
    this.#prices = prices;
  }

  add(entry: Entry, grains: bigint): void {
    if (grains === 0n) return;
    const key = keyOf(entry);
    const present = this.#pending.get(key);
    if (present === undefined) this.#pending.set(key, { ...entry, grains });
    else present.grains += grains;
  }

  /** Throws if the file cannot be written. No increment is lost, because the next call retries. */
  write(): void {
    this.#file.use((db) => this.#write(db));
  }

  #write(db: DatabaseSync): void {
    const last = lastBatch(db);
    // A commit that reported an error may have succeeded. The stored batch number shows whether it did.
    if (this.#batch !== undefined && this.#batch.number <= last) this.#batch = undefined;
    if (this.#batch === undefined && this.#pending.size > 0) {
      this.#batch = { number: last + 1n, increments: [...this.#pending.values()] };
      this.#pending = new Map();
    }
    const batch = this.#batch;
    if (batch === undefined) return;
    transaction(db, () => {
      this.#add(db, batch.increments);
      db.prepare("UPDATE batches SET last = ?").run(batch.number);
    });
    this.#batch = undefined;
  }

  #add(db: DatabaseSync, increments: readonly Increment[]): void {
    const [costSoFar, add] = [db.prepare(COST), db.prepare(ADD)];
    const { currency, of } = this.#prices;
    for (const { owner, deployment, day, sku, grains } of increments) {
      const key = [owner, day, deployment, sku, currency] as const;
      const present = costSoFar.get(...key) as { cost: string } | undefined;
      const added = times(amountOf(sku, grains), of[sku]);
      const cost = decimalText(plus(present === undefined ? zero : writtenDecimal(present.cost), added));
      add.run(...key, grains, cost);
    }
  }
}
