/** Derives settings of `portside serve` from a provider's configuration: `--gcp-project` from the field `project`. */
import type { z } from "zod";
import type { ProviderModule } from "../../../core/ports/provider-module.ts";

type Shape = Readonly<Record<string, z.ZodType>>;

/** Configuration fields that take the value of a platform setting, with the key of that setting. */
const platformSettings = {
  dataDir: "dataDir",
  sourceSpool: "sourceSpool",
  acceptState: "acceptState",
  instancesPerAccount: "instances",
} as const;

/** Makes a required field optional: it is required only if the provider is chosen. */
type Setting<T extends z.ZodType> = undefined extends z.input<T> ? T : z.ZodOptional<T>;

type Key<Prefix extends string, Field extends string> = Prefix extends "" ? Field : `${Prefix}${Capitalize<Field>}`;

type Settings<S extends Shape, Prefix extends string, Omitted> = {
  readonly [F in Exclude<keyof S & string, keyof typeof platformSettings | Omitted> as Key<Prefix, F>]: Setting<S[F]>;
};

interface Naming<Prefix extends string, Field extends string> {
  /** Precedes the name of each setting. Defaults to the provider's name. */
  readonly prefix?: Prefix;
  /** The field that receives the configuration file's section for this provider. */
  readonly section?: Field;
  /** Fields that only code can set. */
  readonly omit?: readonly Field[];
}

export interface RegisteredProvider<S extends Shape = Shape> {
  readonly module: ProviderModule;
  /** The schema of each setting, by key. */
  readonly settings: S;
  /** The setting's key for each configuration field. */
  readonly keys: Readonly<Record<string, string>>;
  /** The keys of settings that must have a value if the provider is chosen. */
  readonly required: readonly string[];
  readonly section?: string;
}

const isRequired = (schema: z.ZodType): boolean => !schema.safeParse(undefined).success;

const keyOf = (prefix: string, field: string): string =>
  prefix === "" ? field : `${prefix}${field.charAt(0).toUpperCase()}${field.slice(1)}`;

export const register = <
  Name extends string,
  S extends Shape,
  Prefix extends string = Name,
  Field extends keyof S & string = never,
>(
  module: ProviderModule & { readonly name: Name; readonly configSchema: z.ZodObject<S> },
  { prefix = module.name as string as Prefix, section, omit = [] }: Naming<Prefix, Field> = {},
): RegisteredProvider<Settings<S, Prefix, Field>> => {
  const keys: Record<string, string> = {};
  const settings: Record<string, z.ZodType> = {};
  const required: string[] = [];
  for (const [field, schema] of Object.entries(module.configSchema.shape)) {
    if (field === section || omit.includes(field as Field)) continue;
    if (field in platformSettings) {
      keys[field] = platformSettings[field as keyof typeof platformSettings];
      continue;
    }
    const key = keyOf(prefix, field);
    keys[field] = key;
    settings[key] = schema;
    if (!isRequired(schema)) continue;
    required.push(key);
    settings[key] = schema.optional().describe(`${schema.description}; required by the provider ${module.name}`);
  }
  return {
    module,
    keys,
    required,
    settings: settings as Settings<S, Prefix, Field>,
    ...(section === undefined ? {} : { section }),
  };
};
