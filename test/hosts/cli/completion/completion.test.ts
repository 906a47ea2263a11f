/** Completion in real shells, with the scripts that `portside completion` prints. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shells } from "../../../../hosts/cli/completion/completion.ts";
import { commands } from "../../../../hosts/cli/program.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { completeIn } from "../../../support/cli/complete.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { needs } from "../../../support/vitest/machine.ts";

const names = Object.entries(commands).flatMap(([name, { aliases = [] }]) => [name, ...aliases]);

/** A command line, and the words that can complete it. */
const cases: readonly (readonly [string, readonly string[]])[] = [
  ["portside ", names],
  ["portside li", ["list"]],
  ["portside volume ", ["create", "delete", "get", "ls", "put", "restore", "rm"]],
  ["portside volume re", ["restore"]],
  ["portside keys ", ["create", "list", "revoke"]],
  ["portside completion ", ["bash", "fish", "zsh"]],
  ["portside ls --js", ["--json"]],
  ["portside volume rm --re", ["--recursive"]],
  ["portside restore --fo", ["--force"]],
  ["portside volume restore --i", ["--id"]],
  ["portside sql --format ", ["csv", "json", "table"]],
  ["portside sql --format=j", ["json"]],
  ["portside cost -b ", ["chat", "day", "deployment", "model", "user"]],
  ["portside init -t p", ["python"]],
  ["portside serve --runner b", ["bubblewrap"]],
  ["portside sql -f q", ["query.sql"]],
  ["portside serve --data-dir ", ["folder"]],
  ["portside deploy ", ["folder", "query.sql"]],
  ["portside volume put data q", ["query.sql"]],
  ["portside logs --since ", []],
  ["portside list --xyz", []],
];

describe.each(shells)("%s", (shell) => {
  test.for(cases)("completes '%s'", async ([line, matches], context) => {
    needs(context, shell);
    const { code, stdout: script } = await portside(["completion", shell]);
    expect(code).toBe(0);
    using folder = folderWith({ "query.sql": "SELECT 1" });
    mkdirSync(join(folder.path, "folder"));
    const found = completeIn[shell]({ script, cwd: folder.path }, line).map((match) => match.replace(/\/$/, ""));
    expect(found).toEqual([...matches].sort());
  });
});

test("lists the shells after an unknown shell", async () => {
  const { code, stderr } = await portside(["completion", "csh"]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: "error: Unknown shell 'csh'. Choose bash, zsh, fish.\n" });
});
