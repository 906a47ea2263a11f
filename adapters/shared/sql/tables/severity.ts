/** What a structured line says of its severity, as conditions of a CASE: the rule of `log-line.ts` in SQL. */
import { severityNames } from "../../../../core/domain/logs/entry.ts";
import { severityOf, severityWords } from "../../../../core/domain/logs/line.ts";

/**
 * @param said an expression: the severity, or the level, as text
 * @param number the same as a number, null where it is none
 */
export const severityCases = (said: string, number: string): string => {
  const byWord = severityNames.flatMap((name) => {
    const words = [...severityWords].filter(([, severity]) => severity === name).map(([word]) => `'${word}'`);
    return words.length === 0 ? [] : [`WHEN LOWER(${said}) IN (${words.join(", ")}) THEN '${name}'`];
  });
  // pino's levels, the highest first; any number says something.
  const byNumber = [60, 50, 40, 30].map((level) => `WHEN ${number} >= ${level} THEN '${severityOf({ level })}'`);
  return [...byWord, ...byNumber, `WHEN ${number} IS NOT NULL THEN '${severityOf({ level: 0 })}'`].join(" ");
};
