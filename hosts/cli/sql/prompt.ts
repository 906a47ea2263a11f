/** `portside sql` on a terminal: multi-line statements, a persistent history, Ctrl-C to cancel the current statement. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { sqlTables } from "../../../core/domain/sql/tables.ts";
import { configFolder } from "../accounts/account.ts";
import { type Io, print, say } from "../terminal/io.ts";
import { printTable } from "../terminal/table.ts";

const KEPT = 1000;

const readHistory = (path: string): string[] => {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as unknown[]).map(String);
  } catch {
    // No history yet, or a file in another format.
    return [];
  }
};

const keepHistory = (path: string, history: readonly string[]): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify(history.slice(0, KEPT)), { mode: 0o600 });
};

const describe = async (io: Io): Promise<void> => {
  for (const [table, columns] of Object.entries(sqlTables)) {
    print(io, table);
    await printTable(
      io,
      ["COLUMN", "TYPE", ""],
      columns.map(({ name, type, description }) => [`  ${name}`, type, description]),
    );
  }
};

const HELP = `Type a SELECT, over several lines if you like, and end it with ';':
  SELECT severity, COUNT(*) AS n FROM logs GROUP BY severity;

  \\d    Show the tables and their columns
  help  Show this
  \\q    End, as exit, quit and Ctrl-D do

Ctrl-C cancels a statement. docs/sql.md has the functions and examples.`;

/** Interprets a line that follows the statement's earlier lines. */
export const readPromptLine = (
  before: string,
  line: string,
):
  | { readonly kind: "more"; readonly text: string }
  | { readonly kind: "run"; readonly statement: string }
  | "tables"
  | "help"
  | "quit" => {
  const word = line.trim();
  if (before === "" && /^(?:help;?|\\[?h])$/i.test(word)) return "help";
  if (before === "" && (word === "\\q" || word === "exit" || word === "quit")) return "quit";
  if (before === "" && word === "\\d") return "tables";
  const text = before === "" ? line : `${before}\n${line}`;
  if (!word.endsWith(";")) return { kind: "more", text: text.trim() === "" ? "" : text };
  const statement = text.trim().replace(/;+$/, "").trim();
  return statement === "" ? { kind: "more", text: "" } : { kind: "run", statement };
};

/** @param run prints a statement's result or error */
export const promptForSql = async (
  io: Io,
  run: (statement: string, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const path = join(configFolder(io.env), "sql-history.json");
  const history = readHistory(path);
  const lines: Interface = createInterface({
    input: io.stdin,
    output: io.stdout as NodeJS.WritableStream,
    terminal: io.stdin.isTTY === true,
    history,
    historySize: KEPT,
    prompt: "sql> ",
  });
  lines.on("history", (kept: string[]) => history.splice(0, history.length, ...kept));
  let before = "";
  let running: AbortController | undefined;
  // The input may end while some of its lines have not run yet.
  let isOpen = true;
  lines.on("close", () => {
    isOpen = false;
  });
  const ask = () => {
    if (!isOpen) return;
    lines.setPrompt(before === "" ? "sql> " : "...> ");
    lines.prompt();
  };
  lines.on("SIGINT", () => {
    if (running !== undefined) return running.abort();
    before = "";
    io.stdout.write("\n");
    ask();
  });
  say(io, "End a statement with ';'. \\d shows the tables, \\q ends, help tells more.");
  ask();
  try {
    for await (const line of lines) {
      const asked = readPromptLine(before, line);
      if (asked === "quit") return;
      if (asked === "tables") await describe(io);
      else if (asked === "help") say(io, HELP);
      else if (asked.kind === "more") before = asked.text;
      else {
        before = "";
        running = new AbortController();
        await run(asked.statement, running.signal);
        running = undefined;
      }
      ask();
    }
  } finally {
    lines.close();
    keepHistory(path, history);
  }
};
