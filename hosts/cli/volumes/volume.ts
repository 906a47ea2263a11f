/** `portside volume …`: finds the subcommand; each has its own words and its own help. */
import { closest } from "../../../core/domain/wire/closest.ts";
import { type Command, columns } from "../command.ts";
import { UsageError } from "../terminal/io.ts";

interface Entry {
  readonly summary: string;
  load(): Promise<Command>;
}

/** All subcommands by name. */
export const volumeCommands: Readonly<Record<string, Entry>> = {
  create: { summary: "Make a volume.", load: async () => (await import("./create.ts")).create },
  ls: {
    summary: "List your volumes, those in the trash, or the objects of one.",
    load: async () => (await import("./ls.ts")).ls,
  },
  put: { summary: "Send a file or a folder into a volume.", load: async () => (await import("./put.ts")).put },
  get: {
    summary: "Fetch an object or a folder out of a volume.",
    load: async () => (await import("./get.ts")).get,
  },
  rm: { summary: "Delete objects.", load: async () => (await import("./rm.ts")).rm },
  delete: {
    summary: "Delete a volume with all that is in it.",
    load: async () => (await import("./delete.ts")).deleteCommand,
  },
  restore: {
    summary: "Bring a deleted volume back.",
    load: async () => (await import("./restore.ts")).restore,
  },
};

const names = Object.keys(volumeCommands).join("|");

const overview: Command = {
  usage: `volume ${names}`,
  options: {},
  positionals: { min: 0, max: 0 },
  examples: ["volume ls"],
  notes: [
    columns(Object.entries(volumeCommands).map(([name, { summary }]) => [name, summary] as const)),
    "",
    "portside volume put --help tells more about put, and so on.",
  ],
  run: async () => {
    throw new UsageError(`Missing subcommand. Usage: portside volume ${names}. Run 'portside volume --help'.`);
  },
};

const unknown = (word: string): UsageError => {
  const near = closest(word, Object.keys(volumeCommands));
  const hint = near === undefined ? `; it is one of ${names}.` : `; did you mean '${near}'?`;
  return new UsageError(`There is no 'volume ${word}'${hint}`);
};

/** The command that these words mean. */
export const volumeCommand = async (words: readonly string[]): Promise<Command> => {
  const [word = "--help"] = words;
  if (word.startsWith("-")) return overview;
  const entry = Object.hasOwn(volumeCommands, word) ? volumeCommands[word] : undefined;
  if (entry === undefined) throw unknown(word);
  const command = await entry.load();
  return { ...command, notes: [entry.summary, ...(command.notes ?? [])] };
};
