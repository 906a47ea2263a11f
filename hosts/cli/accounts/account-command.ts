/** `portside account usage` */
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { printJson, UsageError } from "../terminal/io.ts";
import { printTable } from "../terminal/table.ts";

export const command: Command = {
  usage: "account usage [--json]",
  options: clientOptions,
  positionals: { min: 1, max: 1 },
  choices: ["usage"],
  examples: ["account usage"],
  notes: [
    "Each replica counts requests and concurrent calls separately. The output shows the counts of the responding",
    "replica.",
  ],
  run: async (input, io) => {
    const [word = ""] = input.positionals;
    if (word !== "usage") throw new UsageError(`Unknown subcommand 'account ${word}'. Use 'account usage'.`);
    const usage = await clientFor(input, io).getAccountUsage({ signal: io.signal });
    if (input.flag("json")) printJson(io, usage);
    else
      await printTable(
        io,
        ["QUOTA", "USED", "LIMIT"],
        Object.entries(usage).map(([name, { used, limit }]) => [name, String(used), String(limit)]),
      );
    return 0;
  },
};
