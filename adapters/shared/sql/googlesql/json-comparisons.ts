/**
 * Rejects comparisons of JSON values, as GoogleSQL does. Engines that store JSON as text would compare the text,
 * including its quotes.
 */
import { ownNames, pathOf, sqlColumns } from "./json-paths.ts";
import { InvalidStatement } from "./parser.ts";
import { isObject, type Json, type JsonObject, listOf, nameOf, nodeOf } from "./tree.ts";

/** Comparison nodes and their operands. */
const operands: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(["eq", "neq", "lt", "lte", "gt", "gte", "like"].map((kind) => [kind, ["left", "right"]])),
  in: ["this"],
  between: ["this", "low", "high"],
  case: ["operand"],
};

const jsonKinds: ReadonlySet<string> = new Set(["json_query", "json_extract", "parse_json", "to_json"]);
const jsonCalls: ReadonlySet<string> = new Set([...jsonKinds].map((kind) => kind.toUpperCase()));

const otherColumns: ReadonlySet<string> = new Set(
  sqlColumns.filter(({ type }) => type !== "JSON").map(({ name }) => name),
);

/** Maximum passes: one for each level of nested queries. The parser accepts at most 32 levels. */
const ROUNDS = 32;

type See = (kind: string, body: JsonObject) => void;

const visit = (value: Json | undefined, see: See): void => {
  if (Array.isArray(value)) for (const one of value as readonly Json[]) visit(one, see);
  else if (isObject(value)) {
    const node = nodeOf(value);
    if (node !== undefined) see(node.kind, node.body);
    for (const one of Object.values(value)) visit(one, see);
  }
};

const lowerName = (identifier: Json | undefined): string => nameOf(identifier).toLowerCase();

/**
 * The names of JSON values in a statement. Ignores scopes: a name with a different meaning anywhere in the statement
 * does not count as JSON.
 */
class JsonNames {
  readonly #json = new Set<string>();
  readonly #others = new Set(otherColumns);

  constructor(statement: Json) {
    const named: { readonly name: string; readonly value: Json | undefined }[] = [];
    visit(statement, (kind, body) => {
      if (kind === "alias") named.push({ name: lowerName(body["alias"]), value: body["this"] });
      else if (isObject(body["alias"])) this.#others.add(lowerName(body["alias"]));
      if (kind !== "select") return;
      for (const value of listOf(body["expressions"])) {
        const last = pathOf(value)?.names.at(-1);
        if (last !== undefined && this.isJson(value)) named.push({ name: lowerName(last), value });
      }
      for (const clause of isObject(body["with"]) ? listOf(body["with"]["ctes"]) : [])
        if (isObject(clause)) this.#others.add(lowerName(clause["alias"]));
    });
    for (let round = 0, known = -1; round < ROUNDS && known !== this.#json.size; round++) {
      known = this.#json.size;
      for (const { name, value } of named) if (this.isJson(value)) this.#json.add(name);
    }
    for (const { name, value } of named) if (!this.isJson(value)) this.#others.add(name);
  }

  isJson(value: Json | undefined): boolean {
    const node = nodeOf(value);
    if (node?.kind === "paren") return this.isJson(node.body["this"]);
    if (node?.kind === "function") return jsonCalls.has(String(node.body["name"]).toUpperCase());
    if (node !== undefined && jsonKinds.has(node.kind)) return true;
    const names = pathOf(value)?.names.map(lowerName) ?? [];
    const own = ownNames(names);
    if (own !== undefined) return !this.#others.has(names[own - 1] as string);
    return names.slice(0, 2).some((name) => this.#json.has(name) && !this.#others.has(name));
  }
}

const NOT_COMPARED =
  "JSON cannot be compared; extract a value and compare it as text, such as JSON_VALUE(json_payload.level) = 'error'";

/** Throws for statements that compare JSON with `=`, `<`, IN, BETWEEN, LIKE or CASE. */
export const rejectJsonComparisons = (statements: readonly Json[]): void => {
  for (const statement of statements) {
    const names = new JsonNames(statement);
    visit(statement, (kind, body) => {
      const compared = Object.hasOwn(operands, kind) ? (operands[kind] as readonly string[]) : [];
      if (compared.some((operand) => names.isJson(body[operand]))) throw new InvalidStatement(NOT_COMPARED);
    });
  }
};
