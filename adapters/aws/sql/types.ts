/**
 * Parses Trino's types, as `typeof` prints them, and returns GoogleSQL's names for them:
 * https://trino.io/docs/current/language/types.html
 */

export type TrinoType =
  | { readonly kind: "scalar"; readonly name: string }
  | { readonly kind: "array"; readonly element: TrinoType }
  | { readonly kind: "row"; readonly fields: readonly { readonly name: string; readonly type: TrinoType }[] };

const scalars: Readonly<Record<string, string>> = {
  boolean: "BOOL",
  tinyint: "INT64",
  smallint: "INT64",
  integer: "INT64",
  bigint: "INT64",
  real: "FLOAT64",
  float: "FLOAT64",
  double: "FLOAT64",
  decimal: "NUMERIC",
  varbinary: "BYTES",
  date: "DATE",
  timestamp: "TIMESTAMP",
  "timestamp with time zone": "TIMESTAMP",
  json: "JSON",
};

/** Removes the precision, as in `timestamp(3) with time zone`. */
const bareName = (text: string): string =>
  text
    .replace(/\([^)]*\)/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .toLowerCase();

/** Splits `a, b(c, d)` at its top-level commas. */
const partsOf = (text: string): string[] => {
  const parts: string[] = [];
  let [depth, from] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part !== "");
};

const inside = (text: string): string => text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));

/** Parses `"a b" integer`, `a integer`, or a type without a name. */
const fieldOf = (text: string) => {
  const [, quoted, plain, type] = /^(?:"((?:[^"]|"")*)"|([A-Za-z_]\w*))\s+(.+)$/.exec(text) ?? [];
  const isType = plain !== undefined && /^(timestamp|time|interval|double)$/i.test(plain);
  return type === undefined || isType
    ? { name: "", type: parseType(text) }
    : { name: quoted?.replaceAll('""', '"') ?? plain ?? "", type: parseType(type) };
};

export const parseType = (text: string): TrinoType => {
  const trimmed = text.trim();
  if (/^array\(/i.test(trimmed)) return { kind: "array", element: parseType(inside(trimmed)) };
  if (/^row\(/i.test(trimmed)) return { kind: "row", fields: partsOf(inside(trimmed)).map(fieldOf) };
  return { kind: "scalar", name: scalars[bareName(trimmed)] ?? "STRING" };
};

export const googleType = (type: TrinoType): string => {
  switch (type.kind) {
    case "array":
      return `ARRAY<${googleType(type.element)}>`;
    case "row":
      return `STRUCT<${type.fields.map((field) => `${field.name} ${googleType(field.type)}`.trim()).join(", ")}>`;
    case "scalar":
      return type.name;
  }
};
