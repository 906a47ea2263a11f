/** The completion script for bash 3.2 and newer. */
import { quoteForShell } from "../../../core/domain/deploy/source/quote-for-shell.ts";
import type { Option } from "../arguments.ts";
import type { ListedCommand } from "../command.ts";
import { namesOf, nextWords, optionsOf, takesFiles, type Values, valuesOf } from "./words.ts";

const actionOf = (values: Values): string => {
  if (values === "files" || values === "folders") return `_portside_paths -${values === "files" ? "f" : "d"}`;
  return values === "none" ? "" : `_portside_words ${quoteForShell(values.words.join(" "))}`;
};

const flagsOf = ([name, { short }]: readonly [string, Option]): string[] => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];

const patterns = (words: readonly string[]): string => words.map(quoteForShell).join("|");

const valueCases = (listed: ListedCommand): string[] =>
  optionsOf(listed.command).flatMap((option) => {
    if (option[1].type !== "string") return [];
    const words = namesOf(listed).flatMap((name) => flagsOf(option).map((flag) => `${name} ${flag}`));
    return `    ${patterns(words)}) ${[actionOf(valuesOf(option[1])), "return"].filter(Boolean).join("; ")} ;;`;
  });

const commandCase = (listed: ListedCommand): string => {
  const { command } = listed;
  const flags = optionsOf(command).map(([name]) => `--${name}`);
  return `    ${patterns(namesOf(listed))})
      flags=${quoteForShell(flags.join(" "))} words=${quoteForShell(nextWords(command).join(" "))} files=${takesFiles(command) ? "1" : ""} ;;`;
};

export const bashScript = (all: readonly ListedCommand[]): string => {
  const groups = all.filter(({ command }) => command.subcommands !== undefined).map(({ name }) => name);
  const top = all.filter(({ name }) => !name.includes(" ")).flatMap(namesOf);
  return `# bash completion for portside
_portside_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_portside_paths() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen "$1" -- "$cur"))
}

_portside() {
  local cur=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local command=\${COMP_WORDS[1]} position=2 flags= words= files=
  COMPREPLY=()
  # bash splits --flag=value into three words.
  if [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $cur == = ]]; then cur=; fi
  if ((COMP_CWORD == 1)); then
    _portside_words ${quoteForShell(top.join(" "))}
    return
  fi
  case $command in
    ${patterns(groups)}) if ((COMP_CWORD > 2)); then command="$command \${COMP_WORDS[2]}" position=3; fi ;;
  esac
  case "$command $previous" in
${all.flatMap(valueCases).join("\n")}
  esac
  case $command in
${all.map(commandCase).join("\n")}
  esac
  if [[ $cur == -* ]]; then
    _portside_words "$flags"
  elif [[ -n $words ]] && ((COMP_CWORD == position)); then
    _portside_words "$words"
  elif [[ -n $files ]]; then
    _portside_paths -f
  fi
}

complete -F _portside portside`;
};
