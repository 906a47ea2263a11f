/** Handles orders about a statement's text without running the statement. */
import type { SqlNews, TextOrder, Translate } from "../process/protocol.ts";
import { composeStatement } from "./compose.ts";
import { NotAStatement } from "./parser.ts";
import { describeStatement } from "./translate.ts";

const answerTo = (order: TextOrder, translate: Translate | undefined): SqlNews => {
  switch (order.kind) {
    case "describe":
      return { kind: "summary", summary: describeStatement(order.statement) };
    case "compose":
      return { kind: "composed", ...composeStatement(order.statement, order.tables) };
    case "translate":
      if (translate === undefined) return { kind: "trapped", message: "this process does not translate statements" };
      return { kind: "translated", ...translate(order.statement, order.tables, order.columns) };
  }
};

export const aboutText = (order: TextOrder, translate?: Translate): SqlNews => {
  try {
    return answerTo(order, translate);
  } catch (error) {
    if (!(error instanceof NotAStatement)) return { kind: "trapped", message: String(error) };
    return { kind: "failure", failure: { kind: "invalid_statement", message: error.message } };
  }
};
