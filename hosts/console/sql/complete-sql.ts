/** The completion of SQL: tables, columns, the fields of structs, functions and keywords. */
import { sqlFunctions } from "../../../core/domain/sql/functions.ts";
import { keywords } from "./words.ts";

interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

/** A proposal of the editor. */
interface Proposal {
  readonly label: string;
  readonly detail?: string;
  readonly info?: string;
  readonly insert?: string;
}

/** Proposals for the text between `from` and the cursor. */
interface Proposals {
  readonly from: number;
  readonly options: readonly Proposal[];
}

export interface SqlSchema {
  readonly tables: readonly {
    readonly name: string;
    readonly description: string;
    readonly columns: readonly Column[];
  }[];
}

/** Returns the fields of a type such as `STRUCT<amount NUMERIC, unit STRING>`. Nested types stay whole. */
export const fieldsOf = (type: string): readonly { readonly name: string; readonly type: string }[] => {
  const inner = /^STRUCT<(.*)>$/.exec(type)?.[1];
  if (inner === undefined) return [];
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const [at, character] of [...inner].entries()) {
    if (character === "<") depth++;
    else if (character === ">") depth--;
    else if (character === "," && depth === 0) {
      parts.push(inner.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, inner.slice(from)].map((part) => {
    const [name = "", ...rest] = part.trim().split(" ");
    return { name, type: rest.join(" ") };
  });
};

/** Returns true inside a string or a comment. */
const isQuoted = (before: string): boolean => {
  const rest = before.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?:--|#)[^\n]*\n|\/\*[\s\S]*?\*\//g, " ");
  return /['"]|--|#|\/\*/.test(rest);
};

const columnOption = ({ name, type, description }: Column): Proposal => ({
  label: name,
  detail: type,
  info: description,
});

const functionOptions = sqlFunctions.map(
  ({ name, group }): Proposal => ({ label: name, detail: `${group} function`, insert: `${name}(` }),
);
const keywordOptions = keywords.map((label): Proposal => ({ label }));

/** Returns the tables that a statement names, or all tables if it names none. */
const tablesIn = (text: string, { tables }: SqlSchema): SqlSchema["tables"] => {
  const named = new Set([...text.matchAll(/\b(?:FROM|JOIN)\s+`?(\w+)/gi)].map(([, name]) => name?.toLowerCase()));
  const found = tables.filter(({ name }) => named.has(name));
  return found.length > 0 ? found : tables;
};

/** Returns the members of the name before a dot: the columns of a table, or the fields of a struct. */
const membersOf = (owner: string, schema: SqlSchema): readonly Proposal[] => {
  const table = schema.tables.find(({ name }) => name === owner);
  if (table !== undefined) return table.columns.map(columnOption);
  const struct = schema.tables.flatMap(({ columns }) => columns).find(({ name }) => name === owner);
  return fieldsOf(struct?.type ?? "").map(({ name, type }) => ({ label: name, detail: type }));
};

/**
 * Returns the proposals at a position.
 * @param isExplicit true if the user asked for proposals; otherwise, returns none before the first character of a word
 */
export const completeSql = (
  { text, position, isExplicit }: { readonly text: string; readonly position: number; readonly isExplicit: boolean },
  schema: SqlSchema,
): Proposals | undefined => {
  const before = text.slice(0, position);
  if (isQuoted(before)) return undefined;
  const word = /\w*$/.exec(before)?.[0] ?? "";
  const from = position - word.length;
  const owner = /(\w+)\.$/.exec(text.slice(0, from))?.[1];
  if (owner !== undefined) return { from, options: membersOf(owner.toLowerCase(), schema) };
  if (word === "" && !isExplicit) return undefined;
  const tableOptions = schema.tables.map(({ name, description }) => ({
    label: name,
    detail: "table",
    info: description,
  }));
  if (/\b(?:FROM|JOIN)\s+$/i.test(text.slice(0, from))) return { from, options: tableOptions };
  const columns = tablesIn(text, schema).flatMap((table) => table.columns.map(columnOption));
  return { from, options: [...columns, ...tableOptions, ...functionOptions, ...keywordOptions] };
};
