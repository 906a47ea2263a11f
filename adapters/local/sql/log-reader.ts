/** Reads a snapshot of an account's log file for the derived database, while the engine writes to the file. */
import { DatabaseSync } from "node:sqlite";
import { severities } from "../../../core/domain/logs/entry.ts";
import type { EntryRow, LogReader, ReadPosition } from "../../shared/sql/tables/entries.ts";
import { prepareServices } from "../logs/services.ts";

const severityNames = new Map(Object.entries(severities).map(([name, rank]) => [BigInt(rank), name]));

/** The columns of a row, in order. Reading rows as arrays is four times faster than reading them as objects. */
const COLUMNS = "ns, ord, severity, log, revision, instance, text, json, http";
type Text = string | null;
type Columns = readonly [bigint, bigint, bigint, string, Text, Text, Text, Text, Text];

const entryOf = (service: string, columns: Columns): EntryRow => {
  const [ns, ord, severity, log, revision, instance, text, json, http] = columns;
  const name = severityNames.get(severity) ?? "DEFAULT";
  return { service, ns, ord: Number(ord), severity: name, log, revision, instance, text, json, http };
};

const placeOf = (row: unknown): ReadPosition | undefined => {
  const key = row as { ns: bigint; ord: bigint } | undefined;
  return key === undefined ? undefined : { ns: key.ns, ord: Number(key.ord) };
};

export const readLogFile = (path: string): LogReader => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  db.exec("BEGIN");
  const first = db.prepare("SELECT ns, ord FROM entries WHERE service = ? ORDER BY ns, ord LIMIT 1");
  const after = db.prepare(`SELECT ${COLUMNS} FROM entries WHERE service = ? AND (ns, ord) > (?, ?) ORDER BY ns, ord`);
  for (const statement of [first, after]) statement.setReadBigInts(true);
  after.setReturnArrays(true);
  return {
    services: prepareServices(db),
    first: (service) => placeOf(first.get(service)),
    after: function* rows(service, { ns, ord }) {
      for (const row of after.iterate(service, ns, ord)) yield entryOf(service, row as unknown as Columns);
    },
    [Symbol.dispose]: () => db.close(),
  };
};
