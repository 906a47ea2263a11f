/** Splits a deployment's rows into windows, each of which SQL searches in a fraction of a second. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Key } from "./rows.ts";
import type { WhereClause } from "./where-clause.ts";

/** The first window is small, because most searches find their matches nearby. */
const FIRST_ROWS = 1000;
const MAX_ROWS = 20_000;
const MIN_ROWS = 50;
/** Maximum number of SQL parameters for windows of `MAX_ROWS`. With more parameters, windows are smaller. */
const MAX_PARAMS = 5;
/** SQL cannot be interrupted, so the search makes the next window smaller if one took longer than this. */
const LONG_MS = 200;

export interface Window {
  /** The rows that the SQL selects, or their number by severity, read lazily. */
  readonly rows: Iterable<unknown>;
  /** Key of the window's last row; undefined for the last window. */
  readonly border: Key | undefined;
}

export class Windows {
  readonly #service: string;
  readonly #where: WhereClause;
  readonly #border: StatementSync;
  readonly #within: StatementSync;
  readonly #maxRows: number;
  #size: number;
  #began: number | undefined;

  /** @param select `counts` selects the columns `severity` and `entries`, with one row for each severity */
  constructor(
    db: DatabaseSync,
    service: string,
    forwards: boolean,
    where: WhereClause,
    select: "rows" | "counts" = "rows",
  ) {
    this.#service = service;
    this.#where = where;
    this.#maxRows = Math.ceil(MAX_ROWS / Math.max(1, where.params.length / MAX_PARAMS));
    this.#size = Math.min(FIRST_ROWS, this.#maxRows);
    const [behind, upTo] = forwards ? [">", "<="] : ["<", ">="];
    const order = forwards ? "ORDER BY ns, ord" : "ORDER BY ns DESC, ord DESC";
    const from = `FROM entries WHERE service = ? AND (ns, ord) ${behind} (?, ?)`;
    const prepare = (sql: string) => {
      const statement = db.prepare(sql);
      statement.setReadBigInts(true);
      return statement;
    };
    const within = `${from} AND (ns, ord) ${upTo} (?, ?)`;
    this.#border = prepare(`SELECT ns, ord ${within} ${order} LIMIT 1 OFFSET ?`);
    this.#within = prepare(
      select === "rows"
        ? `SELECT * ${within} AND ${where.sql} ${order}`
        : `SELECT severity, count(*) AS entries ${within} AND ${where.sql} GROUP BY severity`,
    );
  }

  /** Returns the next rows after a key, up to and including the key `end`. */
  next({ ns, ord }: Key, end: Key): Window {
    this.#adapt();
    const border = this.#border.get(this.#service, ns, ord, end.ns, end.ord, this.#size - 1) as Key | undefined;
    const last = border ?? end;
    const rows = this.#within.iterate(this.#service, ns, ord, last.ns, last.ord, ...this.#where.params);
    return { rows, border };
  }

  #adapt(): void {
    const now = performance.now();
    if (this.#began !== undefined) {
      const factor = now - this.#began > LONG_MS ? 1 / 4 : 4;
      this.#size = Math.min(this.#maxRows, Math.max(MIN_ROWS, this.#size * factor));
    }
    this.#began = now;
  }
}
