/**
 * Runs GoogleSQL on the fake's tables with the local engine's translation, and returns BigQuery's results and errors.
 */
import type { DuckDBType } from "@duckdb/node-api";
import { failureOf } from "../../../../adapters/shared/sql/errors.ts";
import { describeStatement, translateStatement } from "../../../../adapters/shared/sql/googlesql/translate.ts";
import { RestError } from "../rest-server.ts";
import { cellOf, fieldOf } from "./cells.ts";
import type { Tables } from "./tables.ts";

/** Parsing is slow, and the dry run parses each statement before it runs. */
const remembered = <T>(read: (statement: string) => T): ((statement: string) => T) => {
  const known = new Map<string, T>();
  return (statement) => {
    const value = known.get(statement) ?? read(statement);
    known.set(statement, value);
    return value;
  };
};
const described = remembered(describeStatement);
const translated = remembered(translateStatement);

export interface Result {
  readonly fields: readonly object[];
  readonly rows: readonly object[];
}

const invalid = (message: string): RestError => new RestError(400, "invalidQuery", message);

const tablesOf = (statement: string, tables: Tables): readonly string[] => {
  const { tables: named } = described(statement);
  const names = [...new Set(named.map(({ name }) => name.replaceAll("`", "")))];
  for (const name of names) {
    if (!name.includes(".")) throw invalid(`Table "${name}" must be qualified with a dataset (e.g. dataset.table).`);
    if (name !== tables.logs && name !== tables.costs)
      throw new RestError(404, "notFound", `Not found: Table ${name.replace(".", ":")} was not found`);
  }
  return names;
};

const errorMessage = (error: unknown): string => {
  const failure = failureOf(error instanceof Error ? error.message : String(error));
  return "message" in failure ? failure.message : String(error);
};

/** The contents of `statistics.query` in a dry run (v2/Job#JobStatistics2). */
export const dryRunStatistics = async (statement: string, tables: Tables, bytesOfRow: number) => {
  try {
    const names = tablesOf(statement, tables);
    const { root, statements } = described(statement);
    await tables.connection.prepare(translated(statement));
    const counts = await Promise.all(
      names.map(async (name) => (await tables.connection.runAndReadAll(`SELECT count(*) FROM "${name}"`)).getRows()),
    );
    const rows = counts.reduce((sum, [row]) => sum + Number(row?.[0] ?? 0), 0);
    return {
      statementType: statements === 1 ? root : "SCRIPT",
      totalBytesProcessed: String(rows * bytesOfRow),
      referencedTables: names.map((name) => {
        const [projectId, datasetId, tableId] = name.split(".");
        return { projectId, datasetId, tableId };
      }),
    };
  } catch (error) {
    throw error instanceof RestError ? error : invalid(errorMessage(error));
  }
};

export const runStatement = async (statement: string, tables: Tables, inMicros: boolean): Promise<Result> => {
  try {
    const read = await tables.connection.runAndReadAll(translated(statement));
    const types = read.columnTypes() as readonly DuckDBType[];
    return {
      fields: read.columnNames().map((name, n) => fieldOf(name, types[n] as DuckDBType)),
      rows: read
        .getRows()
        .map((row) => ({ f: row.map((value, n) => cellOf(value, types[n] as DuckDBType, inMicros)) })),
    };
  } catch (error) {
    throw invalid(errorMessage(error));
  }
};
