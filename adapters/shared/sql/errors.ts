/** Converts DuckDB's errors to messages for the statement's author, with GoogleSQL's type and function names. */
import type { SqlFailure } from "../../../core/ports/sql-engine.ts";

const typeNames: readonly (readonly [RegExp, string])[] = [
  [/\bDECIMAL\(38,9\)/g, "NUMERIC"],
  [/\bDECIMAL(\(\d+,\d+\))?/g, "NUMERIC"],
  [/\b(?:U?(?:TINY|SMALL|BIG|HUGE)INT|U?INTEGER|INTEGER_LITERAL|INT(?:8|16|32|64|128))\b/g, "INT64"],
  [/\b(?:VARCHAR|STRING_LITERAL)\b/g, "STRING"],
  [/\b(?:DOUBLE|FLOAT)\b/g, "FLOAT64"],
  [/\bBOOLEAN\b/g, "BOOL"],
  [/\bBLOB\b/g, "BYTES"],
  [/\bTIMESTAMP(?: WITH TIME ZONE|TZ|_NS|_S|_MS)\b/g, "TIMESTAMP"],
  [/\bbq_(?:json_)?([a-z0-9_]+)\b/g, "$1"],
  [/\b(?:Scalar|Macro|Aggregate) Function\b/gi, "Function"],
  [/\bDuckDB\b/gi, "the engine"],
];

/** Matches the prefixes of errors in the statement itself. DuckDB has no error codes. */
const ofText = /^(?:Binder|Parser|Catalog|Syntax) Error: /;

const plain = (message: string): string => {
  const first = message.split("\n")[0] ?? "";
  const bare = first
    .replace(/^[\w ]+ Error: /, "")
    .replace(/ ?(?:You might need|Did you mean|Candidate|Consider|Use TRY_CAST).*$/, "");
  return typeNames.reduce((text, [pattern, word]) => text.replace(pattern, word), bare).trim();
};

/** Returns true if the database is unusable. The statement may succeed on a rebuilt database. */
export const isBroken = (message: string): boolean =>
  /^(?:IO|FATAL|INTERNAL|Internal|Serialization) Error\b/.test(message);

export const outOfMemory: SqlFailure = {
  kind: "failed",
  message: "the query exceeded its memory limit; read fewer rows, or aggregate earlier",
};

export const failureOf = (message: string): SqlFailure => {
  if (ofText.test(message)) return { kind: "invalid_statement", message: plain(message) };
  if (/^Out of Memory|bad[ _]alloc|allocat/i.test(message)) return outOfMemory;
  return { kind: "failed", message: plain(message) || "the query failed" };
};
