/** The GoogleSQL dialect of the editor: https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/lexical */
import { SQLDialect } from "@codemirror/lang-sql";
import { sqlFunctions } from "../../../core/domain/sql/functions.ts";
import { keywords, types } from "./words.ts";

const lower = (list: readonly string[]): string => list.join(" ").toLowerCase();

export const googleSql = SQLDialect.define({
  keywords: lower(keywords),
  types: lower(types),
  builtin: lower(sqlFunctions.map(({ name }) => name)),
  identifierQuotes: "`",
  doubleQuotedStrings: true,
  backslashEscapes: true,
  hashComments: true,
  caseInsensitiveIdentifiers: true,
}).extension;
