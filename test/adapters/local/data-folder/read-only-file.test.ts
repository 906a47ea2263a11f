/** The server reads files that the engine writes, replaces and repairs. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { silent } from "../../../../adapters/local/accounts/identity.ts";
import { ReadOnlyFile } from "../../../../adapters/local/data-folder/read-only-file.ts";
import { ReplaceableFile } from "../../../../adapters/local/data-folder/replaceable-file.ts";
import { insert, selectAll } from "../../../../adapters/local/state/sql.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const open = (dataDir: string) =>
  new ReplaceableFile({
    dataDir,
    name: "a.sqlite",
    whenReplaced: "set aside a.sqlite",
    logger: silent,
    schema: "CREATE TABLE IF NOT EXISTS words (word TEXT NOT NULL) STRICT",
  });

const add = (file: ReplaceableFile, word: string) => file.use((db) => insert(db, "INSERT INTO words", { word }));

const wordsIn = (file: ReadOnlyFile) =>
  file.use((db) => selectAll<{ word: string }>(db, "SELECT word FROM words")).map(({ word }) => word);

test("reads each change, and a file that replaces the previous one", () => {
  using folder = folderWith();
  const first = open(folder.path);
  using reader = new ReadOnlyFile(join(folder.path, "a.sqlite"), () => undefined);
  add(first, "one");
  expect(wordsIn(reader)).toEqual(["one"]);
  add(first, "two");
  expect(wordsIn(reader)).toEqual(["one", "two"]);
  first.close();
  for (const ending of ["", "-wal", "-shm"]) rmSync(join(folder.path, `a.sqlite${ending}`), { force: true });
  const second = open(folder.path);
  add(second, "three");
  expect(wordsIn(reader)).toEqual(["three"]);
  second.close();
});

test("reports damage, and reads again after the writer has replaced the file", () => {
  using folder = folderWith();
  const path = join(folder.path, "a.sqlite");
  const writer = open(folder.path);
  add(writer, "one");
  let damaged = 0;
  using reader = new ReadOnlyFile(path, () => {
    damaged++;
    writer.check();
  });
  writer.use((db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  writeFileSync(path, "not a database ".repeat(1000));
  expect(() => wordsIn(reader)).toThrow();
  expect(damaged).toBe(1);
  expect(wordsIn(reader)).toEqual([]);
  writer.close();
});
