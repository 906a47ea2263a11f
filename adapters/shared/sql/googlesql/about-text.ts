/** Handles orders about a statement's text without running the statement. */
import type { SqlNews, TextOrder, Translate } from "../process/protocol.ts";
import { composeStatement } from "./compose.ts";
import { NotAStatement } from "./parser.ts";
import { describeStatement } from "./translate.ts";

export const aboutText = (order: TextOrder, translate: Translate = composeStatement): SqlNews => {
  const { statement } = order;
  try {
    return order.kind === "describe"
      ? { kind: "parsed", summary: describeStatement(statement), statement }
      : { kind: "parsed", ...translate(statement, order.tables, order.columns) };
  } catch (error) {
    if (!(error instanceof NotAStatement)) return { kind: "trapped", message: String(error) };
    return { kind: "failure", failure: { kind: "invalid_statement", message: error.message } };
  }
};
