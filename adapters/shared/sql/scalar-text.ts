/** Scalars that an engine gives as text, in the values of a SQL answer, by its names of types. */
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

/** @param momentOf how the engine writes a TIMESTAMP */
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
