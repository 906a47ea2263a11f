/** `portside sql` on a terminal: multi-line statements, a persistent history, and Ctrl-C to cancel a statement. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { configFolder } from "../accounts/account.ts";
import { type Io, say } from "../terminal/io.ts";

const HISTORY_SIZE = 1000;

const readHistory = (path: string): string[] => {
  try {
    return (JSON.parse(readFileSync(path, "utf8")) as unknown[]).map(String);
  } catch {
    // No history yet, or a file in a different format.
    return [];
  }
};

const saveHistory = (path: string, history: readonly string[]): void => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify(history.slice(0, HISTORY_SIZE)), { mode: 0o600 });
};

const HELP = `Type a SELECT, on one or more lines, and end it with ';':
  SELECT severity, COUNT(*) AS n FROM logs GROUP BY severity;

  \\d    Show the tables and their columns
  help  Show this help
  \\q    Quit (also exit, quit and Ctrl-D)

Ctrl-C cancels a statement. See docs/sql.md for functions and examples.`;

/** Interprets a line. @param before the statement's earlier lines */
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

/** The actions of the prompt. Each action prints its own result or error. */
export interface PromptActions {
  run(statement: string, signal: AbortSignal): Promise<void>;
  showTables(signal: AbortSignal): Promise<void>;
}

export const promptForSql = async (io: Io, { run, showTables }: PromptActions): Promise<void> => {
  const path = join(configFolder(io.env), "sql-history.json");
  const history = readHistory(path);
  const lines: Interface = createInterface({
    input: io.stdin,
    output: io.stdout as NodeJS.WritableStream,
    terminal: io.stdin.isTTY === true,
    history,
    historySize: HISTORY_SIZE,
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
  const act = async (action: (signal: AbortSignal) => Promise<void>) => {
    running = new AbortController();
    await action(running.signal);
    running = undefined;
  };
  const showPrompt = () => {
    if (!isOpen) return;
    lines.setPrompt(before === "" ? "sql> " : "...> ");
    lines.prompt();
  };
  lines.on("SIGINT", () => {
    if (running !== undefined) return running.abort();
    before = "";
    io.stdout.write("\n");
    showPrompt();
  });
  say(io, "End a statement with ';'. Type \\d for the tables, \\q to quit, help for more.");
  showPrompt();
  try {
    for await (const line of lines) {
      const input = readPromptLine(before, line);
      if (input === "quit") return;
      if (input === "tables") await act(showTables);
      else if (input === "help") say(io, HELP);
      else if (input.kind === "more") before = input.text;
      else {
        before = "";
        await act((signal) => run(input.statement, signal));
      }
      showPrompt();
    }
  } finally {
    lines.close();
    saveHistory(path, history);
  }
};
