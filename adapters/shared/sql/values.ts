/** Converts the engine's values and types to those of a SQL result. */
import {
  type DuckDBArrayType,
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

const names: Readonly<Partial<Record<DuckDBTypeId, string>>> = {
  [DuckDBTypeId.BOOLEAN]: "BOOL",
  [DuckDBTypeId.TINYINT]: "INT64",
  [DuckDBTypeId.SMALLINT]: "INT64",
  [DuckDBTypeId.INTEGER]: "INT64",
  [DuckDBTypeId.BIGINT]: "INT64",
  [DuckDBTypeId.HUGEINT]: "INT64",
  [DuckDBTypeId.UTINYINT]: "INT64",
  [DuckDBTypeId.USMALLINT]: "INT64",
  [DuckDBTypeId.UINTEGER]: "INT64",
  [DuckDBTypeId.UBIGINT]: "INT64",
  [DuckDBTypeId.FLOAT]: "FLOAT64",
  [DuckDBTypeId.DOUBLE]: "FLOAT64",
  [DuckDBTypeId.DECIMAL]: "NUMERIC",
  [DuckDBTypeId.BLOB]: "BYTES",
  [DuckDBTypeId.DATE]: "DATE",
  [DuckDBTypeId.TIMESTAMP]: "TIMESTAMP",
  [DuckDBTypeId.TIMESTAMP_TZ]: "TIMESTAMP",
  [DuckDBTypeId.INTERVAL]: "INTERVAL",
};

export const typeName = (type: DuckDBType): string => {
  if (type.alias === "JSON") return "JSON";
  if (type.typeId === DuckDBTypeId.LIST) return `ARRAY<${typeName((type as DuckDBListType).valueType)}>`;
  if (type.typeId === DuckDBTypeId.ARRAY) return `ARRAY<${typeName((type as DuckDBArrayType).valueType)}>`;
  if (type.typeId === DuckDBTypeId.STRUCT) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    return `STRUCT<${entryNames.map((name, n) => `${name} ${typeName(entryTypes[n] as DuckDBType)}`).join(", ")}>`;
  }
  return names[type.typeId] ?? "STRING";
};

const momentOf = (micros: bigint): string => timestampOf((micros * 1000n) as Instant);

/** Formats a decimal without trailing zeros: 1.500000000 is 1.5. */
const decimalText = (value: DuckDBDecimalValue): string => {
  const text = value.toString();
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

const numberOf = (value: number): SqlValue =>
  Number.isFinite(value) ? value : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";

const integerOf = (value: bigint): SqlValue =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : String(value);

export const sqlValueOf = (value: DuckDBValue, type: DuckDBType): SqlValue => {
  if (value === null) return null;
  if (type.alias === "JSON") return JSON.parse(String(value)) as SqlValue;
  switch (typeof value) {
    case "bigint":
      return integerOf(value);
    case "number":
      return numberOf(value);
    case "object":
      return structured(value, type);
    default:
      return value;
  }
};

const structured = (value: Exclude<DuckDBValue, null>, type: DuckDBType): SqlValue => {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return momentOf(value.micros);
  if (value instanceof DuckDBDecimalValue) return decimalText(value);
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
