/**
 * Removes an account's oldest entries, across its deployments, in small slices, so that the caller can yield to the
 * event loop between slices.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { transaction } from "../state/database.ts";
import { columnTime, type Key, LAST_NS } from "./rows.ts";
import { prepareServices } from "./services.ts";

/** Limits of one slice, shared by all deployments. */
const SLICE_ROWS = 500;
const SLICE_BYTES = 1024 * 1024;

/** A deployment's oldest rows: all rows up to `last` can be removed together. */
interface Head {
  readonly service: string;
  readonly first: Key;
  readonly last: Key;
}

type Measured = Key & { readonly bytes: bigint };

export class Retention {
  readonly #db: DatabaseSync;
  readonly #services: () => string[];
  readonly #head: StatementSync;
  readonly #cut: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#services = prepareServices(db);
    this.#head = db.prepare(
      `SELECT ns, ord, ifnull(octet_length(text), 0) + ifnull(octet_length(json), 0) + ifnull(octet_length(http), 0) AS bytes
       FROM entries WHERE service = ? ORDER BY ns, ord LIMIT ?`,
    );
    this.#head.setReadBigInts(true);
    this.#cut = db.prepare("DELETE FROM entries WHERE service = ? AND (ns, ord) <= (?, ?) AND ns <= ?");
  }

  /**
   * Removes a slice of the entries that are older than `before`, or of the oldest entries if the file exceeds
   * `maxBytes`. Returns false if there was nothing to remove.
   */
  step(before: Instant, maxBytes: number): boolean {
    const services = this.#services();
    const heads = services.flatMap((service) => this.#headOf(service, services.length));
    const tooMuch = this.#bytes() > maxBytes;
    const due = tooMuch ? heads : heads.filter(({ first }) => first.ns < before);
    if (due.length === 0) return false;
    // Stop at the earliest end of a head, so that the oldest entries of all deployments are removed first.
    let until = tooMuch ? LAST_NS : columnTime(before - 1n);
    for (const { last } of due) if (last.ns < until) until = last.ns;
    transaction(this.#db, () => {
      for (const { service, last } of due) this.#cut.run(service, last.ns, last.ord, until);
    });
    return true;
  }

  #headOf(service: string, among: number): Head[] {
    let left = SLICE_BYTES / among;
    let head: Head | undefined;
    for (const row of this.#head.iterate(service, Math.ceil(SLICE_ROWS / among))) {
      const { ns, ord, bytes } = row as unknown as Measured;
      left -= Number(bytes);
      if (head !== undefined && left < 0) break;
      head = { service, first: head?.first ?? { ns, ord }, last: { ns, ord } };
    }
    return head === undefined ? [] : [head];
  }

  /** Size of the pages in use, in bytes. SQLite reuses freed pages before the file grows. */
  #bytes(): number {
    const value = (name: string) =>
      Object.values(this.#db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0] as number;
    return (value("page_count") - value("freelist_count")) * value("page_size");
  }
}
