/** The command line: finds the command, parses its arguments, and turns errors into messages and exit codes. */

import { closest } from "../../core/domain/wire/closest.ts";
import { isExplained } from "./client.ts";
import { type CommandEntry, columns, commandHelp, entry, readInput } from "./command.ts";
import { paint } from "./terminal/colour.ts";
import { Cancelled, INTERRUPTED, type Io, print, say, UsageError } from "./terminal/io.ts";
import { sayError } from "./terminal/safe-text.ts";

/** All commands by name. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  serve: entry("Run the platform on this machine", () => import("./server/serve.ts")),
  init: entry("Create a service from a template", () => import("./deploy/init.ts")),
  run: entry("Run a folder on this machine and redeploy it on changes", () => import("./deploy/run.ts")),
  deploy: entry("Deploy a folder", () => import("./deploy/deploy.ts")),
  list: entry("List your deployments", () => import("./deploy/list.ts"), "ls"),
  deploys: entry("List recent and running deploys", () => import("./deploy/deploys/deploys.ts")),
  attach: entry("Follow a deploy", () => import("./deploy/deploys/attach.ts")),
  cancel: entry("Cancel a running deploy", () => import("./deploy/deploys/cancel.ts")),
  status: entry("Show a deployment with its instances", () => import("./deploy/status.ts")),
  open: entry("Print the URL of a deployment, and open it in the browser", () => import("./deploy/open.ts")),
  remove: entry("Delete a deployment", () => import("./deploy/remove.ts"), "rm"),
  releases: entry("List the releases of a deployment", () => import("./deploy/releases/releases.ts")),
  diff: entry("Compare two releases of a deployment", () => import("./deploy/releases/diff.ts")),
  rollback: entry("Restore an earlier release", () => import("./deploy/releases/rollback.ts")),
  restart: entry("Restart a deployment", () => import("./deploy/releases/restart.ts")),
  env: entry("Set, remove and list the variables of a deployment", () => import("./deploy/releases/env.ts")),
  cron: entry("Run a deployment's schedule now", () => import("./schedules/cron.ts")),
  logs: entry("Show a deployment's log", () => import("./logs/logs.ts")),
  volume: {
    summary: "Manage volumes and their objects",
    load: async (words) => (await import("./volumes/volume.ts")).volumeCommand(words),
  },
  secret: {
    summary: "Manage secrets",
    load: async (words) => (await import("./secrets/secret.ts")).secretCommand(words),
  },
  domain: {
    summary: "Manage your own domains",
    load: async (words) => (await import("./domains/domain.ts")).domainCommand(words),
  },
  metrics: entry("Show the metrics of a deployment", () => import("./usage/metrics.ts")),
  cost: entry("Show the cost of AI models and infrastructure", () => import("./usage/cost.ts")),
  sql: entry("Query your logs and billing with SQL", () => import("./sql/sql.ts")),
  account: entry("Show your account's quotas and their use", () => import("./accounts/account-command.ts")),
  keys: entry("Create, list and revoke API keys", () => import("./accounts/keys.ts")),
  token: entry("Print a short-lived bearer token", () => import("./accounts/token.ts")),
  console: entry("Open the console in the browser", () => import("./accounts/console.ts")),
  login: entry("Save the platform's address and your key", () => import("./accounts/login.ts")),
  shell: entry("Open a shell in a running instance", () => import("./deploy/shell.ts")),
  prove: entry("Test that a platform works", () => import("./prove/prove.ts")),
  upgrade: entry("Upgrade the running server without downtime", () => import("./server/upgrade/upgrade-command.ts")),
  doctor: entry("Check the requirements of a platform", () => import("./server/doctor.ts")),
  backup: entry("Back up a data folder to a file", () => import("./server/backup.ts")),
  restore: entry("Restore a data folder from a backup", () => import("./server/restore.ts")),
  completion: {
    summary: "Print a completion script for bash, zsh or fish",
    load: async () => (await import("./completion/completion.ts")).completionOf(commands),
  },
  version: entry("Print the version", () => import("./server/version.ts")),
};

const find = (word: string): [string, CommandEntry] | undefined =>
  Object.entries(commands).find(([name, entry]) => name === word || entry.aliases?.includes(word) === true);

const overview = (io: Io): string =>
  [
    `${paint(io, "bold", "portside")} deploys services from source, on this machine or on a cloud.`,
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
  // Runs before the arguments are parsed, because the options of `serve` load the settings of every provider.
  if (word === "serve" && rest.includes("--supervise"))
    return (await import("./server/supervise.ts")).supervise(args, io);
  const command = await found[1].load(rest);
  const input = readInput(command, rest);
  if (!input.wantsHelp) return command.run(input, io);
  print(io, commandHelp(io, command, command.summary ?? found[1].summary));
  return 0;
};

/** Runs a command line. Resolves to the exit code: 0 success, 1 failure, 2 usage error, 130 Ctrl-C. */
export const runProgram = async (args: readonly string[], io: Io): Promise<number> => {
  try {
    return await dispatch(args, io);
  } catch (error) {
    const known = error instanceof UsageError || isExplained(error);
    // Prints no message after Ctrl-C: the user knows why the command ends.
    if (!known && io.signal.aborted) return INTERRUPTED;
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Cancelled) {
      say(io, message);
      return 1;
    }
    sayError(io, message);
    if (args.includes("--debug") && error instanceof Error) say(io, error.stack);
    else if (!known) say(io, "This is a bug in Portside. Run the command again with --debug and report the output.");
    return error instanceof UsageError ? 2 : 1;
  }
};
