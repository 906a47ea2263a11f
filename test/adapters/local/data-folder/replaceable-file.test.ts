/** Replaces a damaged file with a new one. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ReplaceableFile } from "../../../../adapters/local/data-folder/replaceable-file.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const GARBAGE = "not a database ".repeat(1000);

const openIn = (dataDir: string) => {
  const logged: string[] = [];
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: (message: string) => void logged.push(message) };
  const schema = "CREATE TABLE IF NOT EXISTS notes (note TEXT NOT NULL) STRICT;";
  const file = new ReplaceableFile({ dataDir, name: "notes.sqlite", schema, whenReplaced: "notes are lost", logger });
  const write = (note: string) => file.use((db) => void db.prepare("INSERT INTO notes VALUES (?)").run(note));
  const read = () =>
    file.use((db) =>
      db
        .prepare("SELECT note FROM notes")
        .all()
        .map((row) => row["note"]),
    );
  return { file, logged, write, read };
};

const keptIn = (dataDir: string): string => {
  const folders = readdirSync(join(dataDir, "set-aside"));
  expect(folders).toHaveLength(1);
  return join(dataDir, "set-aside", folders[0] as string, "notes.sqlite");
};

test("keeps its content when it is opened again", () => {
  using folder = folderWith();
  const first = openIn(folder.path);
  first.write("one");
  first.file.close();
  const second = openIn(folder.path);
  expect(second.read()).toEqual(["one"]);
  expect(second.logged).toEqual([]);
  second.file.close();
});

test("replaces a file that is damaged before it is opened, and keeps the damaged one", () => {
  using folder = folderWith();
  writeFileSync(join(folder.path, "notes.sqlite"), GARBAGE);
  const { file, logged, write, read } = openIn(folder.path);
  write("one");
  expect(read()).toEqual(["one"]);
  expect(logged).toEqual(["notes are lost"]);
  expect(readFileSync(keptIn(folder.path), "utf8")).toBe(GARBAGE);
  file.close();
});

test("replaces a folder that has the file's name", () => {
  using folder = folderWith();
  mkdirSync(join(folder.path, "notes.sqlite"));
  const { file, logged, read } = openIn(folder.path);
  expect(read()).toEqual([]);
  expect(logged).toEqual(["notes are lost"]);
  keptIn(folder.path);
  file.close();
});

test("repeats the work in a new file if the file is damaged while it is open", () => {
  using folder = folderWith();
  const { file, logged, write, read } = openIn(folder.path);
  write("one");
  file.use((db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  writeFileSync(join(folder.path, "notes.sqlite"), GARBAGE);
  // Without this, SQLite would read from its cache.
  file.use((db) => db.exec("PRAGMA shrink_memory"));
  write("two");
  expect(read()).toEqual(["two"]);
  expect(logged).toEqual(["notes are lost"]);
  keptIn(folder.path);
  file.close();
});

test("does not replace the file if the work fails for a different reason", () => {
  using folder = folderWith();
  const { file, logged, write, read } = openIn(folder.path);
  write("one");
  expect(() => file.use((db) => db.exec("SELECT * FROM missing"))).toThrow("no such table");
  expect(read()).toEqual(["one"]);
  expect(logged).toEqual([]);
  file.close();
  expect(() => read()).toThrow("is closed");
});
