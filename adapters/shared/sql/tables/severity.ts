/** Renders the severity rule of `core/domain/logs/line.ts` as conditions of a SQL CASE. */
import { severityNames } from "../../../../core/domain/logs/entry.ts";
import { severityByName, severityOf } from "../../../../core/domain/logs/line.ts";

/**
 * @param word an expression: the severity or the level, as text
 * @param number the same expression as a number, or NULL if it is not a number
 */
export const severityCases = (word: string, number: string): string => {
  const byWord = severityNames.flatMap((name) => {
    const words = [...severityByName].filter(([, severity]) => severity === name).map(([word]) => `'${word}'`);
    return words.length === 0 ? [] : [`WHEN LOWER(${word}) IN (${words.join(", ")}) THEN '${name}'`];
  });
  // pino's levels, highest first. Every number maps to a severity.
  const byNumber = [60, 50, 40, 30].map((level) => `WHEN ${number} >= ${level} THEN '${severityOf({ level })}'`);
  return [...byWord, ...byNumber, `WHEN ${number} IS NOT NULL THEN '${severityOf({ level: 0 })}'`].join(" ");
};
