/**
 * Which instances run, kept in the data folder for whoever enters one: what a process says of itself, a service can make up.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Logger } from "../../../core/ports/system.ts";

const noteSchema = z.object({ service: z.string(), job: z.string() });

export type InstanceNote = z.output<typeof noteSchema>;

/** Of a data folder: what runs now. */
export const RUN_FOLDER = "run";
const ENDING = ".instance";

/** Returns what removes the note. The next start removes a note that cannot be removed. */
export const noteInstance = (runDir: string, note: InstanceNote, logger: Logger): (() => void) => {
  const file = join(runDir, `${note.job}${ENDING}`);
  const forget = (): void => {
    try {
      rmSync(file, { force: true });
    } catch (cause) {
      logger.warn("the note of an instance could not be removed", { file, cause });
    }
  };
  try {
    writeFileSync(file, JSON.stringify(note), { mode: 0o600, flag: "wx" });
  } catch (error) {
    // A full disk leaves an empty file.
    forget();
    throw error;
  }
  return forget;
};

/** Those of the platform on this folder; undefined where no platform has run on it. */
export const readInstanceNotes = (runDir: string): readonly InstanceNote[] | undefined => {
  try {
    return readdirSync(runDir)
      .filter((name) => name.endsWith(ENDING))
      .map((name) => noteSchema.parse(JSON.parse(readFileSync(join(runDir, name), "utf8"))));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
};
