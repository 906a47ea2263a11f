/** A state that is missing, empty, older or damaged next to existing data. */
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLocalProvider, DataFolderError } from "../../../../adapters/local/index.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

let folder: Folder;
beforeEach(() => {
  folder = folderWith();
});
afterEach(() => folder[Symbol.dispose]());

const at = (...names: string[]): string => join(folder.path, ...names);

/** Runs the platform once, with a volume and an object. */
const live = async (name: string): Promise<void> => {
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  const idsBefore = readdirSync(at("storage", "volumes"));
  (await platform.controlPlane.createVolume(acme, { name }))._unsafeUnwrap();
  const known = new Set(idsBefore);
  const [id] = readdirSync(at("storage", "volumes")).filter((one) => !known.has(one)) as [string];
  writeFileSync(at("storage", "volumes", id, "photo.jpg"), name);
};

const names = async (acceptState = false): Promise<string[]> => {
  await using platform = await startLocalIn(folder.path, { runner: "process", acceptState });
  return (await platform.controlPlane.listVolumes(acme))._unsafeUnwrap().map(({ name }) => name);
};

const refusal = async (): Promise<DataFolderError> => {
  const error = await createLocalProvider({ dataDir: folder.path, ingressPort: 0, runner: "process" }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DataFolderError);
  return error as DataFolderError;
};

const flip = (file: string, at: number): void => {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(file, bytes);
};

const damages: Readonly<Record<string, () => void>> = {
  "is missing": () => ["", "-wal", "-shm"].forEach((end) => void rmSync(at(`state.sqlite${end}`), { force: true })),
  "is empty": () => truncateSync(at("state.sqlite"), 0),
  "is truncated": () => truncateSync(at("state.sqlite"), statSync(at("state.sqlite")).size - 4096),
  "has a flipped bit in a row": () => flip(at("state.sqlite"), readFileSync(at("state.sqlite")).indexOf("photos")),
  "has a damaged header": () => flip(at("state.sqlite"), 18),
  "has a damaged schema": () => {
    // A page that SQLite has split still contains the earlier text in its unused space.
    for (const { index } of readFileSync(at("state.sqlite"), "latin1").matchAll(/TABLE volumes/g))
      flip(at("state.sqlite"), index);
  },
};

test.each(Object.entries(damages))("refuses to start and changes no volume if the state %s", async (_name, damage) => {
  await live("photos");
  const [id] = readdirSync(at("storage", "volumes")) as [string];
  damage();
  const { kind, path, message } = await refusal();
  expect(["damaged", "outdated"]).toContain(kind);
  expect(path).toBe(at("state.sqlite"));
  expect(message).toContain(at("state.sqlite"));
  expect(message).toContain(`portside doctor --repair --data-dir ${folder.path}`);
  expect(readFileSync(at("storage", "volumes", id, "photo.jpg"), "utf8")).toBe("photos");
  // The refusal releases the folder.
  expect((await refusal()).kind).toBe(kind);
});

test("refuses an older state, and with acceptState moves unknown volumes to quarantine", async () => {
  await live("photos");
  copyFileSync(at("state.sqlite"), at("older"));
  await live("letters");
  copyFileSync(at("older"), at("state.sqlite"));
  const { message } = await refusal();
  expect(message).toMatch(/is older than the other data in the folder \(change \d+ of \d+\)/);
  expect(message).toContain("portside serve --accept-state");
  expect(await names(true)).toEqual(["photos"]);
  expect(readdirSync(at("storage", "quarantine"))).toHaveLength(1);
  // The accepted state is now the newest, and the copy with more changes is set aside.
  expect(await names()).toEqual(["photos"]);
  const [kept] = readdirSync(at("set-aside")) as [string];
  expect(readdirSync(at("set-aside", kept))).toEqual(["state.copy.sqlite"]);
});

test("refuses an older state without its check file if it does not contain a volume folder", async () => {
  await live("photos");
  copyFileSync(at("state.sqlite"), at("older"));
  await live("letters");
  copyFileSync(at("older"), at("state.sqlite"));
  for (const name of ["state.check", "state.copy.sqlite"]) rmSync(at(name));
  expect((await refusal()).message).toContain("does not list 1 of the volume folders, so it may be older");
});

test("detects that a flipped bit cost the write-ahead log its last changes", async () => {
  await using running = await startLocalIn(folder.path, { runner: "process" });
  const copy = folderWith();
  (await running.controlPlane.createVolume(acme, { name: "photos" }))._unsafeUnwrap();
  cpSync(folder.path, copy.path, { recursive: true });
  using _gone = copy;
  const log = join(copy.path, "state.sqlite-wal");
  flip(log, statSync(log).size - 100);
  rmSync(join(copy.path, "state.sqlite-shm"));
  const opening = createLocalProvider({ dataDir: copy.path, ingressPort: 0, runner: "process" });
  await expect(opening).rejects.toMatchObject({
    kind: "outdated",
    message: /older than the other data in the folder/,
  });
});

test("copies the state within seconds and empties the write-ahead log", async () => {
  await using running = await startLocalIn(folder.path, { runner: "process" });
  (await running.controlPlane.createVolume(acme, { name: "photos" }))._unsafeUnwrap();
  await expect.poll(() => statSync(at("state.sqlite-wal")).size).toBe(0);
  const copy = new DatabaseSync(at("state.copy.sqlite"), { readOnly: true });
  expect(copy.prepare("SELECT name FROM volumes").all()).toMatchObject([{ name: "photos" }]);
  copy.close();
  expect(statSync(at("state.copy.sqlite")).mode & 0o777).toBe(0o600);
});

test("starts without the check file or the copy, and writes them again", async () => {
  await live("photos");
  for (const name of ["state.check", "state.copy.sqlite"]) {
    rmSync(at(name));
    expect(await names()).toEqual(["photos"]);
    writeFileSync(at(name), "damaged");
    expect(await names()).toEqual(["photos"]);
    expect(readFileSync(at(name)).length).toBeGreaterThan(100);
  }
  expect(readdirSync(at("set-aside"))).toEqual([]);
});

test("opens the state of a release without versions", async () => {
  await live("photos");
  const db = new DatabaseSync(at("state.sqlite"));
  db.exec(`
    DROP TABLE version; DROP TABLE account_users; ALTER TABLE schedules DROP COLUMN last_fire; DROP TABLE releases;
    DROP TABLE secrets; DROP TABLE secret_numbers; DROP TABLE domains; DROP TABLE certificates;
    DROP TABLE challenges; DROP TABLE certificate_orders; DROP TABLE authority_accounts;
    ALTER TABLE services DROP COLUMN uid; ALTER TABLE services DROP COLUMN released;
    ALTER TABLE freed DROP COLUMN uid; ALTER TABLE freed DROP COLUMN released;
    PRAGMA user_version = 2;
  `);
  db.close();
  for (const name of ["state.check", "state.copy.sqlite"]) rmSync(at(name));
  expect(await names()).toEqual(["photos"]);
  expect(existsSync(at("state.check"))).toBe(true);
});
