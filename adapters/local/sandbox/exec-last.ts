/**
 * Rewrites a start command so that its last command replaces the shell (`exec`). A shell that waits for a command
 * prints "Terminated" when SIGTERM ends the command, so every stop of a service would add an error to the service's
 * log.
 */

/**
 * Reserved words and built-ins, which `exec` cannot run.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
 */
const shellWords = new Set(
  [
    "! case do done elif else esac fi for if in select then until while [[ function time coproc",
    ". : [ alias bg break cd command continue eval exec exit export false fg getopts hash jobs local read readonly",
    "return set shift source test times trap true type ulimit umask unalias unset wait",
  ].flatMap((words) => words.split(" ")),
);

const QUOTED = /'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\$\{[^{}()`'"]*\}/gs;

/** Replaces quoted text with `x`. The remaining special characters are operators. */
const withoutQuotes = (command: string): string => command.replace(QUOTED, (part) => "x".repeat(part.length));

/**
 * Matches syntax that needs the shell: pipes, background jobs, groups, substitutions, comments, here-documents, traps,
 * several lines, and unterminated quotes.
 */
const NEEDS_SHELL = /['"`(){}#\n\r]|<<|(?<!\|)\|(?!\|)|(?<![&>])&(?!&)|\btrap\b/;

/** Matches everything before the last command, and the variables that are set only for this command. */
const BEFORE_LAST = /^(?:.*(?:&&|\|\||;))?\s*(?:[A-Za-z_]\w*=\S*\s+)*/;

/** Adds `exec` to the last command. Returns the command unchanged if that could change its meaning. */
export const execLast = (command: string): string => {
  const bare = withoutQuotes(command);
  if (NEEDS_SHELL.test(bare)) return command;
  const at = BEFORE_LAST.exec(bare)?.[0].length ?? 0;
  const [word = ""] = bare.slice(at).split(/\s/, 1);
  // A variable could expand to a built-in.
  if (!/^[\w./@+~-]+$/.test(word) || shellWords.has(word)) return command;
  return `${command.slice(0, at)}exec ${command.slice(at)}`;
};
