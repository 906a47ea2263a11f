/** Precedence of the settings of `serve`, and messages about invalid ones. */
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readInput } from "../../../hosts/cli/command.ts";
import { command as serve } from "../../../hosts/cli/server/serve.ts";
import { settingsFrom } from "../../../hosts/cli/settings.ts";
import {
  dataDirProblem,
  flagOf,
  misspeltVariables,
  resolveSettings,
  serveShape,
  variableOf,
} from "../../../hosts/composition/settings.ts";
import { folderWith } from "../../support/archives/folders.ts";
import { terminal } from "../../support/cli/terminal.ts";

describe("a setting", () => {
  test("is the first of flag, variable, file and default", () => {
    using folder = folderWith({ "portside.config.json": JSON.stringify({ port: 3, queue: 3, drainSeconds: 3 }) });
    const env = { PORTSIDE_DATA_DIR: folder.path, PORTSIDE_PORT: "2", PORTSIDE_QUEUE: "2" };
    expect(resolveSettings({ port: "1" }, env)).toMatchObject({
      port: 1,
      queue: 2,
      drainSeconds: 3,
      ingressPort: 8080,
    });
  });

  test("has the same name as a key, a flag and a variable", () => {
    expect(flagOf("jwtAccountClaim")).toBe("jwt-account-claim");
    expect(variableOf("jwtAccountClaim")).toBe("PORTSIDE_JWT_ACCOUNT_CLAIM");
  });

  test("counts as absent if its variable is empty", () => {
    expect(resolveSettings({}, { PORTSIDE_DATA_DIR: "/nonexistent", PORTSIDE_PORT: "" }).port).toBe(8787);
    const home = { HOME: "/nonexistent" };
    expect(resolveSettings({}, { ...home, PORTSIDE_DATA_DIR: "" }).dataDir).toBe(resolveSettings({}, home).dataDir);
  });

  test("may be a list, as a repeated flag or a variable with commas", async () => {
    using folder = folderWith();
    const of = (argv: string[], env: NodeJS.ProcessEnv) => {
      const input = readInput(serve, ["--data-dir", folder.path, ...argv]);
      return settingsFrom(input, terminal({ env }).io).allowHostPort;
    };
    expect(of([], {})).toEqual([]);
    expect(of(["--allow-host-port", "5432", "--allow-host-port", "6379"], {})).toEqual([5432, 6379]);
    expect(of([], { PORTSIDE_ALLOW_HOST_PORT: "5432, 6379" })).toEqual([5432, 6379]);
    expect(() => of(["--allow-host-port", "all"], {})).toThrow("--allow-host-port");
  });

  test.each([
    ["127.0.0.1", ["127.0.0.1"]],
    ["::1, 10.0.0.0/8,loopback", ["::1", "10.0.0.0/8", "loopback"]],
    ["fd00::/8", ["fd00::/8"]],
  ])("may be the networks of proxies: %s", (trustProxy, networks) => {
    expect(resolveSettings({}, { PORTSIDE_DATA_DIR: "/nonexistent" }).trustProxy).toEqual([]);
    expect(resolveSettings({ trustProxy }, { PORTSIDE_DATA_DIR: "/nonexistent" }).trustProxy).toEqual(networks);
  });

  test.each([
    "",
    "1",
    "true",
    "*",
    "proxy.example.com",
    "10.0.0.0/0",
    "10.0.0.0/33",
    "::1/129",
    "10.0.0.1/",
    "10.0.0.0/8/8",
  ])("must not be '%s' as a network of proxies", (wrong) => {
    const settings = () => resolveSettings({ trustProxy: wrong }, { PORTSIDE_DATA_DIR: "/nonexistent" });
    expect(settings).toThrow(/--trust-proxy/);
  });

  test("may be a map, as pairs with commas or as an object in the file", () => {
    const envAliases = { OTHER_TOKEN: "CRON_TOKEN", OTHER_DATA: "PORTSIDE_VOLUMES" };
    using folder = folderWith({ "portside.config.json": JSON.stringify({ envAliases }) });
    const text = "OTHER_TOKEN=CRON_TOKEN, OTHER_DATA=PORTSIDE_VOLUMES";
    expect(resolveSettings({}, { PORTSIDE_DATA_DIR: folder.path }).envAliases).toEqual(envAliases);
    expect(resolveSettings({ envAliases: text }, { PORTSIDE_DATA_DIR: "/nonexistent" }).envAliases).toEqual(envAliases);
    for (const wrong of ["OTHER_TOKEN", "A=K_SERVICE", "K_A=PORT"])
      expect(() => resolveSettings({ envAliases: wrong }, { PORTSIDE_DATA_DIR: "/nonexistent" })).toThrow(
        "--env-aliases: the alias",
      );
  });

  test.each(Object.keys(serveShape))("%s has a help text without a full stop", (key) => {
    expect(serveShape[key as keyof typeof serveShape].description).toMatch(/^[A-Z].+[^.]$/);
  });
});

