/** The rows of a deployment in windows, each as large as a part of a second takes. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Key } from "./rows.ts";
import type { Where } from "./where.ts";

/** The first is small: most searches find what they want nearby. */
const FIRST_ROWS = 1000;
const MOST_ROWS = 20_000;
const FEWEST_ROWS = 50;
/** So many texts are looked for in the largest window; where they are more, it is smaller. */
const MOST_TEXTS = 5;
/** SQL cannot be asked to stop: a window that took longer is followed by a smaller one. */
const LONG_MS = 200;

export interface Window {
  /** The rows that SQL lets through, read as they are asked for. */
  readonly rows: Iterable<unknown>;
  /** The key of the window's last row; undefined where it is the last window. */
  readonly border: Key | undefined;
}

export class Windows {
  readonly #service: string;
  readonly #where: Where;
  readonly #border: StatementSync;
  readonly #within: StatementSync;
  readonly #rest: StatementSync;
  readonly #most: number;
  #size: number;
  #began: number | undefined;

  constructor(db: DatabaseSync, service: string, forwards: boolean, where: Where) {
    this.#service = service;
    this.#where = where;
    this.#most = Math.ceil(MOST_ROWS / Math.max(1, where.params.length / MOST_TEXTS));
    this.#size = Math.min(FIRST_ROWS, this.#most);
    const [behind, upTo] = forwards ? [">", "<="] : ["<", ">="];
    const order = forwards ? "ORDER BY ns, ord" : "ORDER BY ns DESC, ord DESC";
    const from = `FROM entries WHERE service = ? AND (ns, ord) ${behind} (?, ?)`;
    const prepare = (sql: string) => {
      const statement = db.prepare(sql);
      statement.setReadBigInts(true);
      return statement;
    };
    this.#border = prepare(`SELECT ns, ord ${from} AND ns ${upTo} ? ${order} LIMIT 1 OFFSET ?`);
    this.#within = prepare(`SELECT * ${from} AND (ns, ord) ${upTo} (?, ?) AND ${where.sql} ${order}`);
    this.#rest = prepare(`SELECT * ${from} AND ns ${upTo} ? AND ${where.sql} ${order}`);
  }

  /** The next rows behind a key, none of them beyond the time `end`. */
  next({ ns, ord }: Key, end: bigint): Window {
    this.#adapt();
    const border = this.#border.get(this.#service, ns, ord, end, this.#size - 1) as Key | undefined;
    const { params } = this.#where;
    const rows =
      border === undefined
        ? this.#rest.iterate(this.#service, ns, ord, end, ...params)
        : this.#within.iterate(this.#service, ns, ord, border.ns, border.ord, ...params);
    return { rows, border };
  }

  #adapt(): void {
    const now = performance.now();
    if (this.#began !== undefined) {
      const factor = now - this.#began > LONG_MS ? 1 / 4 : 4;
      this.#size = Math.min(this.#most, Math.max(FEWEST_ROWS, this.#size * factor));
    }
    this.#began = now;
  }
}
