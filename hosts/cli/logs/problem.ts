/** A refused filter with its place shown: the words of the platform name it by a number alone. */

import { plainText } from "../terminal/control-characters.ts";
import { CommandError } from "../terminal/io.ts";

/** How much of a long filter is shown on each side. */
const AROUND = 40;

/** What shows nothing, or several columns, would move the mark. */
const oneColumn = (character: string): string =>
  plainText(character) === character && character !== "\t" ? character : "�";

/** The filter's line with a mark under a character, counted from 1; empty where the filter has no such place. */
export const markedFilter = (filter: string, position: number): string => {
  const characters = [...filter];
  if (position < 1 || position > characters.length + 1) return "";
  const at = position - 1;
  const from = Math.max(characters.lastIndexOf("\n", at - 1) + 1, at - AROUND);
  const newline = characters.indexOf("\n", at);
  const to = Math.min(newline < 0 ? characters.length : newline, at + AROUND);
  const cut = from > 0 && characters[from - 1] !== "\n" ? "…" : "";
  const shown = cut + characters.slice(from, to).map(oneColumn).join("");
  return `  ${shown}\n  ${" ".repeat(cut.length + at - from)}^`;
};

/** The same error; where it is about the filter, with the filter. */
export const withFilter = (error: unknown, filter: string | undefined): unknown => {
  if (!(error instanceof CommandError) || filter === undefined) return error;
  const position = /^ *query: at position (\d+):/m.exec(error.message)?.[1];
  const mark = position === undefined ? "" : markedFilter(filter, Number(position));
  return mark === "" ? error : new CommandError(`${error.message}\n${mark}`);
};
