/** Converts scalars that an engine returns as text to SQL values, depending on their types. */
import type { SqlValue } from "../../../core/domain/sql/answer.ts";

const numberOf = (text: string, isExact: (value: number) => boolean): SqlValue => {
  const value = Number(text);
  return isExact(value) ? value : text;
};

/** Removes trailing zeros: 1.500000000 is 1.5. */
export const decimalOf = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

/** @param momentOf parses DuckDB's format of a TIMESTAMP */
export const scalarReader =
  (momentOf: (text: string) => SqlValue) =>
  (type: string, text: string): SqlValue => {
    switch (type) {
      case "INT64":
        return numberOf(text, Number.isSafeInteger);
      case "FLOAT64":
        return numberOf(text, Number.isFinite);
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
