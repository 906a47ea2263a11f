/**
 * Schemas for individual request fields.
 *
 * A field accepts form text or a JSON value: `"8080"` and `8080` are the same port, but `"8080.5"` is an error. The
 * `meta` of a field becomes its JSON Schema. Its input type (`z.input`) is the type of its JSON value.
 */
import { z } from "zod";
import { err, ok, type Result } from "../../result.ts";
import { custom, type Issue, type IssueType, issue, issuesOf, unknownField } from "./issue.ts";
import { parseStrictJson } from "./strict-json.ts";

/** Formats a value for an error message. Uses JSON because an object in the input may define its own `toString`. */
const shown = (value: unknown): string => {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
};

/** A field for a number of at least `min`, such as `0.5`. An absent field has the default. */
export const numberField = (bounds: { min: number; default: number }, description: string) => {
  const coerce = (value: unknown) =>
    typeof value === "string" && /^[+-]?\d{1,300}(\.\d{1,9})?$/.test(value) ? Number(value) : value;
  const error = ({ input }: { input?: unknown }) => `must be a number of at least ${bounds.min}; got ${shown(input)}`;
  return z
    .preprocess(coerce as (value: number) => unknown, z.number({ error }).min(bounds.min, { error }))
    .default(bounds.default)
    .meta({ description });
};

/** An integer field within inclusive bounds. An absent field has the default. */
export const integerField = (bounds: { min: number; max?: number; default: number }, description: string) => {
  const range =
    bounds.max === undefined
      ? `an integer of at least ${bounds.min}`
      : `an integer from ${bounds.min} to ${bounds.max}`;
  const coerce = (value: unknown) =>
    typeof value === "string" && /^[+-]?\d{1,300}$/.test(value) ? Number(value) : value;
  // A number beyond 2^53 has lost digits, so the message does not repeat it.
  const error = ({ input }: { input?: unknown }) =>
    typeof input === "number" && Math.abs(input) > Number.MAX_SAFE_INTEGER
      ? `must be an integer from ${bounds.min} to ${bounds.max ?? Number.MAX_SAFE_INTEGER}`
      : `must be ${range}; got ${shown(input)}`;
  const inner = z.int({ error, abort: true }).min(bounds.min, { error });
  return z
    .preprocess(
      coerce as (value: number) => unknown,
      bounds.max === undefined ? inner : inner.max(bounds.max, { error }),
    )
    .default(bounds.default)
    .meta({ description });
};

/** A boolean field. Accepts booleans and the strings `true`, `false`, `1` and `0`, in any letter case. */
export const booleanField = (defaultValue: boolean, description: string) => {
  const words = new Map([
    ["true", true],
    ["1", true],
    ["false", false],
    ["0", false],
  ]);
  const coerce = (value: unknown) => (typeof value === "string" ? (words.get(value.toLowerCase()) ?? value) : value);
  const error = ({ input }: { input?: unknown }) => `must be true or false; got ${shown(input)}`;
  return z
    .preprocess(coerce as (value: boolean) => unknown, z.boolean({ error }))
    .default(defaultValue)
    .meta({ description });
};

/**
 * A text field. `read` converts the text to a value or returns a problem.
 * @param shape the part of the rule that JSON Schema can express
 */
export const readField = <T>(
  read: (text: string) => { readonly value: T } | { readonly problem: string; readonly type: IssueType },
  description: string,
  examples: readonly string[],
  shape: { readonly pattern?: string; readonly maxLength?: number } = {},
) =>
  z
    .string({ error: ({ input }) => (input === undefined ? "is required" : `must be a string; got ${shown(input)}`) })
    .transform((text, ctx): T => {
      const outcome = read(text);
      if ("value" in outcome) return outcome.value;
      ctx.addIssue(custom(outcome.problem, outcome.type));
      return z.NEVER;
    })
    .meta({ type: "string", ...shape, description, examples: [...examples] });

interface Meta {
  readonly description: string;
  readonly [keyword: string]: unknown;
}

/**
 * A field with its own parser, for rules that no zod schema expresses. `I` is the type of its JSON value.
 * @param parse its issues must have paths relative to the field
 * @param meta the JSON Schema of the field
 */
export const parsedField = <T, I = unknown>(parse: (raw: unknown) => Result<T, readonly Issue[]>, meta: Meta) =>
  (z.unknown() as z.ZodType<unknown, I>)
    .transform((raw, ctx): T => {
      const parsed = parse(raw);
      if (parsed.isOk()) return parsed.value;
      for (const one of parsed.error) ctx.addIssue(custom(one.message, one.type, [...one.path]));
      return z.NEVER;
    })
    .meta(meta);

/** A field that accepts JSON text or the JSON value itself. `I` is the type of the JSON value. */
export const jsonField = <T, I = unknown>(
  read: (value: unknown) => { readonly value: T; readonly issues: readonly Issue[] },
  meta: Meta,
) =>
  parsedField<T, I>((raw) => {
    const json = typeof raw === "string" ? parseStrictJson(raw) : ({ ok: true, value: raw } as const);
    if (!json.ok) return err([issue([], json.message, "json_invalid")]);
    const { value, issues } = read(json.value);
    return issues.length > 0 ? err(issues) : ok(value);
  }, meta);

/** The fields of a request by their wire names. */
export type Fields = Readonly<Record<string, z.ZodType>>;

/** A request as the host received it: unvalidated values by the wire names of the fields. */
export type RawFields = Readonly<Record<string, unknown>>;

type RequiredKeys<F extends Fields> = {
  [K in keyof F]: undefined extends z.input<F[K]> ? never : K;
}[keyof F];

/** A request with these fields, as JSON values. */
export type RequestFields<F extends Fields> = {
  readonly [K in RequiredKeys<F>]: z.input<F[K]>;
} & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: z.input<F[K]> | undefined;
};

/** The parsed values of all fields. */
export type Values<F extends Fields> = { readonly [K in keyof F]: z.output<F[K]> };

/**
 * A rule that involves several fields. Receives only the valid fields. Returns additional values or issues. Must return
 * `err([])` if a field that the rule needs is invalid, because that field already has an issue.
 */
type Check<F extends Fields, X extends object> = (valid: Partial<Values<F>>) => Result<X, readonly Issue[]>;

/**
 * Parses each field of a request separately, so that an invalid field does not hide the issues of another. Then applies
 * `check`. Fails with all issues, including unknown fields.
 */
export const parseFields = <F extends Fields, X extends object = object>(
  fields: F,
  raw: RawFields,
  check?: Check<F, X>,
): Result<Values<F> & X, readonly Issue[]> => {
  const known = Object.keys(fields);
  const issues: Issue[] = Object.keys(raw)
    .filter((name) => !known.includes(name))
    .map((name) => unknownField([], name, known));
  const values: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(fields)) {
    const input = Object.hasOwn(raw, name) ? raw[name] : undefined;
    const parsed = z.safeParse(schema, input, { reportInput: true });
    if (parsed.success) values[name] = parsed.data;
    else issues.push(...issuesOf(parsed.error).map((one) => ({ ...one, path: [name, ...one.path] })));
  }
  // Each valid field has the output type of its schema.
  const checked = check?.(values as Partial<Values<F>>);
  if (checked?.isErr()) issues.push(...checked.error);
  return issues.length > 0 ? err(issues) : ok({ ...values, ...checked?.unwrapOr(undefined) } as Values<F> & X);
};
