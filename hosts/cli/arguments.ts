/** Prepares a command's arguments for parseArgs of node:util. */

export interface Option {
  readonly type: "string" | "boolean";
  readonly short?: string;
  readonly multiple?: boolean;
  /** The value is optional and defaults to "". The next argument is the value only if it matches this pattern. */
  readonly optional?: RegExp;
  /** The valid values, for shell completion. */
  readonly choices?: readonly string[] | undefined;
  /** The placeholder for the value in the help. Shells complete paths for FILE and DIR. */
  readonly value?: string;
  readonly description: string;
}

export type Options = Readonly<Record<string, Option>>;

/** An option that takes a value. The help shows `value` as its placeholder. */
export const option = (
  value: string,
  description: string,
  more: Omit<Option, "type" | "value" | "description"> = {},
): Option => ({ type: "string", value, description, ...more });

/** An option without a value. */
export const flag = (description: string, short?: string): Option => ({
  type: "boolean",
  description,
  ...(short === undefined ? {} : { short }),
});

/** Returns the option that takes the next argument as its value: `--query`, `-q`, or the last letter of `-fq`. */
const waitsForValue = (word: string, options: Options): { name: string; before: string } | undefined => {
  const entries = Object.entries(options);
  const long = /^--([a-z-]+)$/.exec(word)?.[1];
  if (long !== undefined) return options[long]?.type === "string" ? { name: long, before: "" } : undefined;
  const letters = /^-([A-Za-z]+)$/.exec(word)?.[1];
  if (letters === undefined) return undefined;
  const found = [...letters].map((letter) => entries.find(([, { short }]) => short === letter));
  const last = found.at(-1);
  const flags = found.slice(0, -1).every((one) => one?.[1].type === "boolean");
  if (!flags || last?.[1].type !== "string") return undefined;
  return { name: last[0], before: letters.slice(0, -1) };
};

const isOption = (word: string, options: Options): boolean =>
  Object.entries(options).some(([name, { short }]) => word === `--${name}` || word === `-${short}`);

/**
 * Joins each option and its value, because parseArgs would parse a value that begins with `-` as an option, as in `-q
 * '-logName=requests'`. If the next word is itself an option of the command, the user forgot the value, so the words
 * stay separate.
 */
export const joinValues = (args: readonly string[], options: Options): string[] => {
  const joined: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const [word, next] = [args[at] as string, args[at + 1]];
    if (word === "--") return [...joined, ...args.slice(at)];
    const waiting = waitsForValue(word, options);
    const optional = waiting === undefined ? undefined : options[waiting.name]?.optional;
    if (waiting !== undefined && optional?.test(next ?? "") === false) {
      joined.push(...(waiting.before === "" ? [] : [`-${waiting.before}`]), `--${waiting.name}=`);
      continue;
    }
    if (waiting === undefined || next === undefined || isOption(next, options)) {
      joined.push(word);
      continue;
    }
    if (waiting.before !== "") joined.push(`-${waiting.before}`);
    joined.push(`--${waiting.name}=${next}`);
    at++;
  }
  return joined;
};
