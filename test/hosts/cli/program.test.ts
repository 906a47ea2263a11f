/** How the command line finds commands, parses arguments, sets exit codes, and reports errors without a stack trace. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { portside } from "../../support/cli/terminal.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

describe("help", () => {
  test("lists every command", async () => {
    const { code, stdout } = await portside(["--help"]);
    expect(code).toBe(0);
    for (const word of [
      "serve",
      "init",
      "run",
      "deploy",
      "list, ls",
      "remove, rm",
      "logs",
      "volume",
      "keys",
      "token",
      "login",
      "version",
    ])
      expect(stdout).toContain(word);
  });

  test("is shown without a command, with exit code 2", async () => {
    const { code, stdout } = await portside([]);
    expect(code).toBe(2);
    expect(stdout).toContain("Usage:");
  });

  test.each([
    "serve",
    "init",
    "run",
    "deploy",
    "list",
    "remove",
    "logs",
    "volume",
    "keys",
    "token",
    "login",
    "version",
  ])("%s has its own help", async (word) => {
    const { code, stdout } = await portside([word, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`portside ${word}`);
  });

  test.each([["deploy"], ["ls"], ["volume"], ["volume", "put"]])(
    "help %s %s prints the help of the command",
    async (...words) => {
      const { code, stdout } = await portside(["help", ...words]);
      expect(code).toBe(0);
      expect(stdout).toBe((await portside([...words, "--help"])).stdout);
      expect(stdout).not.toContain("Usage: portside COMMAND");
    },
  );

  test("help of an unknown command is a usage error", async () => {
    expect(await portside(["help", "deplo"])).toMatchObject({ code: 2, stdout: "" });
  });

  test("has colours on a terminal, and none in a pipe", async () => {
    expect((await portside(["--help"])).stdout).not.toContain("\u001b");
    expect((await portside(["--help"], { columns: 80 })).stdout).toContain("\u001b");
  });

  test.each([
    [{ NO_COLOR: "1" }, 80, false],
    [{ NO_COLOR: "" }, 80, true],
    [{ TERM: "dumb" }, 80, false],
    [{ FORCE_COLOR: "0" }, 80, false],
    [{ FORCE_COLOR: "1" }, undefined, true],
  ])("%j with %s columns: has colours: %s", async (env, columns, coloured) => {
    const { stdout } = await portside(["--help"], { env, ...(columns === undefined ? {} : { columns }) });
    expect(stdout.includes("\u001b")).toBe(coloured);
  });
});

describe("a usage error has exit code 2 and suggests the closest word", () => {
  test.each([
    [["serv"], "Unknown command 'serv'. Did you mean 'serve'?"],
    [["frobnicate"], "Unknown command 'frobnicate'. See portside --help."],
    [["deploy", "--plann"], "Unknown option '--plann'. Did you mean '--plan'?"],
    [["deploy", "--xyzzy"], "Unknown option '--xyzzy'. See --help."],
    [["deploy", "-x"], "Unknown option '-x'. See --help."],
    [["deploy", "a", "b"], "Unexpected argument 'b'. Usage: portside deploy [DIR]"],
    [["remove"], "Missing NAME. Usage: portside remove NAME"],
    [["logs", "x", "-n", "many"], "-n must be a number"],
    [["logs", "x", "-n", "-5"], "-n must be a number from 0 to 999999, not '-5'"],
    [["logs", "x", "-q"], "Missing value for the option -q, --query FILTER."],
    [["logs", "x", "-q", "-f"], "Missing value for the option -q, --query FILTER."],
    [["logs", "x", "-f", "-n", "1", "-s", "-1h"], "-s must be an age"],
    [["logs", "x", "-fn", "-1"], "-n must be a number"],
    [["keys"], "Missing subcommand. Usage: portside keys create"],
    [["keys", "revoke"], "Missing ID. Usage: portside keys revoke ID."],
    [["volume", "get", "data"], "Missing PATH. Usage: portside volume get VOLUME PATH [DEST]"],
    [["volume", "create"], "Missing NAME. Usage: portside volume create NAME"],
    [["backup"], "Missing FILE. Usage: portside backup FILE"],
    [["keys", "steal"], "create, list or revoke"],
    [["list", "--url", "nowhere"], "is not a URL"],
    [["deploy", "--env", "NOVALUE", "."], "does not have the form NAME=VALUE"],
    [["serve", "--port", "abc"], "--port must be a number from 0 to 65535, not 'abc'."],
    [["serve", "--data-dir", "/dev/null"], "The data folder /dev/null is a file. Choose a folder with --data-dir."],
    [["serve", "--jwt-issuer", "https://issuer.example"], "require each other"],
    [["init", "Bad Name!"], "is not a valid deployment name"],
    [["init", "fine", "--template", "cobol"], "node or python"],
  ])("%j", async (args, words) => {
    const { code, stderr, stdout } = await portside(args, { env: { PORTSIDE_API_KEY: "psk_x" } });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

describe("version", () => {
  test.each([["version"], ["--version"]])("%s prints the package's version", async (word) => {
    expect(await portside([word])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe("a platform that does not respond", () => {
  const env = { PORTSIDE_URL: "http://127.0.0.1:2", PORTSIDE_API_KEY: "psk_x" };

  test("causes exit code 1 and a message with the next step", async () => {
    const { code, stderr } = await portside(["list"], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("portside serve");
  });

  test.each(["http://127.0.0.1:6000", "http://127.0.0.1:25"])(
    "explains that %s is a port of a different protocol",
    async (url) => {
      const { code, stderr } = await portside(["list", "--url", url], { env });
      expect(code).toBe(1);
      expect(stderr).toContain(`Node and browsers block the port ${new URL(url).port}`);
    },
  );

  test("ends with Ctrl-C without a message", async () => {
    expect(await portside(["logs", "x"], { env, signal: AbortSignal.abort() })).toEqual({
      code: 130,
      stdout: "",
      stderr: "",
    });
  });

  test("shows the stack trace with --debug", async () => {
    expect((await portside(["list", "--debug"], { env })).stderr).toMatch(/\n\s+at /);
  });

  test("requires a key", async () => {
    const { code, stderr } = await portside(["list"]);
    expect(code).toBe(1);
    expect(stderr).toContain("portside login");
  });
});

test.each<readonly [string, readonly string[], Readonly<Record<string, string>>, string]>([
  [
    "a data folder without a platform",
    ["shell", "my-app", "--data-dir", "/nowhere"],
    {},
    "No server uses /nowhere. Pass the server's data folder with --data-dir.",
  ],
  [
    "a key that is invalid in a header",
    ["list"],
    { PORTSIDE_API_KEY: "psk_secret\npsk_secret" },
    "The API key contains spaces, line breaks or other invalid characters. Copy the key again.",
  ],
])("%s is an error of the user, not a bug", async (_what, args, env, message) => {
  const { code, stderr } = await portside(args, { env });
  expect(stderr).toBe(`error: ${message}\n`);
  expect(code).toBe(1);
});
