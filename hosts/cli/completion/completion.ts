/** `portside completion bash|zsh|fish` */
import { type Command, type CommandEntry, listCommands } from "../command.ts";
import { print, UsageError } from "../terminal/io.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;

export const shells = Object.keys(scripts) as (keyof typeof scripts)[];

/** The line to add to each shell's configuration file. */
export const activation: Readonly<Record<keyof typeof scripts, readonly [file: string, line: string]>> = {
  bash: ["~/.bashrc", 'eval "$(portside completion bash)"'],
  zsh: ["~/.zshrc, after compinit", 'eval "$(portside completion zsh)"'],
  fish: ["~/.config/fish/config.fish", "portside completion fish | source"],
};

/** @param commands the table of all commands */
export const completionOf = (commands: Readonly<Record<string, CommandEntry>>): Command => ({
  usage: `completion ${shells.join("|")}`,
  options: {},
  positionals: { min: 1, max: 1 },
  choices: shells,
  examples: shells.map((shell) => `completion ${shell}`),
  notes: [
    "Add the line for your shell to its configuration file:",
    ...shells.map((shell) => `  ${activation[shell][0].padEnd(26)}  ${activation[shell][1]}`),
  ],
  run: async (input, io) => {
    const [name] = input.positionals;
    const shell = shells.find((one) => one === name);
    if (shell === undefined) throw new UsageError(`Unknown shell '${name}'. Choose ${shells.join(", ")}.`);
    print(io, scripts[shell](await listCommands(commands)));
    return 0;
  },
});
