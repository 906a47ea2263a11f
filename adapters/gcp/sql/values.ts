/**
 * Converts responses of BigQuery's REST API to values of a SQL response:
 * https://cloud.google.com/bigquery/docs/reference/rest/v2/jobs/getQueryResults,
 * https://cloud.google.com/bigquery/docs/reference/rest/v2/tables#TableFieldSchema
 */

import type { TableField } from "@google-cloud/bigquery";
import type { SqlColumn, SqlValue } from "../../../core/domain/sql/answer.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import { scalarReader } from "../../shared/sql/scalar-text.ts";

/** `v` is text, a list of cells, or a record's `{f}`. */
interface Cell {
  readonly v?: unknown;
}

export interface Row {
  readonly f?: readonly Cell[];
}

/** Schemas still use the type names of legacy SQL. */
const names: Readonly<Record<string, string>> = {
  INTEGER: "INT64",
  FLOAT: "FLOAT64",
  BOOLEAN: "BOOL",
  BIGNUMERIC: "NUMERIC",
};

const bareType = ({ type = "STRING", fields = [] }: TableField): string =>
  type === "RECORD" || type === "STRUCT"
    ? `STRUCT<${fields.map((field) => `${field.name} ${typeOf(field)}`).join(", ")}>`
    : (names[type] ?? type);

const typeOf = (field: TableField): string =>
  field.mode === "REPEATED" ? `ARRAY<${bareType(field)}>` : bareType(field);

export const columnsOf = (fields: readonly TableField[]): readonly SqlColumn[] =>
  fields.map((field) => ({ name: field.name ?? "", type: typeOf(field) }));

/** Parses integer microseconds (`formatOptions.useInt64Timestamp`). */
const momentOf = (text: string): string => timestampOf((BigInt(text) * 1000n) as Instant);

const scalarOf = scalarReader(momentOf);

const valueOfCell = (field: TableField, { v }: Cell): SqlValue => {
  if (v === null || v === undefined) return field.mode === "REPEATED" ? [] : null;
  if (field.mode === "REPEATED") {
    const { mode: _mode, ...element } = field;
    return (v as readonly Cell[]).map((cell) => valueOfCell(element, cell));
  }
  if (field.fields !== undefined && field.fields.length > 0) return recordOf(field.fields, v as Row);
  return scalarOf(bareType(field), String(v));
};

const recordOf = (fields: readonly TableField[], { f = [] }: Row): SqlValue =>
  Object.fromEntries(fields.map((field, n) => [field.name ?? "", valueOfCell(field, f[n] ?? {})]));

export const valuesOf = (fields: readonly TableField[], { f = [] }: Row): readonly SqlValue[] =>
  fields.map((field, n) => valueOfCell(field, f[n] ?? {}));
