/** `portside sql`, against the real HTTP API. */
import { mkdtempSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { csvLine } from "../../../../core/domain/sql/csv.ts";
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { runProgram } from "../../../../hosts/cli/program.ts";
import { promptForSql, readPromptLine } from "../../../../hosts/cli/sql/prompt.ts";
import { printSchema } from "../../../../hosts/cli/sql/schema.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside, terminal } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

let api: TestApi;
let env: NodeJS.ProcessEnv;
const folder = mkdtempSync(join(tmpdir(), "portside-sql-"));
const COUNT =
  "SELECT JSON_VALUE(json_payload, '$.status') AS status, COUNT(*) AS n FROM logs GROUP BY status ORDER BY status";

beforeAll(async () => {
  api = await serveMemory();
  await api.deploy({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(), XDG_CONFIG_HOME: folder };
});
afterAll(() => api[Symbol.asyncDispose]());

/** A terminal in which a test types keys. Its screen has all written text. */
const typing = (variables: NodeJS.ProcessEnv) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const screen: string[] = [];
  const stdout = Object.assign(
    new Writable({
      write: (piece, _encoding, done) => {
        screen.push(String(piece));
        done();
      },
    }),
    { isTTY: true, columns: 200 },
  );
  const { io, stderr } = terminal({ env: variables });
  return {
    io: { ...io, stdin: stdin as never, stdout: stdout as never },
    press: (keys: string) => stdin.write(keys),
    screen: () => stripVTControlCharacters(screen.join("")),
    stderr,
  };
};

const rows = [
  { status: "BUILDING", n: 1 },
  { status: "DONE", n: 1 },
];

describe("a query", () => {
  test("prints JSON in a pipe, and a table on a terminal", async () => {
    expect(JSON.parse((await portside(["sql", COUNT], { env })).stdout)).toMatchObject(expect.arrayContaining(rows));
    const { stdout, stderr } = await portside(["sql", COUNT], { env, columns: 100 });
    expect(stripVTControlCharacters(stdout)).toMatch(/status\s+n/);
    expect(stripVTControlCharacters(stdout)).toMatch(/DONE\s+1/);
    expect(stderr).toMatch(/^\(\d rows\)$/m);
  });

  test("may come from standard input or a file", async () => {
    const file = join(folder, "q.sql");
    writeFileSync(file, `${COUNT};\n`);
    const direct = (await portside(["sql", COUNT], { env })).stdout;
    expect((await portside(["sql", "-"], { env, stdin: COUNT })).stdout).toBe(direct);
    expect((await portside(["sql"], { env, stdin: COUNT })).stdout).toBe(direct);
    expect((await portside(["sql", "-f", file], { env })).stdout).toBe(direct);
  });

  test("prints CSV with a byte order mark, a header and CRLF", async () => {
    const { stdout } = await portside(["sql", "SELECT 'a,\"b\"' AS x, CAST(NULL AS STRING) AS y", "--format", "csv"], {
      env,
    });
    expect(stdout).toBe('\ufeffx,y\r\n"a,""b""",\r\n');
  });

  test("reports an empty result on standard error", async () => {
    const none = await portside(["sql", "SELECT text_payload FROM logs WHERE FALSE"], { env });
    expect(none).toEqual({ code: 0, stdout: "[]\n", stderr: "(0 rows)\n" });
  });

  test("exits with 1 and the reason if rejected, and with 2 after a usage error", async () => {
    const refused = await portside(["sql", "SELECT * FROM secrets"], { env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("unknown table 'secrets' at line 1, column 15");
    expect((await portside(["sql", COUNT, "--format", "xml"], { env })).code).toBe(2);
    expect((await portside(["sql", COUNT, "-f", "x.sql"], { env })).code).toBe(2);
  });

  test("escapes control characters of values", async () => {
    const { stdout } = await portside(["sql", "SELECT '\\x1b]0;owned\\x07' AS x"], { env, columns: 80 });
    expect(stdout).not.toContain("\u001b]0;");
  });
});

describe("--schema", () => {
  const names = sqlTables.flatMap(({ name, columns }) => columns.map((column) => [name, column.name]));

  test("prints a table on a terminal, and one line per column in a pipe", async () => {
    const shown = stripVTControlCharacters((await portside(["sql", "--schema"], { env, columns: 200 })).stdout);
    expect(shown).toMatch(/^TABLE\s+COLUMN\s+TYPE\s+MEANING/);
    for (const [table, column] of names) expect(shown).toMatch(new RegExp(`^${table} +${column} `, "m"));
    const { code, stdout, stderr } = await portside(["sql", "--schema"], { env });
    expect([code, stderr]).toEqual([0, ""]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split("\t").slice(0, 2))).toEqual(names);
    expect(lines).toContain("billing\tcost\tNUMERIC\tThe cost.");
  });

  test("prints the response with --json", async () => {
    const { stdout } = await portside(["sql", "--schema", "--json"], { env });
    expect(JSON.parse(stdout)).toEqual({ tables: sqlTables });
  });

  test("`\\d` in the prompt prints the same table", async () => {
    const table = stripVTControlCharacters((await portside(["sql", "--schema"], { env, columns: 200 })).stdout);
    const { io, press, screen } = typing(env);
    press("\\d\r\\q\r");
    expect(await runProgram(["sql"], io)).toBe(0);
    expect(screen().replaceAll("\r\n", "\n")).toContain(table);
  });

  test("`\\d` in the prompt prints the platform's error, and the prompt continues", async () => {
    const { io, press, stderr } = typing({ ...env, PORTSIDE_API_KEY: "psk_wrong" });
    press("\\d\rSELECT 1 AS a;\r\\q\r");
    expect(await runProgram(["sql"], io)).toBe(0);
    expect(stderr().match(/^error: .*key/gm)).toHaveLength(2);
  });

  test("escapes control characters of the response", async () => {
    const column = { name: "a\u001b]0;x\u0007", type: "STRING", description: "" };
    const { io, stdout } = terminal({ env, columns: 80 });
    await printSchema(io, { tables: [{ name: "logs", description: "", columns: [column] }] });
    expect(stdout()).not.toContain("\u001b]0;");
  });

  test.each([
    ["a query", [COUNT], "Pass either a query or --schema, not both."],
    ["standard input", ["-"], "Pass either a query or --schema, not both."],
    ["a file", ["-f", "x.sql"], "Pass either a query or --schema, not both."],
    ["a format", ["--format", "csv"], "--schema has no --format. Pass --json for JSON."],
  ])("is a usage error together with %s", async (_what, args, message) => {
    const { code, stderr } = await portside(["sql", "--schema", ...args], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

test("CSV escapes formulas in cells, but not numbers", () => {
  expect(csvLine(["=1+1", "+a", "-1.5", "@x", -3, "a\nb", { k: 1 }, null, "\tx"])).toBe(
    `'=1+1,'+a,-1.5,'@x,-3,"a\nb","{""k"":1}",,'\tx\r\n`,
  );
});

describe("the prompt", () => {
  test("reads a statement of several lines up to its semicolon", () => {
    expect(readPromptLine("", "SELECT 1")).toEqual({ kind: "more", text: "SELECT 1" });
    expect(readPromptLine("SELECT 1", "AS n;")).toEqual({ kind: "run", statement: "SELECT 1\nAS n" });
    expect(readPromptLine("", "  ")).toEqual({ kind: "more", text: "" });
    expect(readPromptLine("", ";")).toEqual({ kind: "more", text: "" });
    expect([readPromptLine("", "\\d"), readPromptLine("", "\\q")]).toEqual(["tables", "quit"]);
    for (const word of ["help", "HELP", "help;", "\\?", "\\h"]) expect(readPromptLine("", word)).toBe("help");
    expect(readPromptLine("SELECT", "help")).toEqual({ kind: "more", text: "SELECT\nhelp" });
    expect(readPromptLine("SELECT", "\\q")).toEqual({ kind: "more", text: "SELECT\n\\q" });
  });

  test("runs statements, shows the tables, and quits", async () => {
    const { io } = terminal({ env, stdin: "\\d\nSELECT 1\n AS n;\nSELECT 2 AS m;\n\\q\nSELECT 3 AS k;\n" });
    const ran: string[] = [];
    await promptForSql(io, {
      run: async (statement) => void ran.push(statement),
      showTables: async () => void ran.push("tables"),
    });
    expect(ran).toEqual(["tables", "SELECT 1\n AS n", "SELECT 2 AS m"]);
  });

  const keyboard = (run: (statement: string, signal: AbortSignal) => Promise<void>) => {
    const { io, press, screen } = typing(env);
    const ended = promptForSql(io, { run, showTables: (signal) => run("\\d", signal) });
    return { press, ended, screen };
  };
  const UP = "\u001b[A";
  const CTRL_C = "\u0003";
  const CTRL_D = "\u0004";

  test("Ctrl-C drops the lines so far or cancels the running statement, and the prompt continues", async () => {
    const ran: string[] = [];
    let cancelled = 0;
    const { press, ended, screen } = keyboard(async (statement, signal) => {
      ran.push(statement);
      if (!statement.includes("long")) return;
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      cancelled += 1;
    });
    press("SELECT wrong\r");
    await eventually(() => expect(screen()).toContain("...> "));
    press(CTRL_C);
    press("SELECT long;\r");
    await eventually(() => expect(ran).toEqual(["SELECT long"]));
    press(CTRL_C);
    await eventually(() => expect(cancelled).toBe(1));
    press("\\d\r");
    await eventually(() => expect(ran).toEqual(["SELECT long", "\\d"]));
    press("SELECT 2 AS m;\r");
    await eventually(() => expect(ran).toEqual(["SELECT long", "\\d", "SELECT 2 AS m"]));
    press(CTRL_D);
    await ended;
  });

  test("keeps its history for the next prompt", async () => {
    const first: string[] = [];
    const one = keyboard(async (statement) => void first.push(statement));
    one.press("SELECT 41 AS remembered;\r");
    await eventually(() => expect(first).toHaveLength(1));
    one.press(CTRL_D);
    await one.ended;
    const second: string[] = [];
    const two = keyboard(async (statement) => void second.push(statement));
    two.press(`${UP}\r`);
    await eventually(() => expect(second).toEqual(["SELECT 41 AS remembered"]));
    two.press(CTRL_D);
    await two.ended;
    expect(statSync(join(folder, "portside", "sql-history.json")).mode & 0o077).toBe(0);
  });
});
