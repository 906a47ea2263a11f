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

/** The columns of a row, without its contents. */
const BRIEF_COLUMNS = `
  service, ns, ord, severity, log, NULL AS revision, NULL AS instance, NULL AS text, NULL AS json, NULL AS http`;

export interface Window {
  /** The rows that the SQL selects, read lazily. */
  readonly rows: Iterable<unknown>;
  /** Key of the window's last row; undefined for the last window. */
  readonly border: Key | undefined;
}

export class Windows {
  readonly #service: string;
  readonly #where: WhereClause;
  readonly #border: StatementSync;
  readonly #within: StatementSync;
  readonly #rest: StatementSync;
  readonly #maxRows: number;
  #size: number;
  #began: number | undefined;

  /** @param isBrief whether to omit the contents of entries if the SQL expresses the whole filter */
  constructor(db: DatabaseSync, service: string, forwards: boolean, where: WhereClause, isBrief: boolean) {
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
    this.#border = prepare(`SELECT ns, ord ${from} AND ns ${upTo} ? ${order} LIMIT 1 OFFSET ?`);
    const columns = isBrief && where.exact ? BRIEF_COLUMNS : "*";
    this.#within = prepare(`SELECT ${columns} ${from} AND (ns, ord) ${upTo} (?, ?) AND ${where.sql} ${order}`);
    this.#rest = prepare(`SELECT ${columns} ${from} AND ns ${upTo} ? AND ${where.sql} ${order}`);
  }

  /** Returns the next rows after a key, up to the time `end`. */
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
      this.#size = Math.min(this.#maxRows, Math.max(MIN_ROWS, this.#size * factor));
    }
    this.#began = now;
  }
}
