/** What the control plane and the process that runs an account's statements say to each other. */
import type { SqlColumn, SqlValue } from "../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import type { SqlFailure } from "../../../core/ports/sql-engine.ts";
import type { BillingRow } from "./billing.ts";
import type { Composed } from "./compose.ts";
import type { EntryRow } from "./entries.ts";
import type { ShapedColumn } from "./trino/shape.ts";
import type { Translated } from "./trino/translate.ts";

export type SqlOrder =
  | { readonly kind: "describe"; readonly statement: string }
  /** The statement with these tables put before it, each the text of a query. */
  | { readonly kind: "compose"; readonly statement: string; readonly tables: Readonly<Record<string, string>> }
  /** The statement in Trino's words (`toTrino`). */
  | {
      readonly kind: "trino";
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
