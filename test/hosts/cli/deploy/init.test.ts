/** `portside init` creates a service that runs, and overwrites nothing. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readProject } from "../../../../core/domain/deploy/project-file.ts";
import { packFolder } from "../../../../hosts/cli/deploy/pack.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const deployedText = async (folder: string): Promise<string> => {
  await using platform = await startLocal({});
  await using packed = await packFolder(folder);
  const bytes = Buffer.concat(await Array.fromAsync(packed.open()));
  const { project, issues } = readProject(JSON.parse(readFileSync(join(folder, "portside.json"), "utf8")));
  expect(issues).toEqual([]);
  const url = await platform.up(bytes, { ...project?.fields, function_name: project?.name });
  return (await fetch(url)).text();
};

test("creates a Node service that runs", async () => {
  using folder = folderWith();
  expect(await portside(["init", "my_app"], { cwd: folder.path })).toMatchObject({ code: 0 });
  expect(await deployedText(join(folder.path, "my_app"))).toBe("Hello from my-app!\n");
});

test("creates a Python service that runs", async (context) => {
  needs(context, "python");
  using folder = folderWith();
  expect(await portside(["init", "snake", "-t", "python"], { cwd: folder.path })).toMatchObject({ code: 0 });
  expect(await deployedText(join(folder.path, "snake"))).toBe("Hello from snake!\n");
});

test("overwrites nothing", async () => {
  using folder = folderWith({ "kept/server.js": "mine" });
  const { code, stdout } = await portside(["init", "kept"], { cwd: folder.path });
  expect(code).toBe(0);
  expect(stdout).toContain("(exists)");
  expect(readFileSync(join(folder.path, "kept", "server.js"), "utf8")).toBe("mine");
});

test("uses the current folder without a name", async () => {
  using folder = folderWith();
  const here = join(folder.path, "here");
  await portside(["init", "here"], { cwd: folder.path });
  writeFileSync(join(here, "server.js"), "mine");
  expect(await portside(["init"], { cwd: here })).toMatchObject({ code: 0 });
  expect(JSON.parse(readFileSync(join(here, "portside.json"), "utf8"))).toMatchObject({ name: "here", volumes: {} });
});
