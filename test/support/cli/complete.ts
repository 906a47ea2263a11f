/** Completes a command line in a real shell, as Tab does. */
import { execFileSync } from "node:child_process";

export interface Completing {
  /** The output of `portside completion SHELL`. */
  readonly script: string;
  readonly cwd: string;
}

const run = (file: string, args: readonly string[], { script, cwd }: Completing, line: string): string[] => {
  const env = { ...process.env, HOME: cwd, SCRIPT: script, LINE: line, TERM: "xterm" };
  const output = execFileSync(file, args, { cwd, env, encoding: "utf8", timeout: 60_000 });
  return output
    .split("\n")
    .map((match) => match.trim())
    .filter((match) => match !== "")
    .sort();
};

/** Calls the registered function with the words that readline passes. readline also splits at `=`. */
const inBash = (completing: Completing, line: string): string[] => {
  const words = line.split(/ |(?<==)|(?==)/);
  const program = `eval "$SCRIPT"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$LINE COMP_POINT=\${#LINE}
[[ $(complete -p portside) == "complete -F _portside portside" ]] || exit 1
_portside
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run("bash", ["--norc", "-c", program, "bash", ...words], completing, line);
};

/** Makes an interactive zsh print its matches as `<match>`: completion functions work in the line editor only. */
const ZSH_SETUP = `PS1= PS2=
autoload -Uz compinit && compinit -u -D
eval "$SCRIPT"
compadd() {
  local -a hits
  if [[ "\${@[1,(i)(-|--)]}" == *-[OAD]\\ * ]]; then builtin compadd "$@"; return; fi
  builtin compadd -A hits "$@"
  local hit
  for hit in $hits; do print -r -- "<$hit>"; done
  builtin compadd "$@"
}
finish() { print "<<end>>"; exit }
compprefuncs=() comppostfuncs=(finish)
bindkey '^I' complete-word
print "<<ready>>"`;

/** Types the line and a Tab in a zsh on a pseudo-terminal. */
const inZsh = (completing: Completing, line: string): string[] => {
  const program = `export SETUP=$0
zmodload zsh/zpty
zpty shell 'zsh -f -i'
zpty -w shell 'eval "$SETUP"'
zpty -r -m shell text '*<<ready>>*'
zpty -w -n shell "$LINE"$'\\t'
zpty -r -m shell text '*<<end>>*'
print -r -- $text`;
  const output = run("zsh", ["-f", "-c", program, ZSH_SETUP], completing, line).join("\n");
  return [...new Set([...output.matchAll(/(?<!<)<([^<>]+)>(?!>)/g)].map(([, match]) => match as string))].sort();
};

/** fish returns `--flag=value` as one word. */
const inFish = (completing: Completing, line: string): string[] => {
  const flag = /--[a-z-]+=/.exec(line)?.[0] ?? "";
  return run("fish", ["--no-config", "-c", 'eval "$SCRIPT"; complete -C "$LINE"'], completing, line).map((match) =>
    (match.split("\t")[0] as string).slice(flag.length),
  );
};

export const completeIn = { bash: inBash, zsh: inZsh, fish: inFish } as const;
