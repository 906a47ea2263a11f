/** A validator for the subset of JSON Schema in Portside's schemas. An unknown keyword is an error, not a pass. */

interface Schema {
  readonly [keyword: string]: unknown;
}

type Check = (value: unknown, argument: never, schema: Schema) => string[];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isOfType = (value: unknown, type: string): boolean => {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "object":
      return isObject(value);
    default:
      return typeof value === type;
  }
};

const within = (path: string, value: unknown, schema: Schema | boolean): string[] =>
  schema === true ? [] : schema === false ? [path] : violations(value, schema).map((one) => `${path}.${one}`);

const checks: Readonly<Record<string, Check>> = {
  type: (value, type: string | string[]) => ([type].flat().some((one) => isOfType(value, one)) ? [] : ["type"]),
  enum: (value, allowed: unknown[]) => (allowed.includes(value) ? [] : ["enum"]),
  minimum: (value, least: number) => (typeof value === "number" && value < least ? ["minimum"] : []),
  maximum: (value, most: number) => (typeof value === "number" && value > most ? ["maximum"] : []),
  minLength: (value, least: number) => (typeof value === "string" && value.length < least ? ["minLength"] : []),
  // Code points: https://json-schema.org/draft/2020-12/json-schema-validation#section-6.3.1
  maxLength: (value, most: number) => (typeof value === "string" && [...value].length > most ? ["maxLength"] : []),
  pattern: (value, pattern: string) =>
    typeof value === "string" && !new RegExp(pattern, "u").test(value) ? ["pattern"] : [],
  maxProperties: (value, most: number) =>
    isObject(value) && Object.keys(value).length > most ? ["maxProperties"] : [],
  required: (value, names: string[]) =>
    isObject(value) ? names.filter((name) => !Object.hasOwn(value, name)).map((name) => `required ${name}`) : [],
  properties: (value, properties: Record<string, Schema>) =>
    isObject(value)
      ? Object.entries(properties).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? within(name, value[name], schema) : [],
        )
      : [],
  additionalProperties: (value, schema: Schema | boolean, { properties }) =>
    isObject(value)
      ? Object.keys(value)
          .filter((name) => !Object.hasOwn((properties ?? {}) as object, name))
          .flatMap((name) => within(name, value[name], schema))
      : [],
  items: (value, schema: Schema) =>
    Array.isArray(value) ? value.flatMap((item, index) => within(String(index), item, schema)) : [],
  anyOf: (value, schemas: Schema[]) =>
    schemas.some((schema) => violations(value, schema).length === 0) ? [] : ["anyOf"],
};

const silent = ["$schema", "title", "description", "default", "examples", "format", "readOnly", "deprecated"];

/** The path and the keyword of each violation. */
export const violations = (value: unknown, schema: Schema): string[] =>
  Object.entries(schema).flatMap(([keyword, argument]) => {
    if (silent.includes(keyword)) return [];
    const check = checks[keyword];
    if (check === undefined) throw new Error(`unknown keyword ${keyword}`);
    return check(value, argument as never, schema);
  });
