/**
 * A generation and a digest of the state's content, stored in the state and committed with each change.
 *
 * Temporary triggers update both with every changed row. The digest is the sum of the rows' hashes. Therefore a change
 * hashes only the rows that it affects, and the order of rows does not matter. The digest detects damage, not
 * deliberate edits.
 */
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { hasTable, selectAll, selectFirst } from "./sql.ts";

export interface StateVersion {
  /** Increases with each changed row. */
  readonly generation: number;
  /** 64 hexadecimal digits. */
  readonly digest: string;
}

export const versionTable = `
  CREATE TABLE version (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    -- Generation, digest and a checksum of both.
    noted TEXT NOT NULL
  ) STRICT;
  INSERT INTO version (only, noted) VALUES (1, '');
`;

/** Columns whose loss is acceptable. Changes to them do not change the version, and do not flush the check file. */
const untracked: Readonly<Record<string, readonly string[]>> = {
  keys: ["last_used_at"],
  schedules: ["last_fire"],
};

const MODULUS = 1n << 256n;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hashOf = (row: string): bigint => BigInt(`0x${sha256(row)}`);
const hex = (sum: bigint): string => sum.toString(16).padStart(64, "0");
const quoted = (name: string): string => `"${name}"`;

/** Renders the version as text with a checksum. */
export const renderVersion = ({ generation, digest }: StateVersion): string => {
  const text = `${generation} ${digest}`;
  return `${text} ${sha256(text).slice(0, 16)}`;
};

/** Returns undefined if the text is damaged. */
export const parseVersion = (text: string): StateVersion | undefined => {
  const found = /^(\d{1,15}) ([0-9a-f]{64}) [0-9a-f]{16}\s*$/.exec(text);
  if (found === null) return undefined;
  const version = { generation: Number(found[1]), digest: found[2] as string };
  return renderVersion(version) === text.trimEnd() ? version : undefined;
};

/** Returns the tracked columns of every table except `version`. */
const contentOf = (db: DatabaseSync): Map<string, string[]> => {
  const tables = selectAll<{ name: string }>(
    db,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'version'",
  );
  return new Map(
    tables.map(({ name }) => {
      const columns = selectAll<{ name: string }>(db, "SELECT name FROM pragma_table_info(?)", name);
      return [name, columns.map((column) => column.name).filter((column) => !untracked[name]?.includes(column))];
    }),
  );
};

/** Returns the version number of the schema. */
export const formatOf = (db: DatabaseSync): number =>
  (db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version;

/** Returns a SQL expression that renders a row as text. */
const rowText = (table: string, columns: readonly string[], prefix = ""): string =>
  [`'${table}'`, ...columns.map((column) => `quote(${prefix}${quoted(column)})`)].join(" || ',' || ");

/** Computes the digest from the schema and every row. Throws if SQLite cannot read them. */
export const digestOf = (db: DatabaseSync): string => {
  let sum = hashOf(`format ${formatOf(db)}`);
  const sources = [
    "SELECT 'schema ' || type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS row FROM sqlite_schema",
    ...[...contentOf(db)].map(
      ([table, columns]) => `SELECT ${rowText(table, columns)} AS row FROM ${quoted(table)} NOT INDEXED`,
    ),
  ];
  for (const source of sources)
    for (const { row } of db.prepare(source).iterate() as Iterable<{ row: string }>) sum += hashOf(row);
  return hex(sum % MODULUS);
};

/** Returns the recorded version, undefined if an older Portside wrote the state, or "damaged" if it is unreadable. */
export const readVersion = (db: DatabaseSync): StateVersion | "damaged" | undefined => {
  if (!hasTable(db, "version")) return undefined;
  const row = selectFirst<{ noted: string }>(db, "SELECT noted FROM version");
  return parseVersion(row?.noted ?? "") ?? "damaged";
};

/** Returns the recorded version, or undefined if it is missing or damaged. */
export const intactVersion = (db: DatabaseSync): StateVersion | undefined => {
  const version = readVersion(db);
  return version === "damaged" ? undefined : version;
};

/** Recomputes the digest and records it with the generation. */
export const writeVersion = (db: DatabaseSync, generation: number): void =>
  void db.prepare("UPDATE version SET noted = ?").run(renderVersion({ generation, digest: digestOf(db) }));

/**
 * Updates the version with each change on this connection. Calls `onChange` for each changed row, before the commit.
 */
export const trackChanges = (db: DatabaseSync, onChange: () => void): void => {
  db.function("version_after", (noted, removed, added) => {
    onChange();
    const before = parseVersion(String(noted));
    if (before === undefined) throw new Error("The version recorded in the state file is damaged.");
    const minus = removed === null ? 0n : hashOf(String(removed));
    const plus = added === null ? 0n : hashOf(String(added));
    const digest = hex((BigInt(`0x${before.digest}`) + plus + MODULUS - minus) % MODULUS);
    return renderVersion({ generation: before.generation + 1, digest });
  });
  // A REPLACE must run the triggers of the rows that it deletes.
  db.exec("PRAGMA recursive_triggers = ON");
  for (const [table, columns] of contentOf(db)) {
    const removed = rowText(table, columns, "old.");
    const added = rowText(table, columns, "new.");
    const on = (name: string, event: string, before: string, after: string) =>
      db.exec(`CREATE TEMP TRIGGER ${quoted(`${table}_${name}`)} AFTER ${event} ON main.${quoted(table)} BEGIN
        UPDATE main.version SET noted = version_after(noted, ${before}, ${after});
      END`);
    on("inserted", "INSERT", "NULL", added);
    on("deleted", "DELETE", removed, "NULL");
    on("updated", `UPDATE OF ${columns.map(quoted).join(", ")}`, removed, added);
  }
};
