/**
 * Translates dotted paths into JSON columns. Trino allows dot access only on values of type ROW, so
 * `json_payload.user.id` becomes JSON_QUERY(json_payload, '$.user.id').
 */
import { ownNames, pathOf, type Step } from "../../../shared/sql/googlesql/json-paths.ts";
import { call, isObject, type Json, nameOf, text } from "../../../shared/sql/googlesql/tree.ts";

const column = (names: readonly Json[]): Json => {
  const [first, second, ...more] = names;
  const [name, table] = second === undefined ? [first, null] : [second, first];
  const base: Json = { column: { name: name as Json, table: table as Json, join_mark: false, trailing_comments: [] } };
  return more.reduce<Json>((inner, field) => ({ dot: { this: inner, field } }), base);
};

const stepText = (step: Step): string =>
  "index" in step ? `[${step.index}]` : /^[A-Za-z_]\w*$/.test(step.field) ? `.${step.field}` : `["${step.field}"]`;

const asQuery = (value: Json): Json | undefined => {
  const path = pathOf(value);
  if (path === undefined) return undefined;
  const own = ownNames(path.names.map((one) => nameOf(one).toLowerCase()));
  if (own === undefined) return undefined;
  const steps = [...path.names.slice(own).map((one) => ({ field: nameOf(one) })), ...path.steps];
  if (steps.length === 0) return undefined;
  return call("JSON_QUERY", [column(path.names.slice(0, own)), text(`$${steps.map(stepText).join("")}`)]);
};

export const queryJsonFields = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(queryJsonFields);
  if (!isObject(value)) return value;
  const query = asQuery(value);
  if (query !== undefined) return query;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, queryJsonFields(one as Json)]));
};
