/** What a server that starts puts right, and clears away, of what one before it left. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { timestampOf } from "../../core/domain/instant.ts";
import { deployEntry } from "../../core/domain/log-entry.ts";
import type { Clock } from "../../core/ports/system.ts";
import { HALF } from "./builder/node.ts";
import type { LocalLogs } from "./logs/store.ts";
import { removeTree } from "./remove-tree.ts";
import type { DeployNotes } from "./state/deploys.ts";
import type { ServiceRows } from "./state/services.ts";

/** Ends what a crash interrupted with `interrupted`, where its owner will look for it. */
export const endInterrupted = (rows: ServiceRows, notes: DeployNotes, logs: LocalLogs, clock: Clock): void => {
  const now = timestampOf(clock.now());
  rows.recover(now);
  const interrupted = notes.unfinished();
  const news = {
    status: "ERROR",
    reason: "interrupted",
    message: "The server stopped while the deploy ran; deploy again.",
  } as const;
  for (const { owner, name, deployId } of interrupted) void logs.push(deployEntry(owner, name, deployId, news));
  // Before they count as ended, so that another kill loses none of them.
  logs.flush();
  const { status, reason } = news;
  for (const deploy of interrupted)
    notes.note({ ...deploy, status, reason, finishedAt: now }, rows.get(deploy.name)?.owner === deploy.owner);
};

/** Removes what builds keep for each other and nobody will use: environments without an image, halves of copies. */
export const sweepCache = async (cacheDir: string, needed: ReadonlySet<string>): Promise<void> => {
  const folders = (path: string): string[] => {
    try {
      return readdirSync(path).map((name) => join(path, name));
    } catch {
      return [];
    }
  };
  for (const account of folders(cacheDir)) {
    for (const venv of folders(join(account, "venvs"))) if (!needed.has(venv)) await removeTree(venv);
    for (const kept of folders(join(account, "node_modules"))) if (kept.endsWith(HALF)) await removeTree(kept);
  }
};
