/** Copies an SQLite file. The copy is a snapshot, even if a server is writing to the file. */
import { rm } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { makePrivateFile } from "../data-folder/layout.ts";

/** Copies all pages in one step, because a change by another process between two steps would restart the copy. */
const ALL_PAGES = 2 ** 31 - 1;

/** Replaces an existing copy. Rejects with SQLite's error if the file is not a database. */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  await rm(to, { force: true });
  makePrivateFile(to);
  using db = new DatabaseSync(from, { readOnly: true, timeout: 5000 });
  await backup(db, to, { rate: ALL_PAGES });
};
