import { handleTextRequest } from "../googlesql/text-requests.ts";
import { type SqlRequest, sendToParent, type Translate } from "./protocol.ts";

/** Handles requests about the text of statements in a child process, until the parent disconnects. */
export const serveText = (translate?: Translate): void => {
  process.on("message", (request: SqlRequest) => {
    if (request.kind !== "run") sendToParent(handleTextRequest(request, translate));
  });
  process.on("disconnect", () => process.exit(0));
  sendToParent({ kind: "ready" });
};
