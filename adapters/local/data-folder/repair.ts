/**
 * Repairs a damaged data folder: chooses the newest intact copy of the state, or the newest readable one if none is
 * intact, and merges the folder's volumes into it. Deletes nothing: replaced files move to `set-aside`.
 */
import { copyFileSync, lstatSync, renameSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../../../core/ports/system.ts";
import { AccountUserRows } from "../state/account-users.ts";
import { syncFolder } from "../state/check-file.ts";
import { openState, type StateDatabase } from "../state/database.ts";
import { COPY_FILE, type InspectedState, inspectDataFolder, inspectState, STATE_FILE } from "../state/inspect.ts";
import { judgeState, knownGeneration } from "../state/judge-state.ts";
import { lockDataDir } from "../state/lock-data-dir.ts";
import { StateCopy } from "../state/state-copy.ts";
import { type VolumeRecord, VolumeRows } from "../state/volumes.ts";
import { Quarantine } from "../volumes/quarantine.ts";
import { VolumeRecords } from "../volumes/records.ts";
import { DataFolderError, noDataFolder } from "./data-folder-error.ts";
import { makeLayout } from "./layout.ts";
import { setAside } from "./set-aside.ts";

const STATE_FILES = [STATE_FILE, `${STATE_FILE}-wal`, `${STATE_FILE}-shm`];

/** Returns the quarantine of a data folder. No server needs to run. */
export const quarantineOf = (dataDir: string): Quarantine =>
  new Quarantine(join(dataDir, "storage", "quarantine"), () => new Date().toISOString());

type Say = (line: string) => void;

/** The files that may contain a usable state. `alone` means that the repair ignores the file's write-ahead log. */
const sources = [
  { name: "the state", file: STATE_FILE, alone: false },
  { name: "the state without its write-ahead log", file: STATE_FILE, alone: true },
  { name: "the copy of the state", file: COPY_FILE, alone: true },
] as const;

type Candidate = (typeof sources)[number] & {
  readonly generation: number;
  /** False if a digest does not match the content. */
  readonly isWhole: boolean;
};

const inspected = (path: string, alone: boolean): InspectedState["state"] => {
  try {
    return inspectState(path, alone).state;
  } catch (error) {
    return { kind: "unreadable", problem: (error as Error).message };
  }
};

/**
 * Returns the usable states, best first: states whose digests match precede the others, and newer states precede older
 * ones.
 */
const candidatesIn = (dataDir: string, say: Say): Candidate[] => {
  const found = sources.flatMap((source): Candidate[] => {
    const { name, file, alone } = source;
    const state = inspected(join(dataDir, file), alone);
    if (state.kind === "whole") return [{ ...source, generation: state.version?.generation ?? 0, isWhole: true }];
    if (state.kind === "altered") return [{ ...source, generation: state.generation, isWhole: false }];
    say(`${name} (${file}) is ${state.kind}${state.kind === "unreadable" ? `: ${state.problem}` : ""}`);
    return [];
  });
  return found.sort((a, b) => Number(b.isWhole) - Number(a.isWhole) || b.generation - a.generation);
};

/** Installs the candidate as the state, and sets the replaced files aside. */
const install = async (dataDir: string, { file, alone }: Candidate, say: Say): Promise<void> => {
  if (!alone) return;
  const partial = join(dataDir, `${STATE_FILE}.new`);
  copyFileSync(join(dataDir, file), partial);
  {
    await using file = await open(partial, "r+");
    await file.chmod(0o600);
    await file.sync();
  }
  const kept = setAside(dataDir, STATE_FILES);
  if (kept !== undefined) say(`kept the replaced state files in ${kept}`);
  renameSync(partial, join(dataDir, STATE_FILE));
  syncFolder(dataDir);
};

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const labelOf = ({ name, owner, id }: VolumeRecord): string => `volume '${name}' of ${owner} (${id})`;

/**
 * Restores the rows of volumes that have a folder.
 * @param isNewest whether the state is intact and the newest; records then only add missing rows
 */
const mergeVolumes = async (dataDir: string, db: StateDatabase, isNewest: boolean, say: Say): Promise<void> => {
  const at = (...names: string[]) => join(dataDir, "storage", ...names);
  const rows = new VolumeRows(db);
  rows.recover();
  const records = new VolumeRecords(at("records"));
  const quarantine = quarantineOf(dataDir);
  const known = new Map(rows.all().map((row) => [row.id, row]));
  const all = (await records.all()).filter(({ id }) => isFolder(at("volumes", id)));
  // If a deleted and a live volume have the same name, the live volume keeps the name.
  for (const record of all.sort((a, b) => Number(a.deletedAt === null) - Number(b.deletedAt === null))) {
    const row = known.get(record.id);
    if (row !== undefined && (isNewest || row.deletedAt === record.deletedAt)) continue;
    if (rows.adopt(record)) say(`restored ${labelOf(record)} from its record`);
    else say(`skipped ${labelOf(record)}: its account has another volume with that name`);
  }
  for (const entry of await quarantine.entries()) {
    const { record } = entry;
    if (record === undefined || isFolder(at("volumes", record.id)) || !isFolder(join(entry.folder, "volume"))) continue;
    if (!rows.adopt(record)) {
      say(`left ${labelOf(record)} in quarantine: its account has another volume with that name`);
      continue;
    }
    await quarantine.release(entry, at("volumes", record.id));
    say(`restored ${labelOf(record)} from quarantine`);
  }
  const users = new AccountUserRows(db);
  for (const { id, owner } of rows.all()) {
    const uid = lstatSync(at("volumes", id), { throwIfNoEntry: false })?.uid ?? process.geteuid?.();
    if (uid !== undefined && uid !== 0 && uid !== process.geteuid?.()) users.restore(owner, uid);
  }
  const served = new Set(rows.all().map(({ id }) => id));
  const rest = (await readdir(at("volumes"))).filter((id) => !served.has(id));
  if (rest.length > 0)
    say(`the next start moves these unknown volume folders to ${quarantine.folder}: ${rest.join(", ")}`);
  await records.correct(rows.all());
};

/** Opens the installed state, merges volumes, and recreates the derived files. */
const finish = async (dataDir: string, isNewest: boolean, logger: Logger, say: Say): Promise<void> => {
  {
    using db = openState(dataDir, { acceptState: true, logger });
    makeLayout(dataDir, logger);
    await mergeVolumes(dataDir, db, isNewest, say);
    await new StateCopy(db, dataDir, logger).close();
  }
  say("recreated state.check and the copy of the state");
};

/** @param changes the number of changes of the state that the repair lost; positive */
export const formatLoss = (changes: number): string =>
  changes === 1
    ? "lost the last change, unless it was to a volume"
    : `lost the last ${changes} changes, except those to volumes`;

/**
 * Installs the best usable state and merges the folder's volumes. Calls `say` for each action and each loss.
 * Throws a `DataFolderError` if a server uses the folder, or if no usable state exists.
 */
export const repairDataFolder = async (dataDir: string, logger: Logger, say: Say): Promise<void> => {
  if (!isFolder(dataDir)) throw noDataFolder(dataDir);
  using _lock = lockDataDir(dataDir, logger);
  const [best] = candidatesIn(dataDir, say);
  if (best === undefined)
    throw new DataFolderError(
      "damaged",
      join(dataDir, STATE_FILE),
      `Neither the state nor its copy in ${dataDir} is readable. Restore a backup with 'portside restore --force FILE --data-dir ${dataDir}', or run 'portside doctor --rebuild --data-dir ${dataDir}' to restore volumes from their records.`,
    );
  const known = knownGeneration(inspectDataFolderOrNothing(dataDir));
  await install(dataDir, best, say);
  say(`using ${best.name}`);
  if (best.generation < known) say(formatLoss(known - best.generation));
  if (!best.isWhole) say("the content does not match its digest: some values may be wrong");
  const derived = setAside(dataDir, ["sql"]);
  if (derived !== undefined) say("the next SQL query recreates the tables that it reads");
  await finish(dataDir, best.generation >= known && best.isWhole, logger, say);
};

const inspectDataFolderOrNothing = (dataDir: string): Parameters<typeof knownGeneration>[0] => {
  try {
    return inspectDataFolder(dataDir);
  } catch {
    return { check: { found: "damaged", version: undefined }, copy: undefined };
  }
};

/**
 * Creates a new state from the volumes' records. Calls `say` for each action and each loss.
 * Throws a `DataFolderError` if a server uses the folder, or if it contains a state that `repairDataFolder` can use.
 */
export const rebuildDataFolder = async (dataDir: string, logger: Logger, say: Say): Promise<void> => {
  if (!isFolder(dataDir)) throw noDataFolder(dataDir);
  using _lock = lockDataDir(dataDir, logger);
  if (candidatesIn(dataDir, say).length > 0)
    throw new DataFolderError(
      "outdated",
      join(dataDir, STATE_FILE),
      `${dataDir} contains a readable state. Run 'portside doctor --repair --data-dir ${dataDir}' instead.`,
    );
  if (judgeState(inspectDataFolder(dataDir)).kind === "fresh") throw noDataFolder(dataDir);
  const kept = setAside(dataDir, [...STATE_FILES, COPY_FILE]);
  if (kept !== undefined) say(`kept the damaged state files in ${kept}`);
  setAside(dataDir, ["sql"]);
  await finish(dataDir, false, logger, say);
  say(
    "lost: deployments, schedules, API keys, secrets, domains, reserved names, and the keys that sign tokens and URLs",
  );
  say(`next: 'portside keys create --account NAME --data-dir ${dataDir}' for each account, then deploy again`);
};
