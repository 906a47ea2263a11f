/** The command line accepts the examples in its own help. */
import { describe, expect, test } from "vitest";
import { type Command, listCommands, readInput } from "../../hosts/cli/command.ts";
import { commands } from "../../hosts/cli/program.ts";

/** Splits a command like a shell. */
const wordsOf = (line: string): string[] => (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ""));

const commandOf = (words: readonly string[]): Promise<Command> | undefined =>
  commands[words[0] ?? ""]?.load(words.slice(1));

const all = (await listCommands(commands)).map(({ name, command }) => [name, command] as const);

describe.each(all)("portside %s", (name, command) => {
  test("has an example", () => {
    for (const example of command.examples) expect(`${example} `).toMatch(new RegExp(`^${name} `));
    expect(command.examples.length).toBeGreaterThan(0);
  });

  test.each(command.examples)("%s", async (example) => {
    const words = wordsOf(example);
    const own = (await commandOf(words)) as Command;
    expect(readInput(own, words.slice(1)).wantsHelp).toBe(false);
  });
});
