/** `portside logs NAME` */
import { flag, option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { INTERRUPTED, printJson, say, UsageError } from "../terminal/io.ts";
import { followLog, LOG_PAGE, type LogRow } from "./follow.ts";
import { readNewest, readReversed, readSinceThen } from "./pages.ts";
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
  usage: "logs NAME [-f] [-q FILTER] [-s 1h] [--until 30m] [-n N] [-r] [--full] [--json]",
  options: {
    ...clientOptions,
    follow: flag("Follow new entries until Ctrl-C", "f"),
    query: option("FILTER", "Show only entries that match FILTER, for example 'severity>=ERROR'", { short: "q" }),
    since: option("TIME", "Show entries since TIME: an age (30m, 1h30m, 7d), a date or a date-time", {
      short: "s",
    }),
    until: option("TIME", "Show entries up to TIME"),
    lines: option("N", "Show the newest N entries (default: 100, or all with -s)", { short: "n" }),
    reverse: flag("Show the newest entries first", "r"),
    full: flag("Show all fields of each entry"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["logs hello -f", "logs hello -s 24h -q 'severity>=ERROR'", "logs hello -r --until 2026-01-31T09:00Z"],
  notes: [
    "Filters use the Cloud Logging query language: 'jsonPayload.user=\"ann\" OR timeout'.",
    "Printed times, and dates without a time, are in UTC. To continue from an entry, pass its time to -s in quotes.",
    "The exit code after Ctrl-C is 130.",
  ],
  run: async (input, io) => {
    const count = readCount(input.text("lines"));
    const now = Date.now();
    const since = readSince(input.text("since"), now);
    const until = readSince(input.text("until"), now, "--until");
    const [follow, reverse] = [input.flag("follow"), input.flag("reverse")];
    if (follow && reverse) throw new UsageError("-f shows entries as they arrive, so it cannot be combined with -r.");
    if (follow && until !== undefined) throw new UsageError("-f has no end, so it cannot be combined with --until.");
    const client = clientFor(input, io);
    const reader = new LogReader(client, io, input.positionals[0] as string, input.text("query"), input.flag("full"));
    const json = input.flag("json");
    const show = (row: LogRow): void => (json ? printJson(io, row) : printRow(io, row));
    const onCut = () =>
      say(io, "The search reached its time or size limit. Older entries may match too. Narrow the search with -s.");
    if (reverse) {
      const max = count ?? (since === undefined ? USUAL_COUNT : undefined);
      await readReversed(reader, { since, until }, max, show);
      return 0;
    }
    const cursor =
      since === undefined || count === 0
        ? await readNewest(reader, { count: count ?? USUAL_COUNT, until }, show, onCut)
        : await readSinceThen(reader, { since, until }, count, show);
    if (!follow) return 0;
    const read = (from: string | undefined) => reader.pageIfAny(from, LOG_PAGE);
    const onIdle = () => reader.checkDeployment();
    for await (const row of followLog(read, { since: cursor, signal: io.signal, onIdle })) show(row);
    return INTERRUPTED;
  },
};
