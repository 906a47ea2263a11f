/** Prints a filter as canonical text, which parses to the same tree. */
import type { FieldPath, LogFilter } from "./tree.ts";

/** Puts text in quotes. Also escapes characters that are invisible or change the direction of text. */
const quoted = (text: string): string =>
  `"${text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}"\\]/gu, (sign) =>
    sign === '"' || sign === "\\"
      ? `\\${sign}`
      : (sign.codePointAt(0) as number) > 0xffff
        ? `\\U${(sign.codePointAt(0) as number).toString(16).padStart(8, "0")}`
        : `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )}"`;

const part = (text: string): string => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? text : quoted(text));

export const printPath = (path: FieldPath): string => path.map(part).join(".");

/** Prints nested filters in parentheses. In this language, unlike in most, OR binds more tightly than AND. */
const within = (outer: "and" | "or" | "not", filter: LogFilter): string => {
  const bare = filter.kind !== "and" && filter.kind !== "or" && !(outer === "not" && filter.kind === "not");
  return bare ? printLogFilter(filter) : `(${printLogFilter(filter)})`;
};

/** Prints a filter as text. `parseLogFilter` parses the text to an equal filter. */
export const printLogFilter = (filter: LogFilter): string => {
  switch (filter.kind) {
    case "and":
      return filter.terms.map((term) => within("and", term)).join(" AND ");
    case "or":
      return filter.terms.map((term) => within("or", term)).join(" OR ");
    case "not":
      return `NOT ${within("not", filter.term)}`;
    case "compare":
      return `${printPath(filter.path)}${filter.op}${filter.literal.text === null ? "NULL_VALUE" : quoted(filter.literal.text)}`;
    case "exists":
      return `${printPath(filter.path)}:*`;
    case "search":
      return quoted(filter.text);
    case "log_id":
      return `log_id(${quoted(filter.id)})`;
  }
};
