/** Marks the error position in a rejected filter. The platform's message contains the position only as a number. */

import { isExplained } from "../client.ts";
import { plainText } from "../terminal/control-characters.ts";
import { CommandError } from "../terminal/io.ts";

/** The number of characters shown on each side of the mark in a long filter. */
const AROUND = 40;

/** Replaces control characters and tabs, which would misplace the mark. */
const oneColumn = (character: string): string =>
  plainText(character) === character && character !== "\t" ? character : "�";

/** Returns the filter's line with a mark under the character at `position` (from 1), or "" if out of range. */
export const markFilter = (filter: string, position: number): string => {
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

/** Adds the marked filter to an error about the filter. Returns other errors unchanged. */
export const withMarkedFilter = (error: unknown, filter: string | undefined): unknown => {
  if (!isExplained(error) || filter === undefined) return error;
  const position = /^ *query: at position (\d+):/m.exec(error.message)?.[1];
  const mark = position === undefined ? "" : markFilter(filter, Number(position));
  return mark === "" ? error : new CommandError(`${error.message}\n${mark}`);
};
