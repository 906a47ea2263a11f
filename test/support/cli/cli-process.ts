/** The command line as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";

const repository = join(import.meta.dirname, "..", "..", "..");

export interface CliProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>;
}

export const startCli = (
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  node: string[] = [],
  stdin: "ignore" | "pipe" = "ignore",
): CliProcess => {
  const child = spawn(process.execPath, [...node, join(repository, "hosts/cli/main.ts"), ...args], {
    cwd,
    env: { PATH: process.env["PATH"], HOME: cwd, ...env },
    stdio: [stdin, "pipe", "pipe"],
  });
  const all = Promise.all([once(child, "close"), text(child.stdout as Readable), text(child.stderr as Readable)]);
  return { child, ended: all.then(([[code], stdout, stderr]) => ({ code: code as number | null, stdout, stderr })) };
};

/** Runs the command line to its end. Resolves with its peak memory in bytes. */
export const peakOfCli = async (args: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<number> => {
  const file = join(cwd, "peak");
  const report = ["--import", new URL("../crashes/peak-report.ts", import.meta.url).href];
  const { code, stderr } = await startCli(args, { ...env, PORTSIDE_TEST_PEAK: file }, cwd, report).ended;
  if (code !== 0) throw new Error(`portside ${args.join(" ")} ended with ${code}: ${stderr}`);
  return Number(readFileSync(file, "utf8"));
};
