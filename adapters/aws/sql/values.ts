/**
 * Converts the values of GetQueryResults to the values of a SQL response. Athena returns every value as text. The
 * translated statement encodes lists, records and JSON as JSON, and bytes as base64 (`trino/shape.ts`).
 */

import type { SqlColumn, SqlValue } from "../../../core/domain/sql/answer.ts";
import { type Instant, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Shape, ShapedColumn } from "../../shared/sql/process/protocol.ts";
import { scalarReader } from "../../shared/sql/scalar-text.ts";
import { TYPE_OF } from "./trino/shape.ts";
import { googleType, parseType, type TrinoType } from "./types.ts";

export interface Column {
  readonly Name?: string | undefined;
  readonly Type?: string | undefined;
}

export interface Row {
  readonly Data?: readonly { readonly VarCharValue?: string | undefined }[] | undefined;
}

const shapes: Readonly<Record<string, Shape>> = {
  array: "typed",
  row: "typed",
  map: "typed",
  struct: "typed",
  json: "json",
  varbinary: "bytes",
};

const typeName = (column: Column): string => (column.Type ?? "varchar").toLowerCase().replace(/\(.*/, "").trim();

/** Returns how the statement must encode each column, by its type. */
export const shapesOf = (columns: readonly Column[]): readonly ShapedColumn[] =>
  columns.map((column) => ({ name: column.Name ?? "", shape: shapes[typeName(column)] ?? "plain" }));

/** Parses `2026-01-31 09:08:07.500 UTC`; the session's time zone is UTC. */
const timestampIn = (text: string): SqlValue => {
  const [, date, clock] = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)/.exec(text) ?? [];
  const instant = parseInstant(`${date}T${clock}Z`);
  return instant === undefined ? text : timestampOf(instant as Instant);
};

const scalarOf = scalarReader(timestampIn);

/** Converts a value inside a list or record, already parsed from JSON. */
const innerOf = (type: TrinoType, json: unknown): SqlValue => {
  if (json === null || json === undefined) return null;
  if (type.kind === "array") return (json as readonly unknown[]).map((one) => innerOf(type.element, one));
  if (type.kind === "row") {
    // Older versions of Athena return a record as a list of its values.
    const fieldOf = (name: string, n: number) =>
      Array.isArray(json) ? json[n] : (json as Readonly<Record<string, unknown>>)[name];
    return Object.fromEntries(type.fields.map((field, n) => [field.name, innerOf(field.type, fieldOf(field.name, n))]));
  }
  return type.name === "JSON" ? (json as SqlValue) : scalarOf(type.name, String(json));
};

const typeOf = (column: Column, shape: Shape, printedType: string | undefined): TrinoType => {
  if (shape === "bytes") return { kind: "scalar", name: "BYTES" };
  if (shape === "json") return { kind: "scalar", name: "JSON" };
  // Without rows, the types inside lists and records are unknown.
  if (shape === "typed") return printedType === undefined ? { kind: "scalar", name: "JSON" } : parseType(printedType);
  return parseType(column.Type ?? "varchar");
};

export interface ResultReader {
  readonly columns: readonly SqlColumn[];
  readonly valuesOf: (row: Row) => readonly SqlValue[];
}

const cell = (row: Row, n: number): string | undefined => row.Data?.[n]?.VarCharValue;

/**
 * @param columns the columns of the result, including the appended columns that contain types
 * @param plan the columns as the statement encodes them
 * @param first the first row, which contains the types of lists and records
 */
export const resultOf = (
  columns: readonly Column[],
  plan: readonly ShapedColumn[],
  first: Row | undefined,
): ResultReader => {
  const typeColumns = new Map(columns.map(({ Name = "" }, n) => [Name, n]));
  const types = plan.map(({ shape }, n) => {
    const typeColumn = typeColumns.get(`${TYPE_OF}${n}`);
    return typeOf(
      columns[n] ?? {},
      shape,
      first === undefined || typeColumn === undefined ? undefined : cell(first, typeColumn),
    );
  });
  return {
    columns: plan.map(({ name }, n) => ({ name, type: googleType(types[n] as TrinoType) })),
    valuesOf: (row) =>
      types.map((type, n) => {
        const text = cell(row, n);
        if (text === undefined) return null;
        return type.kind === "scalar" ? scalarOf(type.name, text) : innerOf(type, JSON.parse(text));
      }),
  };
};
