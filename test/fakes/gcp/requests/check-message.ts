/**
 * Checks the object that becomes a gRPC request against its proto. protobufjs drops unknown fields and unknown enum
 * values while it encodes, so the server would never see them. Pure.
 * https://github.com/protobufjs/protobuf.js#usage (fromObject)
 */
import protobuf from "protobufjs";
import type { Digest } from "./digest.ts";

type OutputOnly = Digest["outputOnly"];

const MASK = "google.protobuf.FieldMask";

/** https://google.aip.dev/203. A field has one behaviour here: the packages' JSON protos keep the last one. */
const behaviorOf = (field: protobuf.Field): unknown => field.options?.["(google.api.field_behavior)"];

const fullName = (type: protobuf.ReflectionObject): string => type.fullName.replace(/^\./, "");

const isOutputOnly = (outputOnly: OutputOnly, type: protobuf.Type, field: protobuf.Field): boolean =>
  behaviorOf(field) === "OUTPUT_ONLY" || (outputOnly[fullName(type)] ?? []).includes(field.name);

/** Whether the value equals the field's default, which proto3 does not send. */
const isDefault = (field: protobuf.Field, value: unknown): boolean => {
  if (value === null || value === undefined) return true;
  if (field.repeated) return (value as readonly unknown[]).length === 0;
  if (field.map) return Object.keys(value).length === 0;
  if (field.resolvedType instanceof protobuf.Enum) return value === 0 || field.resolvedType.values[String(value)] === 0;
  if (field.resolvedType !== null) return false;
  return value === "" || value === false || Number(value) === 0 || (value as { length?: number }).length === 0;
};

const scalarProblem = (field: protobuf.Field, value: unknown): string | undefined => {
  const actual = typeof value;
  const { resolvedType, type } = field;
  if (resolvedType instanceof protobuf.Enum) {
    const known = actual === "number" ? resolvedType.valuesById[value as number] : resolvedType.values[String(value)];
    return known === undefined ? `'${String(value)}' is not in the enum ${resolvedType.name}` : undefined;
  }
  if (type === "string") return actual === "string" ? undefined : `${actual} instead of a string`;
  if (type === "bool") return actual === "boolean" ? undefined : `${actual} instead of a boolean`;
  if (type === "bytes") return value instanceof Uint8Array || actual === "string" ? undefined : `${actual}, not bytes`;
  const isLong = (protobuf.util.Long as unknown as { isLong(value: unknown): boolean }).isLong(value);
  return isLong || Number.isFinite(Number(value)) ? undefined : `'${String(value)}' is not a number`;
};

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** https://protobuf.dev/reference/protobuf/google.protobuf/#field-mask */
const maskProblem = (outputOnly: OutputOnly, target: protobuf.Type, path: string): string | undefined => {
  if (path === "*") return undefined;
  const [name, ...rest] = path.split(".");
  const field = target.fieldsArray.find((one) => snake(one.name) === name);
  if (field === undefined) return `'${name}' is not a field of ${target.name}`;
  if (isOutputOnly(outputOnly, target, field)) return `'${name}' is output-only in ${target.name}`;
  if (rest.length === 0 || field.map) return undefined;
  return field.resolvedType instanceof protobuf.Type
    ? maskProblem(outputOnly, field.resolvedType, rest.join("."))
    : `'${name}' has no fields`;
};

/** The resource that a request updates: its only field with a message of the same package. */
const maskedType = (request: protobuf.Type): protobuf.Type | undefined =>
  request.fieldsArray
    .map(({ resolvedType }) => resolvedType)
    .find((type) => type instanceof protobuf.Type && type.parent === request.parent) as protobuf.Type | undefined;

/** The names of the masked fields in the message's resource; undefined if the message has no mask. */
const maskedNames = (type: protobuf.Type, message: object): ReadonlySet<string> | undefined => {
  const mask = type.fieldsArray.find((field) => field.resolve().resolvedType?.fullName === `.${MASK}`);
  const value = mask && (message as Readonly<Record<string, { readonly paths?: readonly string[] }>>)[mask.name];
  if (!value?.paths?.length || value.paths.includes("*")) return undefined;
  return new Set(value.paths.map((path) => path.split(".")[0] ?? ""));
};

/**
 * Returns the problems of a message: the parts that the proto does not allow.
 *
 * @param masked the fields that the request's mask names; the service ignores the others (https://google.aip.dev/134)
 */
export const checkMessage = (
  outputOnly: OutputOnly,
  type: protobuf.Type,
  message: object,
  at = "",
  masked?: ReadonlySet<string>,
): string[] => {
  const inner = maskedNames(type, message);
  const fields = Object.entries(message).filter(([, value]) => value !== undefined && value !== null);
  const written = fields.flatMap(([name, value]) => {
    const path = at === "" ? name : `${at}.${name}`;
    const field = type.fields[name]?.resolve();
    // Responses name the field of each oneof, and protobufjs ignores this when a request repeats it.
    if (field === undefined) return type.oneofs?.[name] === undefined ? [`${path}: unknown field`] : [];
    if (isOutputOnly(outputOnly, type, field))
      return isDefault(field, value) && !field.options?.["proto3_optional"] ? [] : [`${path}: output-only field`];
    return field.resolvedType === maskedType(type) && inner !== undefined
      ? checkMessage(outputOnly, field.resolvedType as protobuf.Type, value as object, path, inner)
      : fieldProblems(outputOnly, type, field, value, path);
  });
  const missing = type.fieldsArray
    .filter((field) => behaviorOf(field) === "REQUIRED" && masked?.has(snake(field.name)) !== false)
    .map((field) => field.resolve())
    .filter((field) => isMissing(field, (message as Record<string, unknown>)[field.name]))
    .map(({ name }) => `${at === "" ? name : `${at}.${name}`}: missing required field`);
  return [...written, ...missing];
};

/** A number, boolean or enum with its default value counts as given. */
const isMissing = (field: protobuf.Field, value: unknown): boolean => {
  if (value === undefined || value === null) return true;
  const hasEmpty = field.repeated || field.map || field.type === "string" || field.type === "bytes";
  return hasEmpty && isDefault(field, value);
};

const fieldProblems = (
  outputOnly: OutputOnly,
  type: protobuf.Type,
  field: protobuf.Field,
  value: unknown,
  at: string,
): string[] => {
  if (field.repeated) {
    if (!Array.isArray(value)) return [`${at}: ${typeof value} instead of an array`];
    return value.flatMap((one, index) => valueProblems(outputOnly, field, one, `${at}[${index}]`));
  }
  if (field.map)
    return Object.entries(value as object).flatMap(([key, one]) =>
      valueProblems(outputOnly, field, one, `${at}.${key}`),
    );
  if (field.resolvedType !== null && fullName(field.resolvedType) === MASK) {
    const target = maskedType(type);
    const { paths = [] } = value as { paths?: readonly string[] };
    return paths.flatMap((path) => {
      const problem = target && maskProblem(outputOnly, target, path);
      return problem === undefined ? [] : [`${at}: ${problem}`];
    });
  }
  return valueProblems(outputOnly, field, value, at);
};

const valueProblems = (outputOnly: OutputOnly, field: protobuf.Field, value: unknown, at: string): string[] => {
  if (field.resolvedType instanceof protobuf.Type)
    return typeof value === "object" && value !== null
      ? checkMessage(outputOnly, field.resolvedType, value, at)
      : [`${at}: ${typeof value} instead of an object`];
  const problem = scalarProblem(field, value);
  return problem === undefined ? [] : [`${at}: ${problem}`];
};
