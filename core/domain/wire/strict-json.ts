/**
 * Parses JSON and rejects duplicate keys. `JSON.parse` silently keeps only the last value of a duplicate key.
 *
 * `JSON.parse` checks the syntax. A second pass over the text finds duplicate keys and deep nesting.
 */

/** The result of `parseStrictJson`: the value, or a message that follows the field's name. */
export type StrictJson =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

const MAX_DEPTH = 64;

/** Returns the end of the string literal that opens at `start`. `JSON.parse` must have accepted the text. */
const stringEnd = (text: string, start: number): number => {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
};

interface Level {
  /** The keys so far; undefined inside an array. */
  readonly keys: Set<string> | undefined;
  expectsKey: boolean;
}

/** Records a key of the innermost object. Returns a message if the object already has the key. */
const seeString = (level: Level | undefined, literal: string): string | undefined => {
  if (level?.keys === undefined || !level.expectsKey) return undefined;
  level.expectsKey = false;
  const key = JSON.parse(literal) as string;
  if (level.keys.has(key)) return `repeats the key ${JSON.stringify(key)}; keep one`;
  level.keys.add(key);
  return undefined;
};

const seeMark = (levels: Level[], mark: string): void => {
  const level = levels.at(-1);
  if (mark === "{") levels.push({ keys: new Set(), expectsKey: true });
  else if (mark === "[") levels.push({ keys: undefined, expectsKey: false });
  else if (mark === "}" || mark === "]") levels.pop();
  else if (mark === "," && level !== undefined) level.expectsKey = level.keys !== undefined;
};

const hiddenProblem = (text: string): string | undefined => {
  const levels: Level[] = [];
  for (let at = 0; at < text.length; ) {
    const char = text[at] as string;
    const end = char === '"' ? stringEnd(text, at) : at + 1;
    if (char !== '"') seeMark(levels, char);
    else {
      const problem = seeString(levels.at(-1), text.slice(at, end));
      if (problem !== undefined) return problem;
    }
    if (levels.length > MAX_DEPTH) return `is nested deeper than ${MAX_DEPTH} levels`;
    at = end;
  }
  return undefined;
};

/** Parses JSON text. Fails on duplicate keys and on nesting deeper than 64 levels. */
export const parseStrictJson = (text: string): StrictJson => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const detail = (error as SyntaxError).message.replace(/, (?:\.\.\.)?"[\s\S]*/, "");
    return { ok: false, message: `is not valid JSON: ${detail}` };
  }
  const problem = hiddenProblem(text);
  return problem === undefined ? { ok: true, value } : { ok: false, message: problem };
};
