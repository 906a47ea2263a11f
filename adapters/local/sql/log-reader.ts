/** An account's log file as the derived database reads it: one state of it, beside its writer. */
import { DatabaseSync } from "node:sqlite";
import { severities } from "../../../core/domain/log-entry.ts";
import type { EntryRow, LogReader, Place } from "../../shared/sql/entries.ts";
import type { Row } from "../logs/rows.ts";

const severityNames = new Map(Object.entries(severities).map(([name, rank]) => [rank as number, name]));

const entryOf = ({ ord, severity, ...row }: Row): EntryRow => ({
  ...row,
  ord: Number(ord),
  severity: severityNames.get(Number(severity)) ?? "DEFAULT",
});

const placeOf = (row: unknown): Place | undefined => {
  const key = row as { ns: bigint; ord: bigint } | undefined;
  return key === undefined ? undefined : { ns: key.ns, ord: Number(key.ord) };
};

export const readLogFile = (path: string): LogReader => {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  db.exec("BEGIN");
  const next = db.prepare("SELECT min(service) AS service FROM entries WHERE service > ?");
  const first = db.prepare("SELECT ns, ord FROM entries WHERE service = ? ORDER BY ns, ord LIMIT 1");
  const after = db.prepare("SELECT * FROM entries WHERE service = ? AND (ns, ord) > (?, ?) ORDER BY ns, ord");
  for (const statement of [first, after]) statement.setReadBigInts(true);
  return {
    services: () => {
      const services: string[] = [];
      for (let last = ""; ; ) {
        const { service } = next.get(last) as { service: string | null };
        if (service === null) return services;
        services.push(service);
        last = service;
      }
    },
    first: (service) => placeOf(first.get(service)),
    after: function* rows(service, { ns, ord }) {
      for (const row of after.iterate(service, ns, ord)) yield entryOf(row as unknown as Row);
    },
    [Symbol.dispose]: () => db.close(),
  };
};
