/** A log file with damaged pages is set aside, its readable entries are recovered, and the log works again. */
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileIdOf } from "../../../../adapters/local/data-folder/file-id.ts";
import { readableRows } from "../../../../adapters/local/logs/readable-rows.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { parseLogFilter } from "../../../../core/domain/logs/filter/parse.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";

const acme = "acme" as AccountId;
const app = "app" as DeploymentName;
const scope = { owner: acme, service: app };
const ROWS = 3000;
const PAGE = 4096;

let folder: string;
let complaints: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-damage-"));
  complaints = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const open = (): WrittenLogs => {
  const complain = (message: string) => void complaints.push(message);
  const logger = { debug: complain, info: complain, warn: complain, error: complain };
  return new WrittenLogs({ folder, clock: createSystemClock(), logger, retentionDays: 30, maxBytes: 2 ** 30 });
};

const line = (text: string): NewLogEntry => ({ ...scope, text, severity: "INFO", logName: "stdout" });
const textOf = (n: number): string => `line ${n} ${"x".repeat(n % 400)}`;

const fileOf = (): string => join(folder, readdirSync(folder).find((name) => name.endsWith(".sqlite")) as string);

/** A closed log with many pages. */
const filled = async (): Promise<string> => {
  const logs = open();
  for (let n = 0; n < ROWS; n++) void logs.push(line(textOf(n)));
  void logs.push(line(`long ${"y".repeat(20_000)}`));
  logs.flush();
  await logs.close();
  return fileOf();
};

const overwrite = (path: string, at: number, bytes: Uint8Array): void => {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
};

const garbage = Buffer.alloc(PAGE, 0xa5);

/** Reads every entry, page by page, like a client. */
const readAll = async (logs: WrittenLogs): Promise<{ text?: string | undefined; json?: unknown }[]> => {
  const found: { text?: string | undefined; json?: unknown }[] = [];
  let place = { instant: 0n as never, code: "" };
  for (;;) {
    const { entries, seen } = (await logs.after(scope, place, every(1000)))._unsafeUnwrap();
    found.push(...entries);
    if (entries.length === 0 || seen === undefined) return found;
    place = seen as never;
  }
};

const damages: readonly { what: string; spoil: (path: string) => void; atLeast: number }[] = [
  { what: "a damaged page in the middle", spoil: (path) => overwrite(path, 40 * PAGE, garbage), atLeast: ROWS - 60 },
  {
    what: "several damaged pages",
    spoil: (path) => {
      for (const page of [10, 11, 50, 90]) overwrite(path, page * PAGE, garbage);
    },
    atLeast: ROWS - 240,
  },
  { what: "a damaged root page", spoil: (path) => overwrite(path, PAGE, garbage), atLeast: ROWS - 100 },
  { what: "a damaged header", spoil: (path) => overwrite(path, 0, garbage), atLeast: ROWS },
  {
    what: "a truncated file",
    spoil: (path) => truncateSync(path, Math.floor(statSync(path).size / 2 / PAGE) * PAGE + 100),
    atLeast: ROWS / 3,
  },
  {
    what: "a file with other content",
    spoil: (path) => writeFileSync(path, "not our format ".repeat(5000)),
    atLeast: 0,
  },
];

