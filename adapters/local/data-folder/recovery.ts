/** Cleans up at startup after a previous server: ends interrupted deploys and sweeps the build cache. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DeployUpdate } from "../../../core/domain/deploy/events.ts";
import { isFinal, serverStopped, unreportedOutcome } from "../../../core/domain/deploy/outcome.ts";
import { deployEntry, type NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { everything } from "../../../core/domain/logs/filter/tree.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { PARTIAL_SUFFIX } from "../builds/build-node.ts";
import type { LocalLogs } from "../logs/log-store.ts";
import type { DeployRows, StoredDeploy } from "../state/deploys.ts";
import type { ServiceRows } from "../state/services.ts";
import type { Leftovers } from "./leftovers.ts";

type End = Pick<StoredDeploy, "status" | "reason">;

/** Derives the outcome of a deploy from the state: the transaction that moves traffic stores the deploy's id. */
const endOf = (rows: ServiceRows, { owner, name, deployId }: StoredDeploy): DeployUpdate => {
  const service = rows.get(name);
  const serving = service?.owner === owner && service.serving !== null ? [service.serving] : [];
  const { status, reason } = unreportedOutcome(deployId, serving);
  if (reason !== null) return { status, reason, message: serverStopped };
  const message = `Revision ${serving[0]?.id} serves all traffic; the server stopped before it could report success`;
  return { status, message };
};

/**
 * At the end of a deploy, the server first logs the outcome and then stores it. If a crash prevented the second write,
 * the entry is therefore one of the log's newest entries.
 */
const LAST_ENTRIES = { filter: everything, limit: 1000, timeoutMs: 1000 };

/** Returns the outcome of the deploy from the log; undefined if the log does not contain it. */
const loggedEnd = async (logs: LocalLogs, { owner, name, deployId }: StoredDeploy): Promise<End | undefined> => {
  const found = await logs.newest({ owner, service: name }, LAST_ENTRIES);
  const entries = found.isOk() ? found.value.entries.filter(({ json }) => json?.["deploy_id"] === deployId) : [];
  return entries
    .filter(({ logName }) => logName === "platform")
    .map(({ json }): End => ({ status: json?.["status"], reason: json?.["reason"] ?? null }) as End)
    .find(({ status }) => isFinal(status));
};

/**
 * Ends the deploys that a crash interrupted. Takes their outcome from the log, or from the state if the log lacks it.
 */
export const endInterruptedDeploys = async (
  rows: ServiceRows,
  notes: DeployRows,
  logs: LocalLogs,
  clock: Clock,
): Promise<void> => {
  const now = timestampOf(clock.now());
  rows.recover(now);
  const ended: StoredDeploy[] = [];
  const entries: NewLogEntry[] = [];
  for (const deploy of notes.unfinished()) {
    const logged = await loggedEnd(logs, deploy);
    const end = endOf(rows, deploy);
    if (logged === undefined) entries.push(deployEntry(deploy.owner, deploy.name, deploy.deployId, end));
    const { status, reason = null } = logged ?? end;
    ended.push({ ...deploy, status, reason, finishedAt: now });
  }
  // Write the entries before storing the outcomes, so a second crash loses none of them. The writer reports its own
  // failures.
  (await logs.append(entries)).unwrapOr(undefined);
  for (const deploy of ended) notes.note(deploy, rows.get(deploy.name)?.owner === deploy.owner);
};

/** Removes Python environments that no image needs, and partial copies of dependencies, from the build cache. */
export const sweepCache = async (
  cacheDir: string,
  needed: ReadonlySet<string>,
  leftovers: Pick<Leftovers, "take">,
): Promise<void> => {
  const folders = async (path: string) => (await readdir(path).catch(() => [])).map((name) => join(path, name));
  // Earlier versions created the environment directly in this folder, not in a subfolder.
  const isNeeded = (folder: string) => [...needed].some((path) => path === folder || path.startsWith(`${folder}/`));
  for (const account of await folders(cacheDir)) {
    for (const venv of await folders(join(account, "venvs"))) if (!isNeeded(venv)) await leftovers.take(venv);
    for (const kept of await folders(join(account, "node_modules")))
      if (kept.endsWith(PARTIAL_SUFFIX)) await leftovers.take(kept);
  }
};
