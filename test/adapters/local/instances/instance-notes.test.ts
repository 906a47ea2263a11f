/** The notes of running instances in the data folder. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { noteInstance, readInstanceNotes } from "../../../../adapters/local/instances/instance-notes.ts";
import type { Logger } from "../../../../core/ports/system.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-notes-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const logger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

test("lists the other instances if one starts or ends during the listing", () => {
  const note = { service: "app", job: "scope.engine.one" };
  const forget = noteInstance(folder, note, logger);
  symlinkSync(join(folder, "ended"), join(folder, "engine.two.instance"));
  writeFileSync(join(folder, "engine.three.instance"), "");
  expect(readInstanceNotes(folder)).toEqual([note]);
  forget();
  expect(readInstanceNotes(folder)).toEqual([]);
});

test("returns undefined if no server has used the data folder", () => {
  expect(readInstanceNotes(join(folder, "missing"))).toBeUndefined();
});
