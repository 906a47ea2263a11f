/** The thread of `LogThread`, but it ends when it receives an entry with the text `die`. */
import { parentPort } from "node:worker_threads";
import type { ToLogThread } from "../../../adapters/local/logs/log-thread.ts";

parentPort?.on("message", (message: ToLogThread) => {
  if (message.kind !== "items") return;
  if (message.items.some((item) => "entry" in item && item.entry.text === "die")) process.exit(1);
});
await import("../../../adapters/local/logs/write-logs.ts");
