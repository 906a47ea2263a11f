/** `portside sql [QUERY|-] [-f FILE] [--format table|json|csv]` and `portside sql --schema` */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text as textOf } from "node:stream/consumers";
import type { Client } from "../../client/client.ts";
import { formatFileError } from "../../composition/file-error.ts";
import { flag, option } from "../arguments.ts";
import { clientFor, isExplained } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { CommandError, type Io, printJson, say, UsageError } from "../terminal/io.ts";
import { sayError } from "../terminal/safe-text.ts";
import { printRows, type SqlFormat, sqlFormats } from "./print.ts";
import { printSchema, readSchema } from "./schema.ts";

const readFile = (io: Io, name: string): string => {
  try {
    return readFileSync(resolve(io.cwd, name), "utf8");
  } catch (error) {
    throw new CommandError(formatFileError(name, error as NodeJS.ErrnoException));
  }
};

/** Returns the statement from the arguments; undefined if the command must prompt for it. */
const readStatement = async (input: Input, io: Io): Promise<string | undefined> => {
  const [query] = input.positionals;
  const file = input.text("file");
  if (query !== undefined && file !== undefined) throw new UsageError("Pass either a query or -f FILE, not both.");
  if (file !== undefined) return readFile(io, file);
  if (query !== undefined && query !== "-") return query;
  return query === undefined && io.stdin.isTTY === true ? undefined : textOf(io.stdin);
};

const formatOf = (input: Input, io: Io): SqlFormat => {
  const name = input.text("format") ?? (input.flag("json") ? "json" : io.stdout.isTTY === true ? "table" : "json");
  const format = sqlFormats.find((one) => one === name);
  if (format === undefined) throw new UsageError(`Unknown format '${name}'. Choose ${sqlFormats.join(", ")}.`);
  return format;
};

const runStatement = async (
  client: Client,
  io: Io,
  format: SqlFormat,
  query: string,
  signal: AbortSignal,
): Promise<void> => {
  await printRows(io, format, await client.runSql({ query }, { signal }));
};

const startPrompt = async (client: Client, io: Io, format: SqlFormat): Promise<void> => {
  const { promptForSql } = await import("./prompt.ts");
  const sayFailure = (signal: AbortSignal) => (error: unknown) => {
    if (signal.aborted) return say(io, "(cancelled)");
    if (!isExplained(error)) throw error;
    sayError(io, error.message);
  };
  await promptForSql(io, {
    run: (statement, signal) => runStatement(client, io, format, statement, signal).catch(sayFailure(signal)),
    showTables: (signal) =>
      readSchema(client, signal)
        .then((schema) => printSchema(io, schema))
        .catch(sayFailure(signal)),
  });
};

const showSchema = async (input: Input, io: Io): Promise<number> => {
  if (input.positionals.length > 0 || input.text("file") !== undefined)
    throw new UsageError("Pass either a query or --schema, not both.");
  if (input.text("format") !== undefined) throw new UsageError("--schema has no --format. Pass --json for JSON.");
  const schema = await readSchema(clientFor(input, io), io.signal);
  if (input.flag("json")) printJson(io, schema);
  else await printSchema(io, schema);
  return 0;
};

export const command: Command = {
  usage: "sql [QUERY|-] [-f FILE] [--format table|json|csv] | --schema",
  options: {
    ...clientOptions,
    file: option("FILE", "Read the query from a file", { short: "f" }),
    format: option("FORMAT", "Choose table (default on terminals), json (default in pipes) or csv", {
      choices: sqlFormats,
    }),
    schema: flag("Show the tables and their columns"),
  },
  positionals: { min: 0, max: 1 },
  examples: [
    "sql 'SELECT severity, COUNT(*) AS n FROM logs GROUP BY severity'",
    "sql -f report.sql --format csv",
    "sql --schema",
  ],
  notes: ["Without QUERY, opens a prompt on a terminal. See docs/sql.md for examples."],
  run: async (input, io) => {
    if (input.flag("schema")) return showSchema(input, io);
    const format = formatOf(input, io);
    const client = clientFor(input, io);
    const statement = await readStatement(input, io);
    if (statement === undefined) await startPrompt(client, io, format);
    else await runStatement(client, io, format, statement.trim().replace(/;+$/, ""), io.signal);
    return 0;
  },
};
