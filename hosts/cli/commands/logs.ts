/** `portside logs NAME` */
import type { LogPage } from "../../../core/domain/log-entry.ts";
import { findAccount } from "../account.ts";
import { Client } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { type Io, paint, print, printJson, UsageError } from "../io.ts";
import { logText } from "../log-text.ts";

type Row = LogPage["logs"][number];

const colours: Partial<Record<Row["severity"], Parameters<typeof paint>[1]>> = {
  DEBUG: "dim",
  WARNING: "yellow",
  ERROR: "red",
  CRITICAL: "red",
  ALERT: "red",
  EMERGENCY: "red",
};

export const printRow = (io: Io, row: Row): void => {
  const time = paint(io.stdout, "dim", row.timestamp.slice(0, 23).replace("T", " "));
  const colour = colours[row.severity];
  const text = logText(row.message);
  print(io, `${time} ${row.severity.padEnd(8)} ${colour === undefined ? text : paint(io.stdout, colour, text)}`);
};

const readCount = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`-n takes a number from 1 to 1000, not '${text}'.`);
  return Number(text);
};

export const logs: Command = {
  usage: "logs NAME [-n N] [--json]",
  options: {
    ...clientOptions,
    lines: { type: "string", short: "n", value: "N", description: "The newest N entries (100)." },
  },
  positionals: { min: 1, max: 1 },
  run: async (input, io) => {
    const limit = readCount(input.text("lines"));
    const client = new Client(findAccount(io, input.text("url")));
    const request = { deployment_name: input.positionals[0], ...(limit === undefined ? {} : { limit }) };
    const page = await client.call<LogPage>("/v1/deployment/logs", { json: request });
    for (const row of page.logs) {
      if (input.flag("json")) printJson(io, row);
      else printRow(io, row);
    }
    return 0;
  },
};
