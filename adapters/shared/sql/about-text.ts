/** What a process answers about a statement's text, of which nothing runs. */
import { composeStatement } from "./compose.ts";
import type { SqlNews, TextOrder } from "./protocol.ts";
import { describeStatement } from "./translate.ts";

export const aboutText = (order: TextOrder): SqlNews => {
  try {
    return order.kind === "describe"
      ? { kind: "summary", summary: describeStatement(order.statement) }
      : { kind: "composed", ...composeStatement(order.statement, order.tables) };
  } catch (error) {
    return { kind: "failure", failure: { kind: "invalid_statement", message: (error as Error).message } };
  }
};
