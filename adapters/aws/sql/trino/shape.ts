/**
 * Encodes the columns of a result so that Portside can parse them. Athena prints lists and records without quotes,
 * which is ambiguous, so they are encoded as JSON. The query itself encodes its columns. An outer query could not do
 * so, because in Trino it would lose the order of the inner query.
 */
import { UnsupportedSyntax } from "../../../shared/sql/googlesql/rewrite.ts";
import { call, isObject, type Json, type JsonObject, listOf, nodeOf } from "../../../shared/sql/googlesql/tree.ts";
import type { Shape, ShapedColumn } from "../../../shared/sql/process/protocol.ts";

/** Name prefix of the appended columns, each of which contains the type of another column. */
export const TYPE_OF = "portside type of ";

const identifier = (name: string): Json => ({ name, quoted: true, trailing_comments: [] });

const asJson = (value: Json): Json => ({
  cast: {
    this: value,
    to: { data_type: "json" },
    trailing_comments: [],
    double_colon_syntax: false,
    format: null,
    default: null,
  },
});

const wrapped = (value: Json, shape: Shape): Json => {
  if (shape === "plain") return value;
  return shape === "bytes" ? call("to_base64", [value]) : call("json_format", [asJson(value)]);
};

const named = (value: Json, name: string): Json => ({
  alias: {
    this: value,
    alias: identifier(name),
    column_aliases: [],
    alias_explicit_as: true,
    pre_alias_comments: [],
    trailing_comments: [],
  },
});

const bare = (value: Json): Json => {
  const node = nodeOf(value);
  return node?.kind === "alias" ? (node.body["this"] as Json) : value;
};

const isStar = (value: Json): boolean => nodeOf(value)?.kind === "star";

/** Returns the expressions of a SELECT, with a star expanded to its columns. */
const expressionsOf = (body: JsonObject, columns: readonly ShapedColumn[]): readonly Json[] => {
  const given = listOf(body["expressions"]);
  const stars = given.filter(isStar);
  if (stars.length === 0) return given;
  if (stars.length > 1) throw new UnsupportedSyntax("only one star is supported here; name the columns");
  return given.flatMap((one, index) => {
    if (!isStar(one)) return [one];
    const table = nodeOf(one)?.body["table"];
    const own = columns.slice(index, index + columns.length - given.length + 1);
    return own.map(
      ({ name }): Json => ({
        column: {
          name: identifier(name),
          table: isObject(table) ? table : null,
          join_mark: false,
          trailing_comments: [],
        },
      }),
    );
  });
};

const shapedSelect = (body: JsonObject, columns: readonly ShapedColumn[]): Json => {
  const values = expressionsOf(body, columns).map(bare);
  const expressions = values.map((value, index) => {
    const { name, shape } = columns[index] as ShapedColumn;
    return named(wrapped(value, shape), name);
  });
  const types = values.flatMap((value, index) => {
    const { shape } = columns[index] as ShapedColumn;
    return shape === "typed" ? [named(call("typeof", [value]), `${TYPE_OF}${index}`)] : [];
  });
  return { select: { ...body, expressions: [...expressions, ...types] } };
};

/** Returns the query with its columns encoded, including in each part of a UNION, INTERSECT or EXCEPT. */
export const shaped = (query: Json, columns: readonly ShapedColumn[]): Json => {
  if (columns.every(({ shape }) => shape === "plain")) return query;
  const node = nodeOf(query);
  switch (node?.kind) {
    case "select":
      return shapedSelect(node.body, columns);
    case "subquery":
    case "paren":
      return { [node.kind]: { ...node.body, this: shaped(node.body["this"] as Json, columns) } };
    case "union":
    case "intersect":
    case "except": {
      const [left, right] = [node.body["left"] as Json, node.body["right"] as Json];
      return { [node.kind]: { ...node.body, left: shaped(left, columns), right: shaped(right, columns) } };
    }
    default:
      throw new UnsupportedSyntax("this form of query is not supported here");
  }
};
