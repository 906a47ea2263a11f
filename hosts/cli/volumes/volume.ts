/** `portside volume …`: finds the subcommand. */
import { closest } from "../../../core/domain/wire/closest.ts";
import { type Command, type CommandEntry, columns } from "../command.ts";
import { UsageError } from "../terminal/io.ts";

/** All subcommands by name. */
const volumeCommands: Readonly<Record<string, CommandEntry>> = {
  create: { summary: "Create a volume", load: async () => (await import("./create.ts")).create },
  ls: {
    summary: "List volumes, deleted volumes, or the objects of a volume",
    load: async () => (await import("./ls.ts")).ls,
  },
  put: { summary: "Upload a file or a folder to a volume", load: async () => (await import("./put.ts")).put },
  get: {
    summary: "Download an object or a folder from a volume",
    load: async () => (await import("./get.ts")).get,
  },
  rm: { summary: "Delete objects", load: async () => (await import("./rm.ts")).rm },
  delete: {
    summary: "Delete a volume and its content",
    load: async () => (await import("./delete.ts")).deleteCommand,
  },
  restore: {
    summary: "Restore a deleted volume",
    load: async () => (await import("./restore.ts")).restore,
  },
};

const names = Object.keys(volumeCommands).join("|");

const overview: Command = {
  usage: `volume ${names}`,
  options: {},
  positionals: { min: 0, max: 0 },
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

/** Returns the subcommand that the arguments name. */
export const volumeCommand = async (words: readonly string[]): Promise<Command> => {
  const [word = "--help"] = words;
  if (word.startsWith("-")) return overview;
  const entry = Object.hasOwn(volumeCommands, word) ? volumeCommands[word] : undefined;
  if (entry === undefined) throw unknown(word);
  const command = await entry.load(words);
  return { ...command, notes: [entry.summary, ...(command.notes ?? [])] };
};
