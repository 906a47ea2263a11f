/**
 * Records the running instances in the data folder, for `portside shell`. A service in a sandbox can forge the name and
 * the environment of its process, but not these files.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Logger } from "../../../core/ports/system.ts";
import { withoutScope } from "../sandbox/scope.ts";

const noteSchema = z.object({ service: z.string(), job: z.string() });

export type InstanceNote = z.output<typeof noteSchema>;

/** The folder of the notes, relative to the data folder. */
export const RUN_FOLDER = "run";
const ENDING = ".instance";

/**
 * Writes the note and returns a function that removes it. If the removal fails, the next start of the server removes
 * the note.
 */
export const noteInstance = (runDir: string, note: InstanceNote, logger: Logger): (() => void) => {
  const file = join(runDir, `${withoutScope(note.job)}${ENDING}`);
  const forget = (): void => {
    try {
      rmSync(file, { force: true });
    } catch (cause) {
      logger.warn("could not remove the note of an instance", { file, cause });
    }
  };
  try {
    writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: "wx" });
  } catch (error) {
    // On a full disk the write leaves an empty file.
    forget();
    throw error;
  }
  return forget;
};

/** Returns undefined if the instance has ended after the listing, or if the server has not written its note yet. */
const readNote = (path: string): InstanceNote | undefined => {
  try {
    const text = readFileSync(path, "utf8");
    return text === "" ? undefined : noteSchema.parse(JSON.parse(text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};

/** Returns the notes of the running instances, or undefined if no server has used the data folder. */
export const readInstanceNotes = (runDir: string): readonly InstanceNote[] | undefined => {
  try {
    return readdirSync(runDir)
      .filter((name) => name.endsWith(ENDING))
      .flatMap((name) => readNote(join(runDir, name)) ?? []);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};
