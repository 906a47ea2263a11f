/** Converts scalars that an engine returns as text to SQL values, by their type names. */
import type { SqlValue } from "../../../core/domain/sql/answer.ts";

const integerOf = (text: string): SqlValue => {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
};

const floatOf = (text: string): SqlValue => {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
};

const decimalOf = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** @param momentOf parses the engine's format of a TIMESTAMP */
export const scalarReader =
  (momentOf: (text: string) => SqlValue) =>
  (type: string, text: string): SqlValue => {
    switch (type) {
      case "INT64":
        return integerOf(text);
      case "FLOAT64":
        return floatOf(text);
      case "NUMERIC":
        return decimalOf(text);
      case "BOOL":
        return text === "true";
      case "TIMESTAMP":
        return momentOf(text);
      case "JSON":
        return JSON.parse(text) as SqlValue;
      default:
        return text;
    }
  };
