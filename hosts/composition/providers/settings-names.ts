/** A provider's configuration as settings of the server: each of its fields with the provider's name before it. */
import type { z } from "zod";

type Shape = Readonly<Record<string, z.ZodType>>;

/** A field that has to be given is asked for when the provider is chosen, and not before. */
type Asked<T extends z.ZodType> = undefined extends z.input<T> ? T : z.ZodOptional<T>;

type Prefixed<P extends string, S extends Shape> = {
  readonly [K in keyof S & string as `${P}${Capitalize<K>}`]: Asked<S[K]>;
};

const keyOf = (prefix: string, field: string): string => `${prefix}${field.charAt(0).toUpperCase()}${field.slice(1)}`;

const isNeeded = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success;

export const prefixed = <P extends string, S extends Shape>(prefix: P, shape: S): Prefixed<P, S> =>
  Object.fromEntries(
    Object.entries(shape).map(([field, schema]) => {
      const needed = `${schema.description ?? ""} Needed by the provider ${prefix}.`;
      return [keyOf(prefix, field), isNeeded(schema) ? schema.optional().describe(needed) : schema];
    }),
  ) as unknown as Prefixed<P, S>;

/** The fields of a provider out of the settings, and the keys of those that are lacking and have no default. */
export const unprefixed = (
  prefix: string,
  shape: Shape,
  settings: object,
): { readonly fields: Record<string, unknown>; readonly lacking: readonly string[] } => {
  const fields: Record<string, unknown> = {};
  const lacking: string[] = [];
  for (const [field, schema] of Object.entries(shape)) {
    const key = keyOf(prefix, field);
    fields[field] = (settings as Readonly<Record<string, unknown>>)[key];
    if (fields[field] === undefined && isNeeded(schema)) lacking.push(key);
  }
  return { fields, lacking };
};
