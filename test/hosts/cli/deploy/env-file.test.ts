/** Portside reads the file of `--env-file`, and Node, which has an option of the same name, does not. */
import { execFile } from "node:child_process";
import { delimiter, dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveMemory } from "../../../support/http/api.ts";

const repository = resolve(import.meta.dirname, "../../../..");

const starts: readonly (readonly [string, string, ...string[]])[] = [
  ["npm run portside", "npm", "--prefix", repository, "run", "--silent", "portside", "--"],
  // The kernel starts the file with sh because of its first line.
  ["the installed command", "/bin/sh", join(repository, "hosts/cli/main.ts")],
];

test.each(starts)("%s", async (_name, command, ...before) => {
  await using api = await serveMemory();
  using folder = folderWith({
    "app/portside.json": JSON.stringify({ name: "my-app", volumes: {} }),
    "app/package.json": "{}",
    "vars.env": "GREETING=hello\nNODE_OPTIONS=--require=/nonexistent\n",
  });
  const env = {
    PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"]}`,
    HOME: folder.path,
    PORTSIDE_URL: api.url,
    PORTSIDE_API_KEY: await api.key(),
    npm_config_update_notifier: "false",
  };
  const deploy = (file: string) =>
    new Promise<string>((done) => {
      const args = [...before, "deploy", "app", "--env-file", file];
      execFile(command, args, { cwd: folder.path, env }, (_error, stdout, stderr) => done(stdout + stderr));
    });
  expect(await deploy("nosuch.env")).toContain(`error: --env-file: '${folder.path}/nosuch.env' does not exist.`);
  expect(await deploy("app")).toContain(`error: --env-file: '${folder.path}/app' is a folder, not a file.`);
  expect(await deploy("vars.env")).toContain("DONE");
  expect((await api.call("GET", "/v1/deployment/list")).json).toMatchObject([{ env: ["GREETING", "NODE_OPTIONS"] }]);
});
