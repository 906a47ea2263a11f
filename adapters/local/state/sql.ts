/** Runs SQL statements. The selected columns must have the names of the properties of `Row`. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { pathToFileURL } from "node:url";

export const selectAll = <Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row[] =>
  db.prepare(sql).all(...values) as Row[];

export const selectFirst = <Row>(db: DatabaseSync, sql: string, ...values: SQLInputValue[]): Row | undefined =>
  db.prepare(sql).get(...values) as Row | undefined;

/** Inserts a row, given as its columns and their values. */
export const insert = (
  db: DatabaseSync,
  into: `${"INSERT" | "INSERT OR IGNORE" | "INSERT OR REPLACE"} INTO ${string}`,
  row: Readonly<Record<string, SQLInputValue>>,
): void => {
  const columns = Object.keys(row);
  const values = columns.map((column) => `:${column}`);
  db.prepare(`${into} (${columns.join(", ")}) VALUES (${values.join(", ")})`).run(row);
};

export const hasTable = (db: DatabaseSync, name: string): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(name) !== undefined;

/**
 * Opens a file read-only. No process may change the file while it is open. SQLite ignores the file's write-ahead log
 * and creates no files.
 */
export const openImmutable = (path: string): DatabaseSync => {
  const url = pathToFileURL(path);
  url.search = "immutable=1";
  return new DatabaseSync(url, { readOnly: true });
};
