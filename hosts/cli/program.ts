/** The command line: finds the command, parses its arguments, and turns errors into messages and exit codes. */

import { closest } from "../../core/domain/wire/closest.ts";
import { type CommandEntry, columns, commandHelp, readInput } from "./command.ts";
import { paint } from "./terminal/colour.ts";
import { Cancelled, CommandError, INTERRUPTED, type Io, print, say, UsageError } from "./terminal/io.ts";
import { safeText } from "./terminal/safe-text.ts";

/** All commands by name. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: {
    summary: "Run the platform on this machine",
    load: async () => (await import("./server/serve.ts")).serve,
  },
  init: { summary: "Create a service from a template", load: async () => (await import("./deploy/init.ts")).init },
  run: {
    summary: "Run a folder on this machine and redeploy it on changes",
    load: async () => (await import("./deploy/run.ts")).runCommand,
  },
  deploy: { summary: "Deploy a folder", load: async () => (await import("./deploy/deploy.ts")).deploy },
  list: {
    summary: "List your deployments",
    aliases: ["ls"],
    load: async () => (await import("./deploy/list.ts")).list,
  },
  remove: {
    summary: "Delete a deployment",
    aliases: ["rm"],
    load: async () => (await import("./deploy/remove.ts")).remove,
  },
  logs: { summary: "Show a deployment's log", load: async () => (await import("./logs/logs.ts")).logs },
  volume: {
    summary: "Manage volumes and their objects",
    load: async (words) => (await import("./volumes/volume.ts")).volumeCommand(words),
  },
  cost: {
    summary: "Show the cost of models and infrastructure",
    load: async () => (await import("./usage/cost.ts")).cost,
  },
  sql: {
    summary: "Query your logs and billing with SQL",
    load: async () => (await import("./sql/sql.ts")).sql,
  },
  keys: { summary: "Create, list and revoke API keys", load: async () => (await import("./accounts/keys.ts")).keys },
  token: {
    summary: "Print a short-lived bearer token",
    load: async () => (await import("./accounts/token.ts")).token,
  },
  login: {
    summary: "Save the platform's address and your key",
    load: async () => (await import("./accounts/login.ts")).login,
  },
  shell: {
    summary: "Open a shell in a running instance",
    load: async () => (await import("./deploy/shell.ts")).shell,
  },
  doctor: {
    summary: "Check the requirements of a platform",
    load: async () => (await import("./server/doctor.ts")).doctor,
  },
  backup: {
    summary: "Back up a data folder to a file",
    load: async () => (await import("./server/backup.ts")).backup,
  },
  restore: {
    summary: "Restore a data folder from a backup",
    load: async () => (await import("./server/restore.ts")).restore,
  },
  completion: {
    summary: "Print a completion script for bash, zsh or fish",
    load: async () => (await import("./completion/completion.ts")).completionOf(commands),
  },
  version: { summary: "Print the version", load: async () => (await import("./server/version.ts")).version },
};

const find = (word: string): [string, CommandEntry] | undefined =>
  Object.entries(commands).find(([name, entry]) => name === word || entry.aliases?.includes(word) === true);

const overview = (io: Io): string =>
  [
    `${paint(io, "bold", "portside")} deploys services from source, here or on a cloud.`,
    "",
    `${paint(io, "bold", "Usage:")} portside COMMAND [options]`,
    "",
    columns(
      Object.entries(commands).map(
        ([name, { summary, aliases = [] }]) => [[name, ...aliases].join(", "), summary] as const,
      ),
    ),
    "",
    "Run 'portside COMMAND --help' for the options of a command.",
  ].join("\n");

const unknownCommand = (word: string): UsageError => {
  const near = closest(word, Object.keys(commands));
  return new UsageError(
    `Unknown command '${word}'. ${near === undefined ? "See portside --help." : `Did you mean '${near}'?`}`,
  );
};

const dispatch = async (args: readonly string[], io: Io): Promise<number> => {
  const [word = "--help", ...rest] = args;
  if (word === "help" && rest[0] !== undefined && !rest[0].startsWith("-")) return dispatch([...rest, "--help"], io);
  if (["--help", "-h", "help"].includes(word)) {
    print(io, overview(io));
    return args.length === 0 ? 2 : 0;
  }
  const found = find(["--version", "-V"].includes(word) ? "version" : word);
  if (found === undefined) throw unknownCommand(word);
  const command = await found[1].load(rest);
  const input = readInput(command, rest);
  if (!input.wantsHelp) return command.run(input, io);
  print(io, commandHelp(io, command, found[1].summary));
  return 0;
};

/** Runs a command line. Resolves to the exit code: 0 success, 1 rejected by the platform, 2 usage error, 130 Ctrl-C. */
export const runProgram = async (args: readonly string[], io: Io): Promise<number> => {
  try {
    return await dispatch(args, io);
  } catch (error) {
    const known = error instanceof UsageError || error instanceof CommandError;
    // Prints no message after Ctrl-C: the user knows why the command ends.
    if (!known && io.signal.aborted) return INTERRUPTED;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Cancelled) {
      say(io, message);
      return 1;
    }
    say(io, `${paint(io, "red", "error:", io.stderr)} ${safeText(io, message, io.stderr)}`);
    if (args.includes("--debug") && error instanceof Error) say(io, error.stack);
    else if (!known) say(io, "This is a bug in Portside. Run the command again with --debug and report the output.");
    return error instanceof UsageError ? 2 : 1;
  }
};
