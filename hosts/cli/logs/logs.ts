/** `portside logs NAME` */
import { flag, option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { INTERRUPTED, printJson, say, UsageError } from "../terminal/io.ts";
import { followLog, LOG_PAGE, type LogRow } from "./follow.ts";
import { readNewest, readSinceThen } from "./pages.ts";
import { printRow } from "./print.ts";
import { LogReader } from "./reader.ts";
import { readSince } from "./since.ts";

const USUAL_COUNT = 100;

const readCount = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`-n must be a number from 0 to 999999, not '${text}'.`);
  return Number(text);
};

export const command: Command = {
  usage: "logs NAME [-f] [-q FILTER] [-s 1h] [-n N] [--json]",
  options: {
    ...clientOptions,
    follow: flag("Follow new entries until Ctrl-C", "f"),
    query: option("FILTER", "Show only entries that match, such as 'severity>=ERROR'", { short: "q" }),
    since: option("TIME", "Show entries since TIME: an age (30m, 1h30m, 7d), a date or a date-time", {
      short: "s",
    }),
    lines: option("N", "Show the newest N entries (default: 100, or all with -s)", { short: "n" }),
  },
  positionals: { min: 1, max: 1 },
  examples: ["logs hello -f", "logs hello -s 24h -q 'severity>=ERROR'"],
  notes: [
    "Filters use the Cloud Logging query language: 'jsonPayload.user=\"ann\" OR timeout'.",
    "Times are in UTC. To continue from an entry, pass its time to -s in quotes. The exit code after Ctrl-C is 130.",
  ],
  run: async (input, io) => {
    const count = readCount(input.text("lines"));
    const since = readSince(input.text("since"), Date.now());
    const client = clientFor(input, io);
    const reader = new LogReader(client, io, input.positionals[0] as string, input.text("query"));
    const json = input.flag("json");
    const show = (row: LogRow): void => (json ? printJson(io, row) : printRow(io, row));
    const onCut = () =>
      say(io, "The search reached its time or size limit. Older entries may match too. Narrow the search with -s.");
    const cursor =
      since === undefined || count === 0
        ? await readNewest(reader, count ?? USUAL_COUNT, show, onCut)
        : await readSinceThen(reader, since, count, show);
    if (!input.flag("follow")) return 0;
    const read = (from: string | undefined) => reader.pageIfAny(from, LOG_PAGE);
    const onIdle = () => reader.checkDeployment();
    for await (const row of followLog(read, { since: cursor, signal: io.signal, onIdle })) show(row);
    return INTERRUPTED;
  },
};
