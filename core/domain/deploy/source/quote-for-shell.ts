/**
 * Quotes a word for a POSIX shell, bash or zsh. Single quotes prevent every expansion. Each single quote in the text
 * becomes `'\''`, which closes the quotes, adds an escaped quote, and opens them again.
 */
export const quoteForShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
