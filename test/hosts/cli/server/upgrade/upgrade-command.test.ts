/** The errors of `portside upgrade` if it finds no engine that it can upgrade. */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folderWith } from "../../../../support/archives/folders.ts";
import { startCli } from "../../../../support/cli/cli-process.ts";

const upgrade = async (dataDir: string, variables: Readonly<Record<string, string>> = {}) => {
  const { code, stderr } = await startCli(["upgrade", "--data-dir", dataDir], { ...process.env, ...variables }, dataDir)
    .ended;
  expect(code).toBe(1);
  return stderr;
};

test.for([
  ["a folder", "data"],
  ["a folder with a long path", "d".repeat(150)],
] as const)("names %s in which no engine runs", async ([, name]) => {
  using folder = folderWith();
  const dataDir = join(folder.path, name);
  mkdirSync(dataDir);
  expect(await upgrade(dataDir)).toContain(`No engine answers in the data folder ${dataDir}.`);
});

test("suggests a restart if the engine is too old to support upgrades", async () => {
  using folder = folderWith({ "engine/file": "" });
  const server = createServer((_request, response) => {
    response.statusCode = 404;
    response.end(`${JSON.stringify({ error: "The engine has no such call." })}\n`);
  }).listen(join(folder.path, "engine", "engine.sock"));
  onTestFinished(() => void server.close());
  await once(server, "listening");
  expect(await upgrade(folder.path)).toContain(
    "The running version cannot be upgraded without a restart. Restart the server.",
  );
});

test("fails with a provider other than local", async () => {
  using folder = folderWith();
  expect(await upgrade(folder.path, { PORTSIDE_PROVIDER: "memory" })).toContain("only with the provider 'local'");
});
