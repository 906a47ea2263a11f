/** The completion script for zsh, for `eval` or for a file in a folder of `fpath`. */
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import type { Option } from "../arguments.ts";
import type { ListedCommand } from "../command.ts";
import { namesOf, nextWords, optionsOf, takesFiles, type Values, valuesOf } from "./words.ts";

const escaped = (text: string): string => text.replace(/[\\[\]:]/g, "\\$&");

const actionOf = (values: Values): string => {
  if (values === "files") return "_files";
  if (values === "folders") return "_files -/";
  return values === "none" ? " " : `(${values.words.join(" ")})`;
};

/** Returns a specification for `_arguments`. */
const specOf = ([name, option]: readonly [string, Option]): string => {
  const { type, short, multiple, optional, value = "VALUE", description } = option;
  const takesValue = type === "string";
  const argument = takesValue
    ? `:${optional === undefined ? "" : ":"}${escaped(value)}:${actionOf(valuesOf(option))}`
    : "";
  const text = quoteForShell(`[${escaped(description)}]${argument}`);
  const long = `--${name}${takesValue ? "=" : ""}`;
  const repeat = multiple === true ? "*" : "";
  if (short === undefined) return `${quoteForShell(repeat + long)}${text}`;
  const exclusive = multiple === true ? "'*'" : `'(-${short} --${name})'`;
  return `${exclusive}{-${short}${takesValue ? "+" : ""},${long}}${text}`;
};

const described = (all: readonly ListedCommand[]): string =>
  all
    .flatMap((one) =>
      namesOf(one).map((name) => `    ${quoteForShell(`${name.split(" ").at(-1)}:${escaped(one.summary)}`)}`),
    )
    .join("\n");

const argumentsOf = (listed: ListedCommand): string => {
  const { command } = listed;
  const words = nextWords(command);
  const first = words.length === 0 ? [] : [quoteForShell(`1:argument:(${words.join(" ")})`)];
  const rest = takesFiles(command) ? [quoteForShell("*:file:_files")] : [];
  return ["_arguments -s", ...optionsOf(command).map(specOf), ...first, ...rest].join(" \\\n        ");
};

const caseOf = (listed: ListedCommand): string => `    ${namesOf(listed).map(quoteForShell).join("|")})
      ${argumentsOf(listed)} ;;`;

export const zshScript = (all: readonly ListedCommand[]): string => {
  const groups = all.filter(({ command }) => command.subcommands !== undefined).map(({ name }) => name);
  const below = (group: string) => all.filter(({ name }) => name.startsWith(`${group} `));
  return `#compdef portside
_portside() {
  local command=$words[2]
  local -a commands
  if ((CURRENT == 2)); then
    commands=(
${described(all.filter(({ name }) => !name.includes(" ")))}
    )
    _describe command commands
    return
  fi
${groups
  .map(
    (group) => `  if [[ $command == ${group} ]]; then
    if ((CURRENT == 3)) && [[ $words[3] != -* ]]; then
      commands=(
${described(below(group))}
      )
      _describe subcommand commands
      return
    fi
    command="$command $words[3]"
    shift words
    ((CURRENT--))
  fi`,
  )
  .join("\n")}
  shift words
  ((CURRENT--))
  case $command in
${all.map(caseOf).join("\n")}
  esac
}

if [[ $funcstack[1] == _portside ]]; then
  _portside "$@"
else
  compdef _portside portside
fi`;
};
