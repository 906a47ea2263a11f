/** Converts DuckDB's values and types to those of a SQL result. */
import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
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
import type { SqlValue } from "../../../core/domain/sql/answer.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import { decimalOf } from "./scalar-text.ts";

const integers = [
  "TINYINT",
  "SMALLINT",
  "INTEGER",
  "BIGINT",
  "HUGEINT",
  "UTINYINT",
  "USMALLINT",
  "UINTEGER",
  "UBIGINT",
];

/** GoogleSQL's names for DuckDB's types. Other types become STRING, except JSON, lists and structs. */
const names: Readonly<Record<string, string>> = {
  ...Object.fromEntries(integers.map((name) => [name, "INT64"])),
  BOOLEAN: "BOOL",
  FLOAT: "FLOAT64",
  DOUBLE: "FLOAT64",
  DECIMAL: "NUMERIC",
  BLOB: "BYTES",
  DATE: "DATE",
  TIMESTAMP: "TIMESTAMP",
  TIMESTAMP_TZ: "TIMESTAMP",
  INTERVAL: "INTERVAL",
};

export const typeName = (type: DuckDBType): string => {
  if (type.alias === "JSON") return "JSON";
  if (type.typeId === DuckDBTypeId.LIST || type.typeId === DuckDBTypeId.ARRAY)
    return `ARRAY<${typeName((type as DuckDBListType).valueType)}>`;
  if (type.typeId === DuckDBTypeId.STRUCT) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    return `STRUCT<${entryNames.map((name, n) => `${name} ${typeName(entryTypes[n] as DuckDBType)}`).join(", ")}>`;
  }
  return names[DuckDBTypeId[type.typeId]] ?? "STRING";
};

const momentOf = (micros: bigint): string => timestampOf((micros * 1000n) as Instant);

const integerOf = (value: bigint): SqlValue =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);

export const sqlValueOf = (value: DuckDBValue, type: DuckDBType): SqlValue => {
  if (value === null) return null;
  if (type.alias === "JSON") return JSON.parse(String(value)) as SqlValue;
  switch (typeof value) {
    case "bigint":
      return integerOf(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "object":
      return structured(value, type);
    default:
      return value;
  }
};

const structured = (value: Exclude<DuckDBValue, null>, type: DuckDBType): SqlValue => {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return momentOf(value.micros);
  if (value instanceof DuckDBDecimalValue) return decimalOf(value.toString());
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString("base64");
  if (value instanceof DuckDBDateValue) return value.toString();
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    const inner = (type as DuckDBListType).valueType;
    return value.items.map((item) => sqlValueOf(item, inner));
  }
  if (value instanceof DuckDBStructValue) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    return Object.fromEntries(
      entryNames.map((name, n) => [name, sqlValueOf(value.entries[name] ?? null, entryTypes[n] as DuckDBType)]),
    );
  }
  return String(value);
};
