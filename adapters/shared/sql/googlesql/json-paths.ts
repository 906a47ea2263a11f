/**
 * Finds paths into JSON in a statement. The table definitions (`core/domain/sql/tables.ts`) determine which columns are
 * JSON.
 */
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { isObject, type Json, type JsonObject, nameOf, nodeOf } from "./tree.ts";

export const sqlColumns = sqlTables.flatMap(({ columns }) => columns);

const jsonColumns: ReadonlySet<string> = new Set(
  sqlColumns.filter(({ type }) => type === "JSON").map(({ name }) => name),
);

/** JSON fields inside structs, such as `labels` in `STRUCT<type STRING, labels JSON>`. */
const jsonFields: ReadonlySet<string> = new Set(
  sqlColumns.flatMap(({ name, type }) => [...type.matchAll(/(\w+) JSON\b/g)].map(([, field]) => `${name}.${field}`)),
);

export type Step = { readonly field: string } | { readonly index: number };

export interface Path {
  /** Identifiers. The first may be a table name. */
  readonly names: readonly Json[];
  readonly steps: readonly Step[];
}

const identifiers = (body: JsonObject): readonly Json[] =>
  [body["table"], body["name"]].filter((one) => one !== null && one !== undefined) as Json[];

/** Returns the parts of a path such as `a.b.c[0]`, or undefined if the node is not a path. */
export const pathOf = (value: Json | undefined): Path | undefined => {
  const node = nodeOf(value);
  if (node?.kind === "column") return { names: identifiers(node.body), steps: [] };
  if (node?.kind === "dot") {
    const path = pathOf(node.body["this"]);
    const field = node.body["field"];
    if (path === undefined || !isObject(field)) return undefined;
    return path.steps.length === 0
      ? { names: [...path.names, field], steps: [] }
      : { ...path, steps: [...path.steps, { field: nameOf(field) }] };
  }
  if (node?.kind !== "subscript") return undefined;
  const path = pathOf(node.body["this"]);
  const literal = nodeOf(node.body["index"]);
  if (path === undefined || literal?.kind !== "literal") return undefined;
  const text = String(literal.body["value"]);
  const step = literal.body["literal_type"] === "number" ? { index: Number(text) } : { field: text };
  return { ...path, steps: [...path.steps, step] };
};

/** Returns how many of the names identify the JSON column. The remaining names are keys in its value. */
export const ownNames = (names: readonly string[]): number | undefined => {
  for (let length = 1; length <= names.length; length++) {
    const last = names[length - 1] as string;
    if (jsonColumns.has(last) && length <= 2) return length;
    if (jsonFields.has(`${names[length - 2]}.${last}`) && length <= 3) return length;
  }
  return undefined;
};
