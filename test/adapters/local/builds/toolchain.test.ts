/** The programs and settings of this machine for builds and services. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findToolchain, inspectPython, networkEnvironment } from "../../../../adapters/local/builds/toolchain.ts";
import { needs } from "../../../support/vitest/machine.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-tools-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("finds only Node.js on a machine without npm and Python", () => {
  const found = findToolchain(join(folder, "tools"), { PATH: folder });
  expect(found).toEqual({ node: process.execPath, npm: undefined, shims: join(folder, "tools"), python: undefined });
});

test("finds npm on the path, or as the program that started the server, and runs it with the platform's Node.js", () => {
  const script = join(folder, "npm-cli.js");
  writeFileSync(script, "console.log(process.execPath, process.argv.slice(2).join());");
  symlinkSync(script, join(folder, "npm"));
  writeFileSync(script, "console.log(process.execPath, process.argv.slice(2).join());", { mode: 0o755 });
  execFileSync("chmod", ["755", script]);
  const onPath = findToolchain(join(folder, "tools"), { PATH: `/nowhere:${folder}` });
  expect(onPath.npm).toBe(realpathSync(script));
  const started = findToolchain(join(folder, "tools"), { PATH: "/nowhere", npm_execpath: script });
  expect(started.npm).toBe(script);
  const output = execFileSync(join(started.shims, "npm"), ["run", "a b"], { encoding: "utf8" });
  expect(output.trim()).toBe(`${process.execPath} run,a b`);
});

test("does not use another package manager that started the server as npm", () => {
  const yarn = join(folder, "yarn.js");
  writeFileSync(yarn, "");
  expect(findToolchain(join(folder, "tools"), { PATH: "/nowhere", npm_execpath: yarn }).npm).toBeUndefined();
});

test("reads the installation of a Python interpreter", async (context) => {
  needs(context, "python");
  const found = findToolchain(join(folder, "tools"), process.env).python;
  const python = await inspectPython(found as string);
  expect(python?.version).toMatch(/^3\.\d+/);
  expect(python?.executable).toMatch(/^\//);
  expect(realpathSync(python?.prefix as string)).toBeTruthy();
});

test("returns undefined for a program that is not Python", async () => {
  expect(await inspectPython("true")).toBeUndefined();
  expect(await inspectPython("false")).toBeUndefined();
  expect(await inspectPython(join(folder, "nothing"))).toBeUndefined();
});

test("passes on only the non-empty variables that builds need to reach registries", () => {
  const environment = {
    HTTPS_PROXY: "http://proxy:1",
    no_proxy: "localhost",
    npm_config_registry: "http://127.0.0.1:4873/",
    PIP_INDEX_URL: "http://127.0.0.1/simple",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    SSL_CERT_FILE: "",
    PORTSIDE_API_KEY: "secret",
    AWS_SECRET_ACCESS_KEY: "secret",
    npm_config__auth: "secret",
    PATH: "/bin",
    HOME: "/root",
    NODE_OPTIONS: "--inspect",
  };
  expect(Object.keys(networkEnvironment(environment)).sort()).toEqual(
    ["HTTPS_PROXY", "NODE_EXTRA_CA_CERTS", "PIP_INDEX_URL", "no_proxy", "npm_config_registry"].sort(),
  );
});
