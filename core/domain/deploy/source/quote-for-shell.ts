/**
 * Quotes a word for a POSIX shell, bash or zsh. Within single quotes the shell expands nothing, so only the single quote itself
 * needs care: it ends the quotes, stands alone with a backslash, and starts them again.
 */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
