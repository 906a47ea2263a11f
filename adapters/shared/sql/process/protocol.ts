/** What the control plane and the process that runs an account's statements say to each other. */
import type { SqlColumn, SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import type { SqlFailure } from "../../../../core/ports/sql-engine.ts";
import type { Composed } from "../googlesql/compose.ts";
import type { BillingRow } from "../tables/billing.ts";
import type { EntryRow } from "../tables/entries.ts";

/**
 * How a column of the answer travels: unchanged, as JSON (`typed`: with its type in a second column), or in base64.
 */
export type Shape = "plain" | "json" | "typed" | "bytes";

export interface ShapedColumn {
  readonly name: string;
  readonly shape: Shape;
}

/** A statement in the dialect of the engine that runs it. */
export interface Translated {
  /** Of the statement as its author wrote it. */
  readonly summary: StatementSummary;
  readonly statement: string;
}

/** Translates a statement; throws `NotAStatement`. */
export type Translate = (
  statement: string,
  tables: Readonly<Record<string, string>>,
  columns: readonly ShapedColumn[],
) => Translated;

export type SqlOrder =
  | { readonly kind: "describe"; readonly statement: string }
  /** The statement with these tables put before it, each the text of a query. */
  | { readonly kind: "compose"; readonly statement: string; readonly tables: Readonly<Record<string, string>> }
  /** The statement in the dialect of the engine that runs it. */
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
      /** Entries that have come since the last order; absent where the process reads them itself. */
      readonly fresh?: readonly EntryRow[];
      /** All rows of `billing`; absent: those of the last order. */
      readonly billing?: readonly BillingRow[];
    };

/** About a statement's text, of which nothing runs. */
export type TextOrder = Exclude<SqlOrder, { kind: "run" }>;

export type SqlNews =
  | { readonly kind: "ready" }
  | { readonly kind: "summary"; readonly summary: StatementSummary }
  | ({ readonly kind: "composed" } & Composed)
  | ({ readonly kind: "translated" } & Translated)
  /** The log is read up to now; what takes time from here on is the statement's own. */
  | { readonly kind: "caught_up"; readonly entries: number }
  | { readonly kind: "columns"; readonly columns: readonly SqlColumn[] }
  | { readonly kind: "rows"; readonly rows: readonly (readonly SqlValue[])[] }
  | { readonly kind: "end" }
  | { readonly kind: "failure"; readonly failure: SqlFailure }
  /** The parser failed and may fail again; the process ends behind this. */
  | { readonly kind: "trapped"; readonly message: string }
  /** The database is of no use any more; the process ends behind this. */
  | { readonly kind: "broken"; readonly message: string };

/** Tells the parent; ends the process behind news after which it is of no use. */
export const tellParent = (news: SqlNews): void => {
  const last = news.kind === "trapped" || news.kind === "broken";
  process.send?.(news, () => {
    if (last) process.exit(1);
  });
};