describe.each(damages)("$what", ({ spoil, atLeast }) => {
  test("reading, searching and writing work again, and readable entries are recovered", async () => {
    const path = await filled();
    spoil(path);
    const logs = open();
    (await logs.append([line("after")]))._unsafeUnwrap();
    const found = await readAll(logs);
    const texts = found.map(({ text }) => text);
    const saved = texts.filter((text) => text?.startsWith("line ")).length;
    expect(saved).toBeGreaterThanOrEqual(atLeast);
    expect(new Set(texts.filter((text) => text?.startsWith("line "))).size).toBe(saved);
    for (const text of texts) if (text?.startsWith("line ")) expect(text).toBe(textOf(Number(text.split(" ")[1])));
    expect(texts).toContain("after");
    expect(found.filter(({ json }) => (json as { event?: string })?.event === "log_damaged").length).toBe(1);
    const searched = await logs.newest(scope, {
      ...every(10),
      filter: parseLogFilter('"after"', compileRe2)._unsafeUnwrap(),
    });
    expect(searched._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(["after"]);
    expect(complaints).toContain("a log file is damaged; set it aside and started to recover its entries");
    const kept = readdirSync(folder).filter((name) => name.includes(".damaged-"));
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.some((name) => name.endsWith(".unread"))).toBe(false);
    await logs.close();
    using whole = new DatabaseSync(path, { readOnly: true });
    expect(whole.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
  });
});

test("a search detects and repairs a page that is damaged while the server runs", async () => {
  const path = await filled();
  const logs = open();
  expect((await logs.newest(scope, every(1)))._unsafeUnwrap().entries.length).toBe(1);
  for (let page = 20; page < 60; page++) overwrite(path, page * PAGE, garbage);
  const filter = parseLogFilter('"nothing has this"', compileRe2)._unsafeUnwrap();
  expect((await logs.newest(scope, { ...every(10), filter }))._unsafeUnwrap().entries).toEqual([]);
  expect((await readAll(logs)).length).toBeGreaterThan(ROWS / 2);
  await logs.close();
});

test("replaces the file once if two readers report the same damage", async () => {
  const path = await filled();
  overwrite(path, 40 * PAGE, garbage);
  const logs = open();
  const damaged = fileIdOf(path) as string;
  await Promise.all([logs.writer.repair(acme, damaged), logs.writer.repair(acme, damaged)]);
  await logs.writer.repair(acme, damaged);
  expect(readdirSync(folder).filter((name) => /\.damaged-[^.]*$/.test(name))).toHaveLength(1);
  await logs.close();
});

test("a reader notices that its open file was replaced", async () => {
  const path = await filled();
  const logs = open();
  const [newest] = (await logs.newest(scope, every(1)))._unsafeUnwrap().entries;
  expect(newest?.text).toMatch(/^long/);
  await logs.writer.repair(acme, fileIdOf(path) as string);
  (await logs.append([line("after")]))._unsafeUnwrap();
  expect((await logs.newest(scope, every(1)))._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(["after"]);
  await logs.close();
});

test("after a crash between moving a database and its write-ahead log, moves the log too", async () => {
  const path = await filled();
  const db = new DatabaseSync(path);
  db.exec("PRAGMA wal_autocheckpoint = 0; UPDATE entries SET text = 'changed' WHERE text LIKE 'line 7 %'");
  const copies = ["", "-wal"].map((ending) => [ending, readFileSync(path + ending)] as const);
  db.close();
  const kept = `${path}.damaged-2026-01-01T00-00-00-000`;
  rmSync(path);
  writeFileSync(`${kept}.unread`, "");
  for (const [ending, bytes] of copies) writeFileSync(ending === "" ? kept : path + ending, bytes);
  const logs = open();
  const texts = (await readAll(logs)).map(({ text }) => text);
  expect(texts).toContain("changed");
  expect(texts).not.toContain(textOf(7));
  await logs.close();
});

test("recovers rows that are only in the write-ahead log", async () => {
  const path = await filled();
  const db = new DatabaseSync(path);
  db.exec("PRAGMA wal_autocheckpoint = 0; UPDATE entries SET text = 'changed' WHERE text LIKE 'line 7 %'");
  const copies = ["", "-wal"].map((ending) => [ending, readFileSync(path + ending)] as const);
  db.close();
  for (const [ending, bytes] of copies) writeFileSync(`${folder}/copy${ending}`, bytes);
  const texts = [...readableRows(join(folder, "copy"))].flat().map((row) => row[7]);
  expect(texts).toContain("changed");
  expect(texts).not.toContain(textOf(7));
  expect(texts.length).toBe(ROWS + 1);
  expect(texts).toContain(`long ${"y".repeat(20_000)}`);
});

test("resumes an interrupted repair at the next start, without duplicates", async () => {
  const path = await filled();
  overwrite(path, 40 * PAGE, garbage);
  const first = open();
  void first.push(line("between"));
  first.flush();
  await first.inspect(acme).catch(() => undefined);
  await first.close();
  const kept = readdirSync(folder).find((name) => /\.damaged-[^.]*$/.test(name)) as string;
  // As after a crash during the repair.
  writeFileSync(join(folder, `${kept}.unread`), "");
  const second = open();
  const texts = (await readAll(second)).map(({ text }) => text).filter((text) => text?.startsWith("line "));
  expect(texts.length).toBeGreaterThan(ROWS - 60);
  expect(new Set(texts).size).toBe(texts.length);
  expect(readdirSync(folder).some((name) => name.endsWith(".unread"))).toBe(false);
  await second.close();
});
