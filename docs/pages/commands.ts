/** The page of commands: the help of every command. */
import type { Options } from "../../hosts/cli/arguments.ts";
import { type Command, commonOptions, type ListedCommand, listCommands, optionLine } from "../../hosts/cli/command.ts";
import { activation } from "../../hosts/cli/completion/completion.ts";
import { commands } from "../../hosts/cli/program.ts";
import { settingOptions } from "../../hosts/cli/settings.ts";
import { GENERATED, table } from "./markdown.ts";

const inTable = (text: string): string => text.replaceAll("|", "\\|");
const inText = (text: string): string => text.replaceAll("<", "&lt;");

const optionRows = (options: Options): string[][] =>
  Object.entries(options).map((option) => {
    const [left, description] = optionLine(option);
    return [`\`${inTable(left.trim())}\``, inTable(inText(description))];
  });

/** Lists a command's options. Links to the settings instead of listing them. */
const optionsOf = ({ options }: Command): string => {
  const takesSettings = options["config"] === settingOptions["config"];
  const own = Object.fromEntries(
    Object.entries(options).filter(([name, one]) => name === "config" || one !== settingOptions[name]),
  );
  const settings = takesSettings
    ? "Accepts every setting of [configuration.md](configuration.md) as an option.\n\n"
    : "";
  return `${settings}${Object.keys(own).length === 0 ? "" : `${table(["option", "description"], optionRows(own))}\n\n`}`;
};

/** Joins the notes into a paragraph. Omits lists, because the page has a section for each listed item. */
const notesOf = ({ notes = [] }: Command): string => {
  const text = notes.filter((line) => line !== "" && !line.startsWith("  ") && !line.endsWith(":"));
  return text.length === 0 ? "" : `${text.map(inText).join(" ")}\n\n`;
};

const section = ({ name, aliases, summary, command }: ListedCommand): string =>
  `## portside ${name}

${summary}.${aliases.length === 0 ? "" : ` Also \`portside ${aliases.join("`, `portside ")}\`.`}

\`\`\`text
portside ${command.usage}
\`\`\`

${optionsOf(command)}${notesOf(command)}\`\`\`console
${command.examples.map((words) => `$ portside ${words}`).join("\n")}
\`\`\`
`;

export const commandsPage = async (): Promise<string> => {
  const all = await listCommands(commands);
  return `# Commands

${GENERATED}

This page lists every command, with the text of \`portside COMMAND --help\`. Commands that call a platform use the address in \`--url\`, in
\`PORTSIDE_URL\`, or from \`portside login\`, in this order. The default is port 8787 on this machine. They use the key in
\`PORTSIDE_API_KEY\` or from \`portside login\`. The exit code is 0 after success, 1 after a failure, 2 after a
usage error, and 130 after Ctrl-C.

${table(
  ["command", "description"],
  all.map(({ name, summary }) => [`[\`portside ${name}\`](#portside-${name.replaceAll(" ", "-")})`, summary]),
)}

Options of every command:

${table(["option", "description"], optionRows(commonOptions))}

## Shell completion

\`portside completion\` prints a script that completes commands, options, option values and paths. Add the line
for your shell to its configuration file, and start a new shell:

${table(
  ["file", "line"],
  Object.values(activation).map(([file, line]) => [file, `\`${inTable(line)}\``]),
)}

The shell runs \`portside completion\` when it starts, so an upgrade also updates the completion.

${all.map(section).join("\n")}`;
};
