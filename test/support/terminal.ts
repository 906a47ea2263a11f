/** A terminal for commands under test: what they print is kept, what they are asked comes from the test. */
import { Readable } from "node:stream";
import type { Io } from "../../hosts/cli/io.ts";
import { runProgram } from "../../hosts/cli/program.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  /** Output goes to a terminal of this width. */
  readonly columns?: number;
  /** Told of every piece of standard output as it comes. */
  readonly onOutput?: (text: string) => void;
}

const sink = (columns: number | undefined, onOutput?: (text: string) => void) => {
  const written: string[] = [];
  const write = (text: string) => {
    written.push(text);
    onOutput?.(text);
  };
  return { write, isTTY: columns !== undefined, columns, text: () => written.join("") };
};

/** A terminal, or a pipe where it has no width, and what was written to it. */
export const terminal = (options: RunOptions = {}) => {
  const stdout = sink(options.columns, options.onOutput);
  const stderr = sink(options.columns);
  const io: Io = {
    stdout,
    stderr,
    stdin: Readable.from(options.stdin === undefined ? [] : [options.stdin]) as unknown as NodeJS.ReadStream,
    env: { HOME: "/nonexistent", ...options.env },
    cwd: options.cwd ?? process.cwd(),
    signal: options.signal ?? new AbortController().signal,
  };
  return { io, stdout: stdout.text, stderr: stderr.text };
};

/** Runs a command line in this process, as a pipe would, or as a terminal of some width. */
export const portside = async (args: readonly string[], options: RunOptions = {}): Promise<Ran> => {
  const { io, stdout, stderr } = terminal(options);
  const code = await runProgram(args, io);
  return { code, stdout: stdout(), stderr: stderr() };
};