describe("the data folder", () => {
  test("follows the XDG base directories", () => {
    expect(resolveSettings({}, { XDG_DATA_HOME: "/nonexistent/data" }).dataDir).toBe("/nonexistent/data/portside");
  });
});

test("a file at the path of the data folder, or of its parent, is a problem", () => {
  expect(dataDirProblem("/dev/null")).toBe("The data folder /dev/null is a file. Choose a folder with --data-dir.");
  expect(dataDirProblem("/dev/null/x")).toBe(
    "The data folder /dev/null/x cannot be created, because /dev/null is a file. Choose another folder with --data-dir.",
  );
  for (const path of ["/", "/nonexistent/x"]) expect(dataDirProblem(path)).toBeUndefined();
});

describe("reports a problem with its location", () => {
  test.each([
    [{ port: "99999" }, {}, "--port must be a number from 0 to 65535, not '99999'."],
    [{ port: "abc" }, {}, "--port must be a number from 0 to 65535, not 'abc'."],
    [{ port: "80.5" }, {}, "--port must be a number from 0 to 65535, not '80.5'."],
    [{}, { PORTSIDE_IDLE_SECONDS: "soon" }, "PORTSIDE_IDLE_SECONDS must be a number greater than 0, not 'soon'."],
    [{ volumes: "0" }, {}, "--volumes must be a number of at least 1, not '0'."],
    [{ allowHostPort: "5432,all" }, {}, "--allow-host-port must be a number from 1 to 65535, not 'all'."],
    [{ runner: "magic" }, {}, "--runner must be one of auto, container, bubblewrap, process, not 'magic'."],
    [{ logLevel: "loud" }, {}, "--log-level must be one of silent, error, warn, info, debug, not 'loud'."],
    [{ domain: "apps.example.com:8443" }, {}, "--domain must be a host name, such as apps.example.com"],
    [{ keysDatabase: "secret" }, {}, "--keys-database must be a URL such as postgres://user:password@host/database."],
  ])("%j %j", (flags, env, words) => {
    expect(() =>
      resolveSettings(flags as Record<string, string>, { PORTSIDE_DATA_DIR: "/nonexistent", ...env }),
    ).toThrow(words);
  });

  test.each([
    ["not JSON", "{", "not valid JSON"],
    ["no object", "[]", "JSON object"],
    ["an unknown setting", '{"ingresPort": 1}', "Did you mean 'ingressPort'?"],
    ["a wrong type", '{"port": "many"}', "'port' in "],
  ])("a file with %s", (_what, text, words) => {
    using folder = folderWith({ "portside.config.json": text });
    expect(() => resolveSettings({}, { PORTSIDE_DATA_DIR: folder.path })).toThrow(words);
  });

  test("a named file that does not exist", () => {
    expect(() => resolveSettings({}, {}, "/nonexistent/file.json")).toThrow("cannot be read");
  });

  test("a data folder that this user may not enter", () => {
    using folder = folderWith();
    chmodSync(folder.path, 0);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    try {
      expect(() => resolveSettings({}, { PORTSIDE_DATA_DIR: folder.path })).toThrow(
        `The data folder ${folder.path} cannot be opened`,
      );
    } finally {
      if (isRoot) process.seteuid?.(0);
      chmodSync(folder.path, 0o700);
    }
  });

  test("a variable that resembles a setting", () => {
    expect(misspeltVariables({ PORTSIDE_REQUEST_PER_MINUTE: "9", PORTSIDE_PORT: "1", PORT: "2" })).toEqual([
      "PORTSIDE_REQUEST_PER_MINUTE is not a setting. Did you mean PORTSIDE_REQUESTS_PER_MINUTE?",
    ]);
  });

  test("does not report variables that resemble no setting, or variables of services", () => {
    const others = [
      ...["PORTSIDE_URL", "PORTSIDE_API_KEY", "PORTSIDE_SEED"],
      ...["PORTSIDE_VOLUMES", "PORTSIDE_INSTANCE", "PORTSIDE_BUSY_SOCKET"],
    ];
    expect(misspeltVariables(Object.fromEntries(others.map((name) => [name, "x"])))).toEqual([]);
  });

  test("accepts a provider's own section", () => {
    using folder = folderWith({
      "other.json": JSON.stringify({ provider: "./mine.js", "./mine.js": { region: "x" } }),
    });
    const settings = resolveSettings({ dataDir: folder.path }, {}, join(folder.path, "other.json"));
    expect(settings.sections).toEqual({ "./mine.js": { region: "x" } });
  });
});
