/** The questions of docs/sql.md with their statements. */
import { readFileSync } from "node:fs";

export const sqlPage = readFileSync(new URL("../../../docs/sql.md", import.meta.url), "utf8");

export const pageQuestions: Readonly<Record<string, string>> = Object.fromEntries(
  [...sqlPage.matchAll(/\*\*([^*\n]+)\*\*\n\n```sql\n([^`]+)```/g)].map(([, title, statement]) => [title, statement]),
);

export const questionOf = (title: string): string => {
  const statement = pageQuestions[title];
  if (statement === undefined) throw new Error(`docs/sql.md has no question '${title}'`);
  return statement;
};
