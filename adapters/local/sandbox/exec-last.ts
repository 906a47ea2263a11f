/**
 * A start command that replaces its shell where it can. A shell that waits reports a command that SIGTERM ended in a line
 * of its own ("Terminated"), which would be an error in the service's log at every stop that the platform asks for.
 */

/** The shell's own words: nothing runs in its place. https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html */
const shellWords = new Set(
  [
    "! case do done elif else esac fi for if in select then until while [[ function time coproc",
    ". : [ alias bg break cd command continue eval exec exit export false fg getopts hash jobs local read readonly",
    "return set shift source test times trap true type ulimit umask unalias unset wait",
  ].flatMap((words) => words.split(" ")),
);

const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\$\{[^{}()`'"]*\}/gs;

/** With all that is quoted made `x`, so that the shell's signs that are left are meant as such. */
const withoutQuotes = (command: string): string => command.replace(QUOTED, (part) => "x".repeat(part.length));

/** Pipes, background, groups, substitutions, comments, documents, further lines, quotes without an end. */
const NEEDS_SHELL = /['"`(){}#\n\r]|<<|(?<!\|)\|(?!\|)|(?<![&>])&(?!&)|\btrap\b/;

/** Everything up to the last of several commands, and the variables that are set for it alone. */
const BEFORE_LAST = /^(?:.*(?:&&|\|\||;))?\s*(?:[A-Za-z_]\w*=\S*\s+)*/;

/** The command, its last part run in the shell's place; as it is where that could mean something else. */
export const execLast = (command: string): string => {
  const bare = withoutQuotes(command);
  if (NEEDS_SHELL.test(bare)) return command;
  const at = BEFORE_LAST.exec(bare)?.[0].length ?? 0;
  const [word = ""] = bare.slice(at).split(/\s/, 1);
  // A word that a variable holds could be the shell's own.
  if (!/^[\w./@+~-]+$/.test(word) || shellWords.has(word)) return command;
  return `${command.slice(0, at)}exec ${command.slice(at)}`;
};
