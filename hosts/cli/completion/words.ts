/** Completion candidates for a command's arguments, shared by the scripts of all shells. */
import type { Option } from "../arguments.ts";
import { type Command, commonOptions, type ListedCommand } from "../command.ts";

export type Values = { readonly words: readonly string[] } | "files" | "folders" | "none";

/** Returns how to complete an option's value. */
export const valuesOf = ({ choices, value }: Option): Values => {
  if (choices !== undefined) return { words: choices };
  return value === "FILE" ? "files" : value === "DIR" ? "folders" : "none";
};

export const optionsOf = ({ options }: Command): readonly (readonly [string, Option])[] =>
  Object.entries({ ...options, ...commonOptions });

/** Returns whether positional arguments are local paths, judging by the placeholders in the usage. */
export const takesFiles = ({ usage }: Command): boolean =>
  /\b(DIR|FILE|SOURCE|DEST)\b/.test(usage.replace(/-[\w-]+ \w+/g, ""));

/** Returns the words that may follow the command: subcommands, or choices of its first argument. */
export const nextWords = ({ subcommands, choices }: Command): readonly string[] =>
  subcommands === undefined ? (choices ?? []) : Object.keys(subcommands);

/** Returns the name of a command, such as `volume put`, and its aliases. */
export const namesOf = ({ name, aliases }: ListedCommand): readonly string[] => [name, ...aliases];
