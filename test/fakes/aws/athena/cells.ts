/**
 * Formats DuckDB values as GetQueryResults does: all values are text, and null is a missing value. Athena prints lists
 * and records without quotes, and bytes as pairs of hex digits. AWS does not document this.
 */
import {
  DuckDBBlobValue,
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

const names: Readonly<Partial<Record<DuckDBTypeId, string>>> = {
  [DuckDBTypeId.BOOLEAN]: "boolean",
  [DuckDBTypeId.TINYINT]: "tinyint",
  [DuckDBTypeId.SMALLINT]: "smallint",
  [DuckDBTypeId.INTEGER]: "integer",
  [DuckDBTypeId.BIGINT]: "bigint",
  [DuckDBTypeId.HUGEINT]: "bigint",
  [DuckDBTypeId.FLOAT]: "float",
  [DuckDBTypeId.DOUBLE]: "double",
  [DuckDBTypeId.DECIMAL]: "decimal",
  [DuckDBTypeId.BLOB]: "varbinary",
  [DuckDBTypeId.DATE]: "date",
  [DuckDBTypeId.TIMESTAMP]: "timestamp",
  [DuckDBTypeId.TIMESTAMP_TZ]: "timestamp with time zone",
  [DuckDBTypeId.LIST]: "array",
  [DuckDBTypeId.STRUCT]: "row",
  [DuckDBTypeId.MAP]: "map",
};

/** ColumnInfo in the service model. */
export const columnOf = (name: string, type: DuckDBType): object => ({
  CatalogName: "hive",
  Name: name,
  Label: name,
  Type: type.alias === "JSON" ? "json" : (names[type.typeId] ?? "varchar"),
  Nullable: "UNKNOWN",
});

/** Converts `STRUCT(a INTEGER)[]` to `array(row(a integer))`. */
const trinoType = (duck: string): string => {
  const text = duck.trim();
  if (text.endsWith("[]")) return `array(${trinoType(text.slice(0, -2))})`;
  const [, fields] = /^STRUCT\((.*)\)$/s.exec(text) ?? [];
  if (fields !== undefined) {
    const parts = fields.split(/,\s*(?![^(]*\))/).map((part) => /^("[^"]*"|\w+)\s+(.*)$/s.exec(part));
    return `row(${parts.map((part) => `${part?.[1]} ${trinoType(part?.[2] ?? "")}`).join(", ")})`;
  }
  if (text === "TIMESTAMP WITH TIME ZONE") return "timestamp(3) with time zone";
  return text === "BLOB" ? "varbinary" : text.toLowerCase();
};

const moment = (micros: bigint): string => {
  const iso = new Date(Number(micros / 1000n)).toISOString();
  const rest = String(micros % 1000n).padStart(3, "0");
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}${rest === "000" ? "" : rest}`;
};

const textOf = (value: DuckDBValue, type: DuckDBType): string => {
  if (value === null) return "null";
  if (value instanceof DuckDBTimestampTZValue) return `${moment(value.micros)} UTC`;
  if (value instanceof DuckDBTimestampValue) return moment(value.micros);
  if (value instanceof DuckDBBlobValue)
    return [...value.bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  if (value instanceof DuckDBListValue) {
    const { valueType } = type as DuckDBListType;
    return `[${value.items.map((item) => textOf(item, valueType)).join(", ")}]`;
  }
  if (value instanceof DuckDBStructValue) {
    const { entryNames, entryTypes } = type as DuckDBStructType;
    const fields = entryNames.map(
      (name, n) => `${name}=${textOf(value.entries[name] ?? null, entryTypes[n] as DuckDBType)}`,
    );
    return `{${fields.join(", ")}}`;
  }
  const text = String(value);
  if (text.startsWith("duck:")) return trinoType(text.slice("duck:".length));
  return type.typeId === DuckDBTypeId.DOUBLE && Number.isInteger(value) ? `${text}.0` : text;
};

/** Datum in the service model. */
export const cellOf = (value: DuckDBValue, type: DuckDBType): object =>
  value === null ? {} : { VarCharValue: textOf(value, type) };
