/** The command interface and its argument parser. */
import { parseArgs } from "node:util";
import { closest } from "../../core/domain/wire/closest.ts";
import { flag, joinValues, type Option, type Options, option } from "./arguments.ts";
import { paint } from "./terminal/colour.ts";
import { type Io, print, printJson, say, UsageError } from "./terminal/io.ts";
import { printTable } from "./terminal/table.ts";

export interface Input {
  readonly positionals: readonly string[];
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  flag(name: string): boolean;
}

export interface Command {
  /** The summary in a subcommand's help. Defaults to the summary in the table of commands. */
  readonly summary?: string;
  /** The usage line of the help without `portside`: the command's name and its arguments. */
  readonly usage: string;
  readonly options: Options;
  /** How many positional arguments the command takes. Defaults to none. */
  readonly positionals?: { readonly min: number; readonly max: number };
  /** The valid values of the first positional argument, if their set is fixed. */
  readonly choices?: readonly string[];
  readonly subcommands?: Readonly<Record<string, CommandEntry>>;
  /** Example arguments after `portside`, with `'` around words that a shell would expand. */
  readonly examples: readonly string[];
  /** Additional lines of help. */
  readonly notes?: readonly string[];
  /** Resolves to the exit code. */
  run(input: Input, io: Io): Promise<number>;
}

/** A row of the table of commands. */
export interface CommandEntry {
  readonly summary: string;
  readonly aliases?: readonly string[];
  /** Loads the command's module lazily, to keep other commands fast. `words` may name a subcommand. */
  load(words: readonly string[]): Promise<Command>;
}

export const entry = (
  summary: string,
  load: () => Promise<{ readonly command: Command }>,
  ...aliases: readonly string[]
): CommandEntry => ({ summary, aliases, load: async () => (await load()).command });

export interface ListedCommand {
  /** `deploy`, or `volume put` */
  readonly name: string;
  /** Other names, in the same form. */
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly command: Command;
}

/** Loads all commands. Subcommands follow their command. */
export const listCommands = async (
  entries: Readonly<Record<string, CommandEntry>>,
  parent = "",
): Promise<readonly ListedCommand[]> => {
  const listed = Object.entries(entries).map(async ([word, { summary, aliases = [], load }]) => {
    const name = parent + word;
    const command = await load([]);
    const others = aliases.map((alias) => parent + alias);
    return [
      { name, aliases: others, summary, command },
      ...(await listCommands(command.subcommands ?? {}, `${name} `)),
    ];
  });
  return (await Promise.all(listed)).flat();
};

/** Options of every command. */
export const commonOptions: Options = {
  help: flag("Show this help", "h"),
  debug: flag("Print the stack trace of an error"),
};

export const jsonOption: Options = { json: flag("Print JSON") };
export const yesOption: Options = { yes: flag("Skip the confirmation", "y") };
export const urlOption: Options = { url: option("URL", "Set the platform's address (PORTSIDE_URL)") };
export const clientOptions: Options = { ...jsonOption, ...urlOption };

/** Parses a command's arguments. Throws `UsageError` if they are invalid. */
export const readInput = (command: Command, args: readonly string[]): Input & { readonly wantsHelp: boolean } => {
  const options = { ...command.options, ...commonOptions };
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: joinValues(args, options), options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(parseErrorMessage((error as Error).message, options));
  }
  const { values, positionals } = parsed;
  const wantsHelp = values["help"] === true;
  const { min, max } = command.positionals ?? { min: 0, max: 0 };
  if (!wantsHelp && positionals.length < min)
    throw new UsageError(missingArgumentMessage(command.usage, positionals.length));
  if (!wantsHelp && positionals.length > max)
    throw new UsageError(`Unexpected argument '${positionals[max]}'. Usage: portside ${command.usage}`);
  return {
    wantsHelp,
    positionals,
    text: (name) => values[name] as string | undefined,
    texts: (name) => (values[name] as string[] | undefined) ?? [],
    flag: (name) => values[name] === true,
  };
};

/** Prints the value with --json, otherwise the text. Returns the exit code. */
export const printResult = (input: Input, io: Io, value: unknown, text: string): number => {
  if (input.flag("json")) printJson(io, value);
  else print(io, text);
  return 0;
};

export interface List<T> {
  readonly head: readonly string[];
  readonly row: (item: T) => readonly string[];
  /** The message to print instead of an empty table. */
  readonly empty?: string;
}

/** Prints the items as JSON with --json, otherwise as a table. Resolves to the exit code. */
export const printList = async <T>(input: Input, io: Io, items: readonly T[], list: List<T>): Promise<number> => {
  if (input.flag("json")) printJson(io, items);
  else if (items.length === 0 && list.empty !== undefined) say(io, list.empty);
  else await printTable(io, list.head, items.map(list.row));
  return 0;
};

/**
 * Returns the message of the usage error for the first missing argument.
 * @param given the number of arguments after the command's name
 */
const missingArgumentMessage = (usage: string, given: number): string => {
  const required = usage
    .replace(/\[[^\]]*\]/g, "")
    .split(" ")
    .filter((word) => word !== "");
  const word = required[given + 1] ?? "";
  return `Missing ${/^[A-Z]+$/.test(word) ? word : "subcommand"}. Usage: portside ${usage}`;
};

const parseErrorMessage = (message: string, options: Options): string => {
  const wanting = /^Option '(?:-\w, )?-?-([\w-]+)(?: <value>)?' argument/.exec(message)?.[1];
  const option = Object.entries(options).find(([name, { short = name }]) => name === wanting || short === wanting);
  if (option !== undefined) return `Missing value for the option ${optionLine(option)[0].trim()}.`;
  const unknown = /Unknown option '(--?[^']+)'/.exec(message)?.[1];
  if (unknown === undefined) return message.split(". ")[0] ?? message;
  const near = unknown.startsWith("--") ? closest(unknown.slice(2), Object.keys(options)) : undefined;
  return `Unknown option '${unknown}'. ${near === undefined ? "See --help." : `Did you mean '--${near}'?`}`;
};

/** Returns an option's syntax and its description. */
export const optionLine = ([name, option]: [string, Option]): [string, string] => {
  const short = option.short === undefined ? "    " : `-${option.short}, `;
  return [`${short}--${name}${option.type === "string" ? ` ${option.value ?? "VALUE"}` : ""}`, option.description];
};

export const columns = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join("\n");
};

export const commandHelp = (io: Io, command: Command, summary: string): string =>
  [
    `${paint(io, "bold", "Usage:")} portside ${command.usage}`,
    "",
    summary,
    "",
    columns(Object.entries({ ...command.options, ...commonOptions }).map(optionLine)),
    ...(command.notes === undefined ? [] : ["", ...command.notes]),
    "",
    ...command.examples.map((example) => `  $ portside ${example}`),
  ].join("\n");
