/** Increments until they are written, and their writing: each batch once, whatever happens while it is written. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { decimalText, plus, times, zero } from "../../../core/domain/decimal.ts";
import { transaction } from "../state/database.ts";
import type { Prices } from "./prices.ts";
import { amountOf, type Sku, writtenDecimal } from "./skus.ts";

/** What an increment belongs to. */
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

export class Ledger {
  readonly #db: DatabaseSync;
  readonly #prices: Prices;
  readonly #lastBatch: StatementSync;
  readonly #setBatch: StatementSync;
  readonly #costSoFar: StatementSync;
  readonly #add: StatementSync;
  #pending = new Map<string, Increment>();
  /** Being written: its outcome may be unknown. */
  #batch: { readonly number: bigint; readonly increments: readonly Increment[] } | undefined;

  constructor(db: DatabaseSync, prices: Prices) {
    this.#db = db;
    this.#prices = prices;
    this.#lastBatch = db.prepare("SELECT last FROM batches");
    this.#lastBatch.setReadBigInts(true);
    this.#setBatch = db.prepare("UPDATE batches SET last = ?");
    this.#costSoFar = db.prepare(
      "SELECT cost FROM usage WHERE owner = ? AND day = ? AND deployment = ? AND sku = ? AND currency = ?",
    );
    this.#add = db.prepare(
      `INSERT INTO usage (owner, day, deployment, sku, currency, grains, cost) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET grains = grains + excluded.grains, cost = excluded.cost`,
    );
  }

  add(entry: Entry, grains: bigint): void {
    if (grains === 0n) return;
    const key = keyOf(entry);
    const present = this.#pending.get(key);
    if (present === undefined) this.#pending.set(key, { ...entry, grains });
    else present.grains += grains;
  }

  /** Throws where the file takes no writes now; nothing is lost by that, and the next call tries again. */
  write(): void {
    const last = this.#last();
    // A commit that failed may have been carried out all the same: its number tells.
    if (this.#batch !== undefined && this.#batch.number <= last) this.#batch = undefined;
    if (this.#batch === undefined && this.#pending.size > 0) {
      this.#batch = { number: last + 1n, increments: [...this.#pending.values()] };
      this.#pending = new Map();
    }
    const batch = this.#batch;
    if (batch === undefined) return;
    transaction(this.#db, () => {
      for (const increment of batch.increments) this.#put(increment);
      this.#setBatch.run(batch.number);
    });
    this.#batch = undefined;
  }

  #last(): bigint {
    return (this.#lastBatch.get() as { last: bigint }).last;
  }

  #put({ owner, deployment, day, sku, grains }: Increment): void {
    const { currency, of } = this.#prices;
    const key = [owner, day, deployment, sku, currency] as const;
    const present = this.#costSoFar.get(...key) as { cost: string } | undefined;
    const added = times(amountOf(sku, grains), of[sku]);
    const cost = decimalText(plus(present === undefined ? zero : writtenDecimal(present.cost), added));
    this.#add.run(...key, grains, cost);
  }
}
