/** The process of an engine that runs statements elsewhere: it reads their text, which is anybody's, and no more. */
import { aboutText } from "./about-text.ts";
import type { SqlNews, SqlOrder } from "./protocol.ts";

const tell = (news: SqlNews): void => void process.send?.(news);

process.on("message", (order: SqlOrder) => {
  if (order.kind !== "run") tell(aboutText(order));
});
process.on("disconnect", () => process.exit(0));
tell({ kind: "ready" });
