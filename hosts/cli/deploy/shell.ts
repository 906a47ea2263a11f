/** `portside shell NAME` */

import { spawn } from "node:child_process";
import { constants } from "node:os";
import type { Writable } from "node:stream";
import type { ExecTarget, ExecTargets } from "../../composition/exec-targets.ts";
import { option } from "../arguments.ts";
import type { Command } from "../command.ts";
import { CommandError, type Io, say } from "../terminal/io.ts";

const noInstanceError = (name: string, { services, isDeployed }: ExecTargets): CommandError => {
  if (services.includes(name))
    return new CommandError(`No permission to enter '${name}'. Run the command as the platform's user, or with sudo.`);
  if (isDeployed !== false) return new CommandError(`No instance of '${name}' is running. Call its URL to start one.`);
  const others = services.length === 0 ? "" : ` Running deployments: ${services.join(", ")}.`;
  return new CommandError(`The deployment '${name}' does not exist on this machine.${others}`);
};

/** Runs the shell. Resolves to its exit code. */
const enter = ({ file, args, env, cwd, descriptors = [] }: ExecTarget, io: Io): Promise<number> =>
  new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      stdio: ["inherit", "inherit", "inherit", ...descriptors.map((one) => ("open" in one ? one.open : "pipe"))],
      env: env ?? io.env,
      ...(cwd === undefined ? {} : { cwd }),
    });
    for (const [index, one] of descriptors.entries()) {
      if ("open" in one) continue;
      const input = child.stdio[index + 3] as Writable;
      // The program may exit before it reads all input. Its exit code gives the reason.
      input.on("error", () => undefined);
      input.end(one.input);
    }
    child.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new CommandError(`'${file}' is not installed. Install it to enter the instance.`)
          : error,
      ),
    );
    child.once("exit", (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });

export const command: Command = {
  usage: "shell NAME [--data-dir DIR]",
  options: { "data-dir": option("DIR", "Set the server's data folder") },
  positionals: { min: 1, max: 1 },
  examples: ["shell hello"],
  notes: [
    "Run this command on the server's machine. The shell has the instance's files, processes and environment.",
    "When the instance stops, it loses changes outside its volumes. Programs in the instance can control your terminal.",
    "On Cloud Run, use 'gcloud beta run services ssh'. On ECS, use 'aws ecs execute-command' if it is enabled.",
  ],
  run: async (input, io) => {
    const name = input.positionals[0] as string;
    const { execTargetsOf, ExecTargetRefused } = await import("../../composition/exec-targets.ts");
    const isTerminal = io.stdin.isTTY === true;
    const folder = { dataDir: input.text("data-dir") };
    const targets = await execTargetsOf(name, folder, io.env, isTerminal).catch((error: unknown) => {
      throw error instanceof ExecTargetRefused ? new CommandError(error.message) : error;
    });
    const { found } = targets;
    const [first] = found;
    if (first === undefined) throw noInstanceError(name, targets);
    const others = found.length > 1 ? `, one of ${found.length}` : "";
    say(io, `Entering '${name}' (${first.kind}${others}). Leave with 'exit'.`);
    return enter(first, io);
  },
};
