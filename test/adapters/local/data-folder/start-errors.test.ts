/** Errors of a start with an unusable data folder: the path, the problem and the next step. */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLocalProvider, DataFolderError, type DataFolderProblem } from "../../../../adapters/local/index.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { startLocalIn } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const repository = join(import.meta.dirname, "..", "..", "..", "..");

interface Case {
  readonly what: string;
  readonly kind: DataFolderProblem;
  /** The path in a used folder to damage. */
  readonly at: string;
  readonly spoil: (path: string) => void;
  readonly message: RegExp;
}

const replaceBy =
  (make: (path: string) => void) =>
  (path: string): void => {
    rmSync(path, { recursive: true, force: true });
    make(path);
  };

const cases: readonly Case[] = [
  {
    what: "a state file that is not a database",
    kind: "damaged",
    at: "state.sqlite",
    spoil: (path) => writeFileSync(path, "not a database, but longer than one header of SQLite is".repeat(200)),
    message: /state\.sqlite is damaged \(file is not a database\)\. .*portside doctor --repair/,
  },
  {
    what: "a state file that is a folder",
    kind: "unreadable",
    at: "state.sqlite",
    spoil: replaceBy((path) => mkdirSync(path)),
    message: /state\.sqlite is a folder, not a file\. Move it away/,
  },
  {
    what: "a data folder that is a file",
    kind: "not_a_folder",
    at: "",
    spoil: replaceBy((path) => writeFileSync(path, "")),
    message: /cannot be used as a folder.*Move the file away, or choose another folder with --data-dir/,
  },
  {
    what: "a data folder below a file",
    kind: "not_a_folder",
    at: "",
    spoil: replaceBy((path) => symlinkSync("/dev/null/data", path)),
    message: /cannot be used as a folder.*--data-dir/,
  },
];

/** A folder that a platform has used, below a folder that can be damaged as a whole. */
const usedFolder = async (): Promise<Folder & { readonly data: string }> => {
  const parent = folderWith();
  const data = join(parent.path, "data");
  await (await startLocalIn(data, { runner: "process" }))[Symbol.asyncDispose]();
  return { ...parent, data };
};

const run = (program: string, args: readonly string[]): Promise<{ code: unknown; errors: string }> =>
  new Promise((resolve) => {
    execFile(program, args, { cwd: repository }, (error, _out, errors) => resolve({ code: error?.code, errors }));
  });

const portside = (args: readonly string[]) => run(process.execPath, ["hosts/cli/main.ts", ...args]);

describe.each(cases)("$what", ({ kind, at, spoil, message }) => {
  test("throws an error with a kind, a path and a message for embedders", async () => {
    using folder = await usedFolder();
    const path = join(folder.data, at);
    spoil(path);
    const refused = createLocalProvider({ dataDir: folder.data, ingressPort: 0 });
    await expect(refused).rejects.toThrow(DataFolderError);
    await expect(refused).rejects.toMatchObject({ kind, path });
    await expect(refused).rejects.toThrow(message);
  });
});

test.each([
  ["serve", (data: string) => ["serve", "--data-dir", data, "--port", "0", "--ingress-port", "0"]],
  ["keys create", (data: string) => ["keys", "create", "--account", "ann", "--data-dir", data]],
])("portside %s prints the message without a stack and exits with 1", async (_command, argsOf) => {
  using folder = await usedFolder();
  writeFileSync(join(folder.data, "state.sqlite"), "x".repeat(10_000));
  const { code, errors } = await portside(argsOf(folder.data));
  expect(code).toBe(1);
  expect(errors).toMatch(/^error: .*state\.sqlite is damaged \(file is not a database\)\. .*portside doctor --repair/);
  expect(errors).not.toMatch(/bug in Portside|\n\s+at /);
});

test("portside run prints the message, too", async () => {
  using folder = folderWith({
    "package.json": JSON.stringify({ scripts: { start: "node server.js" } }),
    "server.js": "",
    ".portside/state.sqlite": "x".repeat(10_000),
  });
  const { code, errors } = await portside(["run", folder.path]);
  expect(code).toBe(1);
  expect(errors).toMatch(/error: .*\.portside\/state\.sqlite is damaged.*portside doctor --repair/);
  expect(errors).not.toMatch(/bug in Portside/);
});

test("names a read-only file system", async (context) => {
  needs(context, "bubblewrap");
  using folder = await usedFolder();
  const { data } = folder;
  const system = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"];
  const serve = ["hosts/cli/main.ts", "serve", "--data-dir", data, "--port", "0", "--ingress-port", "0"];
  const { code, errors } = await run("bwrap", [...system, process.execPath, ...serve]);
  expect(code).toBe(1);
  expect(errors).toContain("its file system is read-only");
  expect(errors).toContain("Mount the file system for writing, or choose another folder with --data-dir.");
});

test("names the file on a full disk", async () => {
  using folder = await usedFolder();
  const full = openState(folder.data);
  // SQLite reports the same error as on a full disk once it may not use another page.
  full.exec("PRAGMA max_page_count = 1");
  const { page_count: pages } = full.prepare("PRAGMA page_count").get() as { page_count: number };
  full.exec(`PRAGMA max_page_count = ${pages}`);
  let thrown: unknown;
  try {
    full.exec("CREATE TABLE filler (x); INSERT INTO filler SELECT zeroblob(1000000)");
  } catch (error) {
    thrown = error;
  }
  full.close();
  expect((thrown as Error).message).toBe("database or disk is full");
  const { explainFileError } = await import("../../../../adapters/local/data-folder/data-folder-error.ts");
  const explained = explainFileError(thrown, join(folder.data, "state.sqlite"));
  expect(explained).toMatchObject({ kind: "full", path: join(folder.data, "state.sqlite") });
  expect(explained?.message).toMatch(/state\.sqlite cannot be written: the disk is full.*Free space/);
});
