/** Prints a JSON Schema as a TypeScript-like type. */

export interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly contentMediaType?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
}

const WIDTH = 100;
const MAX_WORDS = 12;

const union = (parts: readonly Schema[], indent: string): string =>
  parts.map((part) => shapeOf(part, indent)).join(" | ");

const member = (name: string, schema: Schema, required: boolean, indent: string): string =>
  `${name}${required ? "" : "?"}: ${shapeOf(schema, indent)}`;

const isDescribed = (schema: Schema): boolean =>
  schema.description !== undefined ||
  Object.values(schema.properties ?? {}).some(isDescribed) ||
  (schema.items !== undefined && isDescribed(schema.items));

const objectShape = (schema: Schema, indent: string): string => {
  const { properties = {}, required = [], additionalProperties: others } = schema;
  const names = Object.keys(properties);
  if (names.length === 0) return typeof others === "object" ? `{ [name]: ${shapeOf(others, indent)} }` : "object";
  const line = `{ ${names.map((name) => member(name, properties[name] as Schema, required.includes(name), "")).join(", ")} }`;
  const short = indent !== "" && line.length + indent.length < WIDTH && !Object.values(properties).some(isDescribed);
  if (short && !line.includes("\n")) return line;
  const inner = `${indent}  `;
  const lines = names.map((name) => {
    const one = properties[name] as Schema;
    const words = one.description === undefined ? "" : `  // ${one.description}`;
    return `${inner}${member(name, one, required.includes(name), inner)}${words}`;
  });
  return `{\n${lines.join("\n")}\n${indent}}`;
};

/** Abbreviates a long enumeration to its first and last value. */
const wordsOf = (words: readonly unknown[]): string => {
  const shown = words.map((one) => JSON.stringify(one));
  return (shown.length > MAX_WORDS ? [shown[0], "…", shown.at(-1)] : shown).join(" | ");
};

/** Marks optional members with `?` and adds descriptions after `//`. */
export const shapeOf = (schema: Schema, indent = ""): string => {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return wordsOf(schema.enum);
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts !== undefined) return union(parts, indent);
  const { type } = schema;
  if (typeof type === "object") return type.join(" | ");
  if (type === "array") {
    const of = shapeOf(schema.items ?? {}, indent);
    return of.includes(" | ") && !of.startsWith("{") ? `(${of})[]` : `${of}[]`;
  }
  if (type === "object") return objectShape(schema, indent);
  return schema.contentMediaType === undefined ? (schema.format ?? type ?? "any") : "file";
};
