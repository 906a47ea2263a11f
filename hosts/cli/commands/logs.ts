/** `portside logs NAME` */
import { parseInstant } from "../../../core/domain/instant.ts";
import type { LogPage } from "../../../core/domain/log-entry.ts";
import { durationOf } from "../../../core/domain/log-filter/literals.ts";
import { findAccount } from "../account.ts";
import { Client, Refused } from "../client.ts";
import { type Command, clientOptions, type Input } from "../command.ts";
import { CommandError, type Io, printJson, say, UsageError } from "../io.ts";
import { followLog, type LogRow } from "../log-follow.ts";
import { printRow } from "../log-print.ts";

const PAGE = 1000;

const readCount = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^\d{1,4}$/.test(text)) throw new UsageError(`-n takes a number from 1 to 1000, not '${text}'.`);
  return Number(text);
};

/** A time ago (`30m`, `24h`, `7d`), or a date-time. */
export const readSince = (text: string | undefined, now: number): string | undefined => {
  if (text === undefined) return undefined;
  const ago = /^\d{1,6}[smhd]$/.test(text) ? durationOf(text) : undefined;
  if (ago !== undefined) return new Date(now - ago * 1000).toISOString();
  if (parseInstant(text) !== undefined) return text;
  throw new UsageError(`-s takes a time ago, such as 30m, 24h or 7d, or a date-time, not '${text}'.`);
};

interface Asked {
  readonly deployment_name: string;
  readonly query?: string;
}

const readPage = async (client: Client, io: Io, request: object): Promise<LogPage> => {
  const response = await client.expectOk("/v1/deployment/logs", { json: request, signal: io.signal });
  const page = (await response.json()) as LogPage;
  return { ...page, partial: response.headers.get("x-logs-partial") === "true" };
};

/** Every entry since a moment, or the newest so many of them. */
const readAll = async (client: Client, io: Io, asked: Asked, since: string, limit: number | undefined) => {
  const rows: LogRow[] = [];
  for (let from = since; ; ) {
    const page = await readPage(client, io, { ...asked, since: from, limit: PAGE });
    rows.push(...page.logs);
    if (limit !== undefined && rows.length > limit) rows.splice(0, rows.length - limit);
    if (page.logs.length < PAGE && !page.partial) return { rows, cursor: page.cursor };
    from = page.cursor;
  }
};

const readFirst = async (client: Client, io: Io, asked: Asked, input: Input) => {
  const limit = readCount(input.text("lines"));
  const since = readSince(input.text("since"), Date.now());
  if (since !== undefined) return readAll(client, io, asked, since, limit);
  const page = await readPage(client, io, { ...asked, ...(limit === undefined ? {} : { limit }) });
  if (page.partial) say(io, "The search took long and was cut; older entries may match, too. Narrow it with -s.");
  return { rows: page.logs, cursor: page.cursor };
};

/** True for what passes by itself: a server that restarts, a rate that was reached. */
const passes = (error: unknown): boolean =>
  error instanceof Refused ? error.status === 429 || error.status >= 500 : error instanceof CommandError;

const follow = async (client: Client, io: Io, asked: Asked, since: string, show: (row: LogRow) => void) => {
  const read = async (from: string | undefined): Promise<LogPage | undefined> => {
    try {
      return await readPage(client, io, { ...asked, limit: PAGE, since: from });
    } catch (error) {
      if (io.signal.aborted || passes(error)) return undefined;
      throw error;
    }
  };
  const onSilence = () => say(io, "The platform does not answer; waiting for it…");
  for await (const row of followLog(read, { since, signal: io.signal, onSilence })) show(row);
};

export const logs: Command = {
  usage: "logs NAME [-f] [-q FILTER] [-s 1h] [-n N] [--json]",
  options: {
    ...clientOptions,
    follow: { type: "boolean", short: "f", description: "Go on with what comes, until Ctrl-C." },
    query: {
      type: "string",
      short: "q",
      value: "FILTER",
      description: "Only what matches, such as 'severity>=ERROR'.",
    },
    since: {
      type: "string",
      short: "s",
      value: "TIME",
      description: "From a time ago (30m, 24h, 7d) or a date-time on.",
    },
    lines: { type: "string", short: "n", value: "N", description: "The newest N entries (100)." },
  },
  positionals: { min: 1, max: 1 },
  notes: ["Filters are the Cloud Logging query language: 'jsonPayload.user=\"ann\" OR timeout'."],
  run: async (input, io) => {
    const client = new Client(findAccount(io, input.text("url")));
    const query = input.text("query");
    const asked = { deployment_name: input.positionals[0] as string, ...(query === undefined ? {} : { query }) };
    const show = (row: LogRow): void => (input.flag("json") ? printJson(io, row) : printRow(io, row));
    const { rows, cursor } = await readFirst(client, io, asked, input);
    for (const row of rows) show(row);
    if (input.flag("follow")) await follow(client, io, asked, cursor, show);
    return 0;
  },
};
