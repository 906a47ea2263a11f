/** Converts a deployment or the schema's defaults to the values of a deploy's form, and these values to a request. */

/** The subset of JSON Schema that the form supports. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
}

export type Properties = Readonly<Record<string, Schema>>;
export type Values = Readonly<Record<string, unknown>>;
/** The keys and values of an object, such as a variable and its value. Keys may be empty or occur twice. */
export type Rows = readonly (readonly [key: string, value: unknown])[];

/** The fields of the form, in groups with a title. */
export const groups: readonly (readonly [title: string, fields: readonly string[]])[] = [
  ["Resources", ["memory", "cpu", "timeout", "concurrency"]],
  ["Instances", ["min_instances", "max_instances", "idle"]],
  ["Network", ["port", "session_affinity", "use_http2"]],
  ["Health check", ["health"]],
  ["Volumes", ["volumes"]],
  ["Schedule", ["schedule"]],
  ["Variables", ["env"]],
];

const names = groups.flatMap(([, fields]) => fields);

const labels: Readonly<Record<string, string>> = { cpu: "CPU", use_http2: "HTTP/2", timezone: "Time zone" };

/** Returns the label of a field, such as `Max instances`. */
export const labelOf = (name: string): string => {
  const words = name.replaceAll("_", " ");
  return labels[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
};

/**
 * Returns the description of a field. Omits sentences about `null`, objects and omitted fields, because users of the
 * form do not write the request.
 */
export const helpOf = ({ description = "" }: Schema): string =>
  description
    .split(/(?<=\.) /)
    .filter((sentence) => !/`null`|[{}]|^Omit the field|^They replace/.test(sentence))
    .join(" ");

/** Returns whether the schema describes an object with arbitrary keys, which the form shows as rows. */
export const isMap = ({ additionalProperties: values }: Schema): boolean => typeof values === "object";

export const typeOf = ({ type }: Schema): string => (typeof type === "string" ? type : (type?.[0] ?? "string"));

const rowsOf = (value: unknown): Rows => Object.entries((value ?? {}) as object);

/** Returns a mount in its long form, as in the list of deployments. */
const readMount = (value: unknown): unknown => (typeof value === "string" ? { name: value } : value);

const initialValue = (name: string, schema: Schema, value: unknown): unknown => {
  if (name === "volumes") return rowsOf(value).map(([path, mount]) => [path, readMount(mount)]);
  return isMap(schema) ? rowsOf(value) : (value ?? schema.default ?? null);
};

/**
 * Returns the values of the form.
 * @param given the fields of a deployment or of `portside.json`; other members are ignored
 * @param before the values of the fields that are not given; defaults to those of the schema
 */
export const valuesOf = (properties: Properties, given: Values, before: Values = {}): Values =>
  Object.fromEntries(
    names.flatMap((name): [string, unknown][] => {
      const schema = properties[name];
      if (schema === undefined) return [];
      if (!(name in given) && name in before) return [[name, before[name]]];
      return [[name, initialValue(name, schema, given[name])]];
    }),
  );

/** Returns the initial values of a new object, such as a health check. */
export const defaultsOf = ({ properties = {}, required = [] }: Schema): Values =>
  Object.fromEntries(
    Object.entries(properties)
      .filter(([name, schema]) => required.includes(name) || schema.default !== undefined)
      .map(([name, schema]) => [name, schema.default ?? ""]),
  );

/** A problem with a field. The path of the field is relative to the field of the form. */
export interface FieldProblem {
  readonly path: string;
  readonly message: string;
}

/** Returns the problems of one field of a request, from the issues of the API. */
export const problemsOf = (
  issues: readonly { readonly field: string; readonly message: string }[],
  name: string,
): readonly FieldProblem[] =>
  issues.flatMap(({ field, message }) =>
    field === name || field.startsWith(`${name}.`) ? [{ path: field.slice(name.length + 1), message }] : [],
  );

/** Returns the issues that belong to none of the fields. */
export const otherIssues = <I extends { readonly field: string }>(
  issues: readonly I[],
  fields: readonly string[],
): readonly I[] => issues.filter(({ field }) => !fields.some((name) => field === name || field.startsWith(`${name}.`)));

/** Returns the keys that occur in more than one row. */
export const repeatedKeys = (rows: Rows): readonly string[] => [
  ...new Set(rows.map(([key]) => key).filter((key, at, all) => all.indexOf(key) !== at)),
];

/** Returns a problem for each repeated key. The API cannot report these, because an object has each key once. */
export const repetitions = (values: Values): readonly { readonly field: string; readonly message: string }[] =>
  Object.entries(values).flatMap(([field, value]) =>
    Array.isArray(value)
      ? repeatedKeys(value as Rows).map((key) => ({ field, message: `'${key}' occurs twice. Remove one.` }))
      : [],
  );

const withoutEmpty = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== "" && member !== undefined))
    : value;

const requestValue = (value: unknown): unknown =>
  Array.isArray(value)
    ? Object.fromEntries((value as Rows).map(([key, one]) => [key, withoutEmpty(one)]))
    : withoutEmpty(value);

/**
 * Returns the fields of a request, except the name and the source. Omits an absent schedule and empty fields: the API
 * then uses the default or, for `min_instances`, the current value. An absent health check or idle mode is `null`,
 * which removes the current one.
 */
export const fieldsOf = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values)
      .map(([name, value]): [string, unknown] => [name, requestValue(value)])
      .filter(([name, value]) => value !== "" && !(name === "schedule" && value === null)),
  );

/** Returns the fields as the values of a multipart form. */
export const formOf = (fields: Values): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
  );
