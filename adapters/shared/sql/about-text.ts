/** What a process answers about a statement's text, of which nothing runs. */
import { composeStatement } from "./compose.ts";
import { NotAStatement } from "./parser.ts";
import type { SqlNews, TextOrder } from "./protocol.ts";
import { describeStatement } from "./translate.ts";
import { toTrino } from "./trino/translate.ts";

const answerTo = (order: TextOrder): SqlNews => {
  switch (order.kind) {
    case "describe":
      return { kind: "summary", summary: describeStatement(order.statement) };
    case "compose":
      return { kind: "composed", ...composeStatement(order.statement, order.tables) };
    case "trino":
      return { kind: "translated", ...toTrino(order.statement, order.tables, order.columns) };
  }
};

export const aboutText = (order: TextOrder): SqlNews => {
  try {
    return answerTo(order);
  } catch (error) {
    if (!(error instanceof NotAStatement)) return { kind: "trapped", message: String(error) };
    return { kind: "failure", failure: { kind: "invalid_statement", message: error.message } };
  }
};
