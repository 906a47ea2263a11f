/**
 * Converts DuckDB's values to BigQuery's REST responses: rows of `f`, cells of `v`, all scalars as text.
 * https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/query#response-body
 */
import {
  DuckDBBlobValue,
  DuckDBDecimalValue,
  type DuckDBListType,
  DuckDBListValue,
  type DuckDBStructType,
  DuckDBStructValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from "@duckdb/node-api";
import { typeName } from "../../../../adapters/shared/sql/values.ts";

/** Type names as in schemas (v2/tables#TableFieldSchema: "INTEGER (same as INT64)" and so on). */
const legacy: Readonly<Record<string, string>> = { INT64: "INTEGER", FLOAT64: "FLOAT", BOOL: "BOOLEAN" };

export const fieldOf = (name: string, type: DuckDBType): object => {
  if (type.typeId === DuckDBTypeId.LIST)
    return { ...fieldOf(name, (type as DuckDBListType).valueType), mode: "REPEATED" };
  if (type.typeId === DuckDBTypeId.STRUCT) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    const fields = entryNames.map((one, n) => fieldOf(one, entryTypes[n] as DuckDBType));
    return { name, type: "RECORD", mode: "NULLABLE", fields };
  }
  const word = typeName(type);
  return { name, type: legacy[word] ?? word, mode: "NULLABLE" };
};

/** @param inMicros timestamps as integer microseconds instead of fractional seconds (`useInt64Timestamp`) */
export const cellOf = (value: DuckDBValue, type: DuckDBType, inMicros: boolean): { v: unknown } => {
  if (value === null) return { v: null };
  if (value instanceof DuckDBListValue)
    return { v: value.items.map((item) => cellOf(item, (type as DuckDBListType).valueType, inMicros)) };
  if (value instanceof DuckDBStructValue) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    return {
      v: { f: entryNames.map((name, n) => cellOf(value.entries[name] ?? null, entryTypes[n] as DuckDBType, inMicros)) },
    };
  }
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue)
    return { v: inMicros ? String(value.micros) : String(Number(value.micros) / 1e6) };
  if (value instanceof DuckDBBlobValue) return { v: Buffer.from(value.bytes).toString("base64") };
  if (value instanceof DuckDBDecimalValue) return { v: value.toString() };
  return { v: String(value) };
};
