/** Every command of the command line, in the words of its own help. */
import type { Option } from "../../hosts/cli/arguments.ts";
import { type Command, commonOptions, optionLine } from "../../hosts/cli/command.ts";
import { commands } from "../../hosts/cli/program.ts";
import { settingOptions } from "../../hosts/cli/settings.ts";
import { volumeCommands } from "../../hosts/cli/volumes/volume.ts";
import { MADE, table } from "./markdown.ts";

interface Listed {
  readonly summary: string;
  readonly aliases?: readonly string[];
  load(words: readonly string[]): Promise<Command>;
}

interface Described extends Required<Omit<Listed, "load">> {
  readonly name: string;
  readonly command: Command;
}

/** In the order of the overview; those of `volume` behind it. */
const described = async (): Promise<readonly Described[]> => {
  const below = Object.entries(volumeCommands).map(([name, entry]): [string, Listed] => [`volume ${name}`, entry]);
  const listed = Object.entries(commands).flatMap(([name, entry]): [string, Listed][] => [
    [name, entry],
    ...(name === "volume" ? below : []),
  ]);
  const all = listed.map(async ([name, { summary, aliases = [], load }]) => ({
    name,
    aliases,
    summary,
    command: await load([]),
  }));
  return Promise.all(all);
};

const inTable = (text: string): string => text.replaceAll("|", "\\|");
const inText = (text: string): string => text.replaceAll("<", "&lt;");

const optionRows = (options: Readonly<Record<string, Option>>): string[][] =>
  Object.entries(options).map((option) => {
    const [left, description] = optionLine(option);
    return [`\`${inTable(left.trim())}\``, inTable(inText(description))];
  });

/** Of a command that takes every setting, what it takes besides. */
const optionsOf = ({ options }: Command): string => {
  const takesSettings = options["config"] === settingOptions["config"];
  const own = Object.fromEntries(
    Object.entries(options).filter(([name, one]) => name === "config" || one !== settingOptions[name]),
  );
  const settings = takesSettings ? "Every setting of [configuration.md](configuration.md).\n\n" : "";
  return `${settings}${Object.keys(own).length === 0 ? "" : `${table(["option", "what"], optionRows(own))}\n\n`}`;
};

/** Lines of a list stay one; sentences flow. */
const notesOf = ({ notes = [] }: Command): string => {
  const text = notes.filter((line) => line !== "" && !line.startsWith("  "));
  return text.length === 0 ? "" : `${text.map(inText).join(" ")}\n\n`;
};

const section = ({ name, aliases, summary, command }: Described): string =>
  `## portside ${name}

${summary}${aliases.length === 0 ? "" : ` Also \`portside ${aliases.join("`, `portside ")}\`.`}

\`\`\`text
portside ${command.usage}
\`\`\`

${optionsOf(command)}${notesOf(command)}\`\`\`console
${command.examples.map((words) => `$ portside ${words}`).join("\n")}
\`\`\`
`;

export const commandsPage = async (): Promise<string> => {
  const all = await described();
  return `# Commands

${MADE}

What \`portside COMMAND --help\` says of each. Commands that ask a platform find it by \`--url\`, \`PORTSIDE_URL\` or what
\`portside login\` kept, else on this machine's port 8787; the key is \`PORTSIDE_API_KEY\`, else what \`portside login\` kept.
The exit code is 0, 1 where the platform said no, 2 for words that are no such command, and 130 after Ctrl-C.

${table(
  ["command", "what"],
  all.map(({ name, summary }) => [`[\`portside ${name}\`](#portside-${name.replaceAll(" ", "-")})`, summary]),
)}

Every command takes these:

${table(["option", "what"], optionRows(commonOptions))}

${all.map(section).join("\n")}`;
};
