/** Converts JSON to and from protobuf's Struct: https://protobuf.dev/reference/protobuf/google.protobuf/#struct */
import type { JsonPayload } from "../../../core/domain/logs/entry.ts";

/** A value as the client packages return it; `kind` names the field that is set. */
export interface ProtoValue {
  readonly nullValue?: unknown;
  readonly numberValue?: number;
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly structValue?: ProtoStruct | null;
  readonly listValue?: { readonly values?: readonly ProtoValue[] | null } | null;
  readonly kind?: string;
}

export interface ProtoStruct {
  readonly fields?: Readonly<Record<string, ProtoValue>> | null;
}

/**
 * Maximum JSON levels of a structure. Each level uses up to three nested messages, and protobuf parsers stop at 100:
 * https://protobuf.dev/programming-guides/proto-limits/
 */
const MAX_LEVELS = 30;

export const isTooDeep = (value: unknown, levels = MAX_LEVELS): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1)));

const protoValueOf = (json: unknown): ProtoValue => {
  switch (typeof json) {
    case "string":
      return { stringValue: json };
    case "number":
      return { numberValue: json };
    case "boolean":
      return { boolValue: json };
    default:
      if (json === null || json === undefined) return { nullValue: "NULL_VALUE" };
      return Array.isArray(json)
        ? { listValue: { values: json.map(protoValueOf) } }
        : { structValue: structOf(json as JsonPayload) };
  }
};

export const structOf = (json: JsonPayload): ProtoStruct => ({
  fields: Object.fromEntries(
    Object.entries(json).flatMap(([key, value]) => (value === undefined ? [] : [[key, protoValueOf(value)]])),
  ),
});

const jsonOf = (value: ProtoValue): unknown => {
  switch (value.kind) {
    case "stringValue":
      return value.stringValue;
    case "numberValue":
      return value.numberValue;
    case "boolValue":
      return value.boolValue;
    case "structValue":
      return payloadOf(value.structValue ?? {});
    case "listValue":
      return (value.listValue?.values ?? []).map(jsonOf);
    default:
      return null;
  }
};

export const payloadOf = ({ fields }: ProtoStruct): JsonPayload =>
  Object.fromEntries(Object.entries(fields ?? {}).map(([key, value]) => [key, jsonOf(value)]));
