/** Writes increments of usage in batches. No batch counts twice, even if a write fails. */
import type { DatabaseSync } from "node:sqlite";
import { decimalText, plus, times, zero } from "../../../core/domain/usage/decimal.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { transaction } from "../state/database.ts";
import { type Increment, Increments } from "./increments.ts";
import type { Prices } from "./prices.ts";
import { amountOf, parseStoredDecimal } from "./skus.ts";

const COST = "SELECT cost FROM usage WHERE owner = ? AND day = ? AND deployment = ? AND sku = ? AND currency = ?";
const ADD = `INSERT INTO usage (owner, day, deployment, sku, currency, grains, cost) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET grains = grains + excluded.grains, cost = excluded.cost`;

const lastBatch = (db: DatabaseSync): bigint => {
  const read = db.prepare("SELECT last FROM batches");
  read.setReadBigInts(true);
  return (read.get() as { last: bigint }).last;
};

export interface LedgerDeps {
  readonly file: ReplaceableFile;
  readonly prices: Prices;
  readonly logger: Logger;
}

export class Ledger {
  readonly #deps: LedgerDeps;
  readonly #pending = new Increments();
  /** The batch that is being written. The outcome of a failed write may be unknown. */
  #batch: { readonly number: bigint; readonly increments: readonly Increment[] } | undefined;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  /** Writes the increments. If the write fails, the next write includes them. */
  write(increments: readonly Increment[]): void {
    for (const one of increments) this.#pending.add(one);
    try {
      this.#deps.file.use((db) => this.#write(db));
    } catch (cause) {
      this.#deps.logger.error("could not write metered usage; will retry", { cause });
    }
  }

  /** Returns the increments that could not be written, and forgets them. */
  takeUnwritten(): readonly Increment[] {
    const batch = this.#batch;
    this.#batch = undefined;
    // If the file does not show whether it contains the batch, drop the batch rather than count it twice.
    const isMissing =
      batch !== undefined && tryOr(() => this.#deps.file.use((db) => batch.number > lastBatch(db)), false);
    return [...(isMissing ? batch.increments : []), ...this.#pending.takeAll()];
  }

  #write(db: DatabaseSync): void {
    this.#writeBatch(db);
    const number = lastBatch(db) + 1n;
    const increments = this.#pending.takeAll();
    if (increments.length > 0) this.#batch = { number, increments };
    this.#writeBatch(db);
  }

  #writeBatch(db: DatabaseSync): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    // A commit that reported an error may have succeeded. The stored batch number shows whether it did.
    if (batch.number > lastBatch(db))
      transaction(db, () => {
        this.#add(db, batch.increments);
        db.prepare("UPDATE batches SET last = ?").run(batch.number);
      });
    this.#batch = undefined;
  }

  #add(db: DatabaseSync, increments: readonly Increment[]): void {
    const [costSoFar, add] = [db.prepare(COST), db.prepare(ADD)];
    const { currency, of } = this.#deps.prices;
    for (const { owner, deployment, day, sku, grains } of increments) {
      const key = [owner, day, deployment, sku, currency] as const;
      const present = costSoFar.get(...key) as { cost: string } | undefined;
      const added = times(amountOf(sku, grains), of[sku]);
      const cost = decimalText(plus(present === undefined ? zero : parseStoredDecimal(present.cost), added));
      add.run(...key, grains, cost);
    }
  }
}
