/** The process of an engine that runs statements elsewhere: it reads their text, which is anybody's, and no more. */
import { aboutText } from "./about-text.ts";
import { type SqlOrder, tellParent } from "./protocol.ts";

process.on("message", (order: SqlOrder) => {
  if (order.kind !== "run") tellParent(aboutText(order));
});
process.on("disconnect", () => process.exit(0));
tellParent({ kind: "ready" });
