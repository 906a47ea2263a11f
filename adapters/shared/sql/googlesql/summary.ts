/** Summarizes a statement's tree for the statement rule. Reports every node whose kind is not one of `plainKinds`. */
import type { StatementPart, StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { isNothing, isObject, type Json, type JsonObject, listOf, nameOf, nodeOf, placeAt, spanOf } from "./tree.ts";
import { functionNames, plainKinds, queryKinds, selectKeys, tableKeys } from "./words.ts";

/** A token and its position. */
export interface Token {
  readonly text: string;
  readonly start: number;
}

type Scope = ReadonlySet<string>;

/** Fields that are not node kinds. A body with only one of them would look like a node. */
const fields: ReadonlySet<string> = new Set(["this", "expressions", "num_buckets"]);

class Summing {
  readonly tables: StatementPart[] = [];
  readonly functions: StatementPart[] = [];
  readonly tableFunctions: StatementPart[] = [];
  readonly others: StatementPart[] = [];
  readonly #text: string;
  readonly #tokens: readonly Token[];

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text;
    this.#tokens = tokens;
  }

  walk(value: Json | undefined, scope: Scope): void {
    if (Array.isArray(value)) for (const one of value as readonly Json[]) this.walk(one, scope);
    else if (isObject(value)) {
      const node = nodeOf(value);
      if (node === undefined) this.#inside(value, scope);
      else this.#node(node.kind, node.body, scope);
    }
  }

  #node(kind: string, body: JsonObject, scope: Scope): void {
    if (fields.has(kind)) return this.walk(body, scope);
    if (kind === "table") return this.#table(body, scope);
    if (kind === "select") return this.#select(body, scope);
    if (kind === "function" || kind === "aggregate_function") this.#function(String(body["name"]).toUpperCase());
    else if (kind === "method_call") this.#other(`${nameOf(body["method"])}(...) as a method call`, body["method"]);
    else if (kind === "unnest" && body["with_ordinality"] === true) this.#word("WITH OFFSET", "OFFSET");
    else if (!plainKinds.has(kind)) this.#function(functionNames[kind] ?? kind.toUpperCase());
    this.#inside(body, this.#withNames(body, scope));
  }

  #inside(body: JsonObject, scope: Scope): void {
    if (listOf(body["ctes"]).length > 0) return;
    for (const [key, one] of Object.entries(body)) if (key !== "with" && key !== "span") this.walk(one, scope);
  }

  /** Walks the queries of a WITH clause, each with the earlier names in scope. Returns the scope after the clause. */
  #withNames(body: JsonObject, scope: Scope): Scope {
    const clause = body["with"];
    if (!isObject(clause)) return scope;
    if (clause["recursive"] === true) this.#word("WITH RECURSIVE", "RECURSIVE");
    const names = new Set(scope);
    for (const one of listOf(clause["ctes"])) {
      if (!isObject(one)) continue;
      this.walk(one["this"], new Set(names));
      names.add(nameOf(one["alias"]).toLowerCase());
    }
    return names;
  }

  #select(body: JsonObject, scope: Scope): void {
    for (const [key, value] of Object.entries(body))
      if (!selectKeys.has(key) && !key.endsWith("comments") && !isNothing(value))
        this.others.push({ name: key.replaceAll("_", " ").toUpperCase() });
    const from = isObject(body["from"]) ? listOf(body["from"]["expressions"]) : [];
    const joined = listOf(body["joins"]).map((join) => (isObject(join) ? join["this"] : undefined));
    for (const one of [...from, ...joined]) this.#source(one);
    this.#inside(body, this.#withNames(body, scope));
  }

  /** Reads an item of FROM: a table, a query in parentheses, or UNNEST. */
  #source(one: Json | undefined): void {
    const node = nodeOf(one);
    if (node === undefined || ["table", "subquery", "unnest"].includes(node.kind)) return;
    if (node.kind === "alias") return this.#source(node.body["this"]);
    const name = typeof node.body["name"] === "string" ? node.body["name"] : node.kind;
    this.tableFunctions.push({ name: name.toUpperCase(), ...this.#find(name) });
  }

  #table(body: JsonObject, scope: Scope): void {
    const parts = [body["catalog"], body["schema"], body["name"]].map(nameOf).filter((part) => part !== "");
    const name = parts.join(".");
    if (parts.length !== 1 || !scope.has(name.toLowerCase()))
      this.tables.push({ name, ...spanOf(this.#text, body["name"]) });
    for (const [key, value] of Object.entries(body))
      if (!tableKeys.has(key) && !key.endsWith("comments") && !isNothing(value))
        this.#other(key.replaceAll("_", " ").toUpperCase(), body["name"]);
  }

  #function(name: string): void {
    this.functions.push({ name, ...this.#find(name) });
  }

  #other(name: string, near: Json | undefined): void {
    this.others.push({ name, ...spanOf(this.#text, near) });
  }

  #word(name: string, word: string): void {
    this.others.push({ name, ...this.#find(word) });
  }

  /**
   * Returns the position of the first token with this name, because the tree does not contain positions of functions.
   */
  #find(name: string): Pick<StatementPart, "line" | "column"> {
    const word = name.split(".").at(-1)?.toUpperCase();
    const token = this.#tokens.find(({ text }) => text.toUpperCase() === word);
    return token === undefined ? {} : placeAt(this.#text, token.start);
  }
}

/** Returns the select that determines the columns of the result. */
const firstSelect = (query: Json | undefined): JsonObject | undefined => {
  const node = nodeOf(query);
  if (node === undefined) return undefined;
  if (node.kind === "select") return node.body;
  return firstSelect(node.kind === "subquery" || node.kind === "paren" ? node.body["this"] : node.body["left"]);
};

const unnamedColumns = (query: Json | undefined): number[] =>
  listOf(firstSelect(query)?.["expressions"]).flatMap((one, index) =>
    ["alias", "column", "star", "dot"].includes(nodeOf(one)?.kind ?? "") ? [] : [index + 1],
  );

export const summarize = (text: string, statements: readonly Json[], tokens: readonly Token[]): StatementSummary => {
  const [first] = statements;
  const root = nodeOf(first)?.kind ?? "nothing";
  // The parser also accepts query forms of other dialects.
  const word = tokens.find(({ text: one }) => one !== "(")?.text.toUpperCase() ?? "";
  const isQuery = queryKinds.has(root) && ["SELECT", "WITH"].includes(word);
  const summing = new Summing(text, tokens);
  if (isQuery) summing.walk(first, new Set());
  return {
    statements: statements.length,
    root: isQuery ? "SELECT" : queryKinds.has(root) ? word : root.replaceAll("_", " ").toUpperCase(),
    tables: summing.tables,
    functions: summing.functions,
    tableFunctions: summing.tableFunctions,
    others: summing.others,
    unnamed: isQuery ? unnamedColumns(first) : [],
  };
};
