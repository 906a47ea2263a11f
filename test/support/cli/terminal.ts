/** A terminal for commands under test: it records their output and answers their prompts from the test. */
import { Readable } from "node:stream";
import { runProgram } from "../../../hosts/cli/program.ts";
import type { Io } from "../../../hosts/cli/terminal/io.ts";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  /** Standard input is a terminal with this text typed, in one or several chunks. */
  readonly typed?: string | readonly (string | Uint8Array)[];
  readonly signal?: AbortSignal;
  /** Output goes to a terminal of this width. */
  readonly columns?: number;
  /** Called with every chunk of standard output. */
  readonly onOutput?: (text: string) => void;
  /** Called with every chunk of standard error. */
  readonly onError?: (text: string) => void;
}

const sink = (columns: number | undefined, onOutput?: (text: string) => void) => {
  const written: Uint8Array[] = [];
  const write = (piece: string | Uint8Array) => {
    written.push(Buffer.from(piece));
    onOutput?.(piece.toString());
  };
  return { write, isTTY: columns !== undefined, columns, text: () => Buffer.concat(written).toString() };
};

const stdinOf = ({ stdin, typed }: RunOptions): NodeJS.ReadStream => {
  const input = typed ?? stdin ?? [];
  const chunks = typeof input === "string" || input instanceof Uint8Array ? [input] : input;
  const stream = Readable.from(chunks);
  const terminal = { isTTY: typed !== undefined, setRawMode: () => stream };
  return Object.assign(stream, terminal) as unknown as NodeJS.ReadStream;
};

/** A terminal, or a pipe if it has no width, and its recorded output. */
export const terminal = (options: RunOptions = {}) => {
  const stdout = sink(options.columns, options.onOutput);
  const stderr = sink(options.columns, options.onError);
  const io: Io = {
    stdout,
    stderr,
    stdin: stdinOf(options),
    env: { HOME: "/nonexistent", ...options.env },
    cwd: options.cwd ?? process.cwd(),
    signal: options.signal ?? new AbortController().signal,
  };
  return { io, stdout: stdout.text, stderr: stderr.text };
};

/** Runs a command line in this process, with pipes or with a terminal of some width. */
export const portside = async (args: readonly string[], options: RunOptions = {}): Promise<CommandResult> => {
  const { io, stdout, stderr } = terminal(options);
  const code = await runProgram(args, io);
  return { code, stdout: stdout(), stderr: stderr() };
};
