/** The messages between the control plane and the process that runs an account's statements. */
import type { SqlColumn, SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import type { SqlFailure } from "../../../../core/ports/sql-engine.ts";
import type { BillingRow } from "../tables/billing.ts";
import type { EntryRow } from "../tables/entries.ts";

/** The encoding of a result column: unchanged, as JSON, as JSON with its type in a second column, or in base64. */
export type Shape = "plain" | "json" | "typed" | "bytes";

export interface ShapedColumn {
  readonly name: string;
  readonly shape: Shape;
}

/** A statement in the dialect of the engine that runs it. */
export interface Translated {
  /** The summary of the original statement. */
  readonly summary: StatementSummary;
  readonly statement: string;
}

/** Translates a statement and prepends tables, which are the texts of queries. May throw `InvalidStatement`. */
export type Translate = (
  statement: string,
  tables: Readonly<Record<string, string>>,
  columns: readonly ShapedColumn[],
) => Translated;

export type SqlRequest =
  | { readonly kind: "describe"; readonly statement: string }
  /** The arguments of `Translate`. */
  | {
      readonly kind: "translate";
      readonly statement: string;
      readonly tables: Readonly<Record<string, string>>;
      readonly columns: readonly ShapedColumn[];
    }
  | {
      readonly kind: "run";
      readonly statement: string;
      readonly rows: number;
      readonly bytes: number;
      /** Entries since the last request. Undefined if the process reads them itself. */
      readonly fresh: readonly EntryRow[] | undefined;
      /** All rows of `billing`. Undefined keeps the rows of the last request. */
      readonly billing: readonly BillingRow[] | undefined;
    };

/** Requests about a statement's text, which do not run it. */
export type TextRequest = Exclude<SqlRequest, { kind: "run" }>;

export type SqlReply =
  | { readonly kind: "ready" }
  /** The result of a `TextRequest`. After `describe`, the statement is unchanged. */
  | ({ readonly kind: "parsed" } & Translated)
  /** The process has read the log to its end. A timeout after this reply is due to the statement. */
  | { readonly kind: "caught_up"; readonly entries: number }
  | { readonly kind: "columns"; readonly columns: readonly SqlColumn[] }
  | { readonly kind: "rows"; readonly rows: readonly (readonly SqlValue[])[] }
  | { readonly kind: "end" }
  | { readonly kind: "failure"; readonly failure: SqlFailure }
  /** The parser trapped and may fail again. The process ends after this reply. */
  | { readonly kind: "trapped"; readonly message: string }
  /** The database is unusable. The process ends after this reply. */
  | { readonly kind: "broken"; readonly message: string };

/** Sends a reply to the parent. Ends the process after a `trapped` or `broken` reply. */
export const sendToParent = (reply: SqlReply): void => {
  const last = reply.kind === "trapped" || reply.kind === "broken";
  process.send?.(reply, () => {
    if (last) process.exit(1);
  });
};
