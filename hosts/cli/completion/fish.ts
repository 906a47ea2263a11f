/** The completion script for fish 3.1 and newer. */
import type { Option } from "../arguments.ts";
import type { ListedCommand } from "../command.ts";
import { namesOf, nextWords, optionsOf, takesFiles, type Values, valuesOf } from "./words.ts";

const quoted = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

const valueFlags = (values: Values): string[] => {
  if (values === "files") return ["-r", "-F"];
  if (values === "folders") return ["-x", "-a", "'(__fish_complete_directories)'"];
  return values === "none" ? ["-x"] : ["-x", "-a", quoted(values.words.join(" "))];
};

/** @param names the commands to which the completion applies; "" for the first word */
const rule = (names: readonly string[], ...flags: readonly string[]): string =>
  [
    "complete",
    "-c portside",
    "-n",
    quoted(`__portside_is ${names.map((name) => `"${name}"`).join(" ")}`),
    ...flags,
  ].join(" ");

const optionRule = (names: readonly string[], [name, option]: readonly [string, Option]): string => {
  const { type, short, description } = option;
  const flags = [...(short === undefined ? [] : [`-s ${short}`]), `-l ${name}`, "-d", quoted(description)];
  return rule(names, ...flags, ...(type === "string" ? valueFlags(valuesOf(option)) : []));
};

const rulesOf = (listed: ListedCommand): string[] => {
  const { name, summary, command } = listed;
  const names = namesOf(listed);
  const parent = name.includes(" ") ? name.slice(0, name.lastIndexOf(" ")) : "";
  const words = nextWords(command);
  return [
    ...names.map((one) => rule([parent], "-a", one.split(" ").at(-1) ?? "", "-d", quoted(summary))),
    ...(words.length === 0 || command.subcommands !== undefined ? [] : [rule(names, "-a", quoted(words.join(" ")))]),
    ...(takesFiles(command) ? [rule(names, "-F")] : []),
    ...optionsOf(command).map((option) => optionRule(names, option)),
  ];
};

export const fishScript = (all: readonly ListedCommand[]): string => {
  const groups = all.filter(({ command }) => command.subcommands !== undefined).map(({ name }) => name);
  return `# fish completion for portside
function __portside_is
    set -l words (commandline -opc)
    set -l command $words[2]
    if contains -- "$command" ${groups.join(" ")}; and set -q words[3]
        set command "$command $words[3]"
    end
    contains -- "$command" $argv
end

complete -c portside -f
${all.flatMap(rulesOf).join("\n")}`;
};
