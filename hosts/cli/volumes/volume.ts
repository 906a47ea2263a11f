/** `portside volume …`: finds the subcommand. */
import { closest } from "../../../core/domain/wire/closest.ts";
import { type Command, type CommandEntry, columns, entry } from "../command.ts";
import { UsageError } from "../terminal/io.ts";

/** All subcommands by name. */
const volumeCommands: Readonly<Record<string, CommandEntry>> = {
  create: entry("Create a volume", () => import("./create.ts")),
  ls: entry("List volumes, deleted volumes, or the objects of a volume", () => import("./ls.ts")),
  put: entry("Upload a file or a folder to a volume", () => import("./put.ts")),
  get: entry("Download an object or a folder from a volume", () => import("./get.ts")),
  rm: entry("Delete objects", () => import("./rm.ts")),
  delete: entry("Delete a volume and its content", () => import("./delete.ts")),
  restore: entry("Restore a deleted volume", () => import("./restore.ts")),
};

const names = Object.keys(volumeCommands).join("|");

const overview: Command = {
  usage: `volume ${names}`,
  options: {},
  subcommands: volumeCommands,
  examples: ["volume ls"],
  notes: [
    columns(Object.entries(volumeCommands).map(([name, { summary }]) => [name, summary] as const)),
    "",
    "Run 'portside volume SUBCOMMAND --help' for the options of a subcommand.",
  ],
  run: async () => {
    throw new UsageError(`Missing subcommand. Usage: portside volume ${names}. Run 'portside volume --help'.`);
  },
};

const unknown = (word: string): UsageError => {
  const near = closest(word, Object.keys(volumeCommands));
  const hint = near === undefined ? `Use ${names}.` : `Did you mean '${near}'?`;
  return new UsageError(`Unknown subcommand 'volume ${word}'. ${hint}`);
};

/** Returns the subcommand for the arguments. */
export const volumeCommand = async (words: readonly string[]): Promise<Command> => {
  const [word = "--help"] = words;
  if (word.startsWith("-")) return overview;
  const found = Object.hasOwn(volumeCommands, word) ? volumeCommands[word] : undefined;
  if (found === undefined) throw unknown(word);
  const command = await found.load(words);
  return { ...command, summary: found.summary };
};
