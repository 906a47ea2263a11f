/** Third-party tools accept the OpenAPI document: linters report nothing, and generated clients work. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openApiDocument } from "../../../../hosts/http/docs/openapi.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { generators, needs } from "../../../support/vitest/machine.ts";
import { heyApiProgram, openapiFetchProgram, pythonProgram } from "./generated-clients.ts";

const execute = promisify(execFile);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-generators-"));
  symlinkSync(join(generators, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(openApiDocument({ health: true })));
  writeFileSync(join(folder, "source.tar.gz"), nodeSource(helloServer("hello")));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs a program and returns its output. If the program fails, the error contains the output. */
const run = async (program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
  try {
    return (await execute(program, args, { cwd: folder, env: { ...process.env, ...env } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
};

/** Without these variables, redocly sends telemetry and checks for updates. */
const QUIET = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };

const node = (script: string, ...args: string[]) =>
  run(process.execPath, [join(generators, "node_modules", script), ...args], QUIET);

/** Runs a program against a server, and returns the JSON that it prints. */
const runClient = async (program: string, args: readonly string[]): Promise<unknown> => {
  await using api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), SOURCE: join(folder, "source.tar.gz") };
  return JSON.parse(await run(program, args, env));
};

const runTypescript = async (program: string): Promise<unknown> => {
  writeFileSync(join(folder, "program.ts"), program);
  const options = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--allowImportingTsExtensions"];
  await node("typescript/bin/tsc", ...options, "--types", "node", "--lib", "es2024,dom,dom.iterable", "program.ts");
  return runClient(process.execPath, ["program.ts"]);
};

const expected = { deploy: "DONE", list: [["my-app", "DONE"]], logs: true, sql: [{ n: expect.any(Number) }] };

test("passes the recommended rules of redocly", async (context) => {
  needs(context, "generators");
  writeFileSync(join(folder, "redocly.yaml"), "extends: [recommended]\n");
  const found = JSON.parse(
    await node("@redocly/cli/bin/cli.js", "lint", "--config", "redocly.yaml", "--format", "json", "openapi.json"),
  ) as { problems: unknown[] };
  expect(found.problems).toEqual([]);
});

test("passes the rules of spectral", async (context) => {
  needs(context, "generators");
  const off = {
    // The document does not contain the operator's contact details.
    "contact-properties": "off",
    // The licence has an identifier, and OpenAPI 3.1 does not allow a URL in addition.
    "license-url": "off",
    // Tags are in the order of use.
    "openapi-tags-alphabetical": "off",
  };
  writeFileSync(join(folder, "spectral.json"), JSON.stringify({ extends: [["spectral:oas", "all"]], rules: off }));
  const arguments_ = ["lint", "--ruleset", "spectral.json", "--format", "json", "--fail-severity", "error"];
  const found = await node("@stoplight/spectral-cli/dist/index.js", ...arguments_, "--quiet", "openapi.json");
  expect(JSON.parse(found)).toEqual([]);
});

test("a client of openapi-typescript deploys, lists, reads logs and queries", async (context) => {
  needs(context, "generators");
  const options = ["--default-non-nullable", "false", "--output", "schema.d.ts"];
  await node("openapi-typescript/bin/cli.js", "openapi.json", ...options);
  expect(await runTypescript(openapiFetchProgram)).toEqual(expected);
});

test("a client of @hey-api/openapi-ts deploys, lists, reads logs and queries", async (context) => {
  needs(context, "generators");
  const output = { path: ".", clean: false, module: { extension: ".ts" } };
  const config = { input: "openapi.json", output, logs: { file: false } };
  writeFileSync(join(folder, "hey.config.mjs"), `export default ${JSON.stringify(config)};`);
  await node("@hey-api/openapi-ts/bin/run.js", "--file", "hey.config.mjs");
  expect(await runTypescript(heyApiProgram)).toEqual(expected);
});

test("a client of openapi-python-client deploys, lists, reads logs and queries", async (context) => {
  needs(context, "generators");
  const python = join(generators, "python", "bin");
  const options = ["--path", "openapi.json", "--output-path", "client", "--meta", "none"];
  await run(join(python, "openapi-python-client"), ["generate", ...options], {
    // The generator runs a formatter from the same folder.
    PATH: `${python}:${process.env["PATH"]}`,
  });
  writeFileSync(join(folder, "program.py"), pythonProgram);
  expect(await runClient(join(python, "python"), ["program.py"])).toEqual(expected);
});
