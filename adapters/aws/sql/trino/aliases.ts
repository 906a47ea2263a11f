/** Expands column aliases of a SELECT in GROUP BY and HAVING. GoogleSQL allows aliases there, and Trino does not. */
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { isObject, type Json, type JsonObject, listOf, nameOf, nodeOf } from "../../../shared/sql/googlesql/tree.ts";

/** The columns of `logs` and `billing`. A column's name takes precedence over an alias. */
const columns: ReadonlySet<string> = new Set(sqlTables.flatMap((table) => table.columns.map(({ name }) => name)));

const aliasesOf = (body: JsonObject): ReadonlyMap<string, Json> =>
  new Map(
    listOf(body["expressions"]).flatMap((one): [string, Json][] => {
      const node = nodeOf(one);
      const name = nameOf(node?.body["alias"]).toLowerCase();
      return node?.kind === "alias" && !columns.has(name) ? [[name, node.body["this"] as Json]] : [];
    }),
  );

/**
 * Replaces unqualified names with the expressions of their aliases. Leaves subqueries unchanged, because a subquery has
 * its own aliases.
 */
const expanded = (value: Json, aliases: ReadonlyMap<string, Json>): Json => {
  if (Array.isArray(value)) return value.map((one) => expanded(one, aliases));
  if (!isObject(value)) return value;
  const node = nodeOf(value);
  if (node?.kind === "select") return value;
  const replacement =
    node?.kind === "column" && !isObject(node.body["table"])
      ? aliases.get(nameOf(node.body["name"]).toLowerCase())
      : undefined;
  if (replacement !== undefined) return { paren: { this: replacement, trailing_comments: [] } };
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expanded(one as Json, aliases)]));
};

export const expandAliases = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(expandAliases);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expandAliases(one as Json)]));
  const node = nodeOf(inner);
  if (node?.kind !== "select") return inner;
  const aliases = aliasesOf(node.body);
  const clauses = ["group_by", "having"].map((key) => [key, expanded(node.body[key] ?? null, aliases)]);
  return { select: { ...node.body, ...Object.fromEntries(clauses) } };
};
