import { aboutText } from "../googlesql/about-text.ts";
import { type SqlOrder, type Translate, tellParent } from "./protocol.ts";

/** Handles orders about the text of statements in a child process, until the parent disconnects. */
export const serveText = (translate?: Translate): void => {
  process.on("message", (order: SqlOrder) => {
    if (order.kind !== "run") tellParent(aboutText(order, translate));
  });
  process.on("disconnect", () => process.exit(0));
  tellParent({ kind: "ready" });
};
