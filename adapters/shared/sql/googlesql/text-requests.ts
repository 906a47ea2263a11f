/** Handles requests about a statement's text without running the statement. */
import type { SqlReply, TextRequest, Translate } from "../process/protocol.ts";
import { composeStatement } from "./compose.ts";
import { InvalidStatement } from "./parser.ts";
import { describeStatement } from "./translate.ts";

export const handleTextRequest = (request: TextRequest, translate: Translate = composeStatement): SqlReply => {
  const { statement } = request;
  try {
    return request.kind === "describe"
      ? { kind: "parsed", summary: describeStatement(statement), statement }
      : { kind: "parsed", ...translate(statement, request.tables, request.columns) };
  } catch (error) {
    if (!(error instanceof InvalidStatement)) return { kind: "trapped", message: String(error) };
    return { kind: "failure", failure: { kind: "invalid_statement", message: error.message } };
  }
};
