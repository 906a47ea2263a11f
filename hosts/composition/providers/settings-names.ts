/** Maps a provider's configuration fields to server settings by prefixing each with the provider's name. */
import type { z } from "zod";

type Shape = Readonly<Record<string, z.ZodType>>;

/** Makes a required field optional: it is required only if the provider is chosen. */
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

/** Returns the provider's fields, and the setting keys of required fields that are missing. */
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
