/** The commands of the palette, and the search among them. */

export interface Command {
  readonly id: string;
  readonly label: string;
  /** The kind of the command, such as `Page`. */
  readonly group: string;
  readonly run: () => void;
}

/** Returns 0 if the text starts with the word, 1 if one of its words does, 2 if it contains it; undefined otherwise. */
const rankOf = (text: string, word: string): number | undefined => {
  if (text.startsWith(word)) return 0;
  if (text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word))) return 1;
  return text.includes(word) ? 2 : undefined;
};

/**
 * Returns the commands that contain every word of the search, best matches first. Ignores letter case. Keeps the order
 * of equal matches.
 */
export const findCommands = (commands: readonly Command[], search: string, max: number): readonly Command[] => {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const ranked = commands.flatMap((command) => {
    const ranks = words.map((word) => rankOf(command.label.toLowerCase(), word));
    return ranks.includes(undefined) ? [] : [{ command, rank: Math.max(0, ...(ranks as number[])) }];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, max)
    .map(({ command }) => command);
};
