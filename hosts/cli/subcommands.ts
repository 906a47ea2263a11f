/** Commands that consist of subcommands, such as `portside volume`. */
import { closest } from "../../core/domain/wire/closest.ts";
import { type Command, type CommandEntry, columns } from "./command.ts";
import { UsageError } from "./terminal/io.ts";

/** Returns a function that finds the subcommand for the arguments after `name`. */
export const subcommandsOf = (
  name: string,
  entries: Readonly<Record<string, CommandEntry>>,
  examples: readonly string[],
): ((words: readonly string[]) => Promise<Command>) => {
  const names = Object.keys(entries).join("|");
  const overview: Command = {
    usage: `${name} ${names}`,
    options: {},
    subcommands: entries,
    examples,
    notes: [
      columns(Object.entries(entries).map(([word, { summary }]) => [word, summary] as const)),
      "",
      `Run 'portside ${name} SUBCOMMAND --help' for the options of a subcommand.`,
    ],
    run: async () => {
      throw new UsageError(`Missing subcommand. Usage: portside ${name} ${names}. Run 'portside ${name} --help'.`);
    },
  };
  const unknown = (word: string): UsageError => {
    const near = closest(word, Object.keys(entries));
    const hint = near === undefined ? `Use ${names}.` : `Did you mean '${near}'?`;
    return new UsageError(`Unknown subcommand '${name} ${word}'. ${hint}`);
  };
  return async (words) => {
    const [word = "--help"] = words;
    if (word.startsWith("-")) return overview;
    const found = Object.entries(entries).find(
      ([known, { aliases = [] }]) => known === word || aliases.includes(word),
    )?.[1];
    if (found === undefined) throw unknown(word);
    const command = await found.load(words);
    return { ...command, summary: found.summary };
  };
};
