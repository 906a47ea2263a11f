/** The commands' terminal interface. Tests replace it. */
import { safeJson } from "./control-characters.ts";

export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: NodeJS.ReadStream;
  readonly env: NodeJS.ProcessEnv;
  /** The base of relative paths. */
  readonly cwd: string;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

export const print = (io: Io, text = ""): void => void io.stdout.write(`${text}\n`);
/** Prints to standard error: messages about the command, not its result. */
export const say = (io: Io, text = ""): void => void io.stderr.write(`${text}\n`);

export const printJson = (io: Io, value: unknown): void => print(io, safeJson(value));

/** The exit code after Ctrl-C, as in shells. */
export const INTERRUPTED = 130;

/** The command line is invalid: exit code 2. */
export class UsageError extends Error {}

/** The command failed for a reason that the message explains: exit code 1. */
export class CommandError extends Error {}

/** The user declined: exit code 1. */
export class Cancelled extends CommandError {
  constructor() {
    super("Cancelled.");
  }
}

/** Rethrows a platform's startup error as a `CommandError`, because its message is written for users. */
export const cannotStart = (error: unknown): never => {
  throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
};

/** Reads one line of standard input; undefined if the input ends first. */
const readAnswer = async (io: Io): Promise<string | undefined> => {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: io.stdin });
  try {
    for await (const line of lines) return line;
    return undefined;
  } finally {
    lines.close();
  }
};

/** Asks for confirmation. Without a terminal, the user must pass -y. */
export const confirm = async (io: Io, question: string, yes: boolean): Promise<void> => {
  if (yes) return;
  if (io.stdin.isTTY !== true) throw new UsageError(`${question} Confirm with -y.`);
  io.stderr.write(`${question} [y/N] `);
  const answer = await readAnswer(io);
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new Cancelled();
};

/** Prompts for a secret without echo on a terminal. Otherwise reads the first line of standard input. */
export const promptSecret = async (io: Io, question: string): Promise<string> => {
  if (io.stdin.isTTY !== true) return (await readAnswer(io))?.trim() ?? "";
  io.stderr.write(question);
  io.stdin.setRawMode(true);
  let typed = "";
  try {
    for await (const chunk of io.stdin)
      for (const key of String(chunk)) {
        if (key === "\r" || key === "\n") return typed.trim();
        if (key === "\u0003") throw new Cancelled();
        typed = key === "\u007f" ? typed.slice(0, -1) : typed + key;
      }
    return typed.trim();
  } finally {
    io.stdin.setRawMode(false);
    io.stdin.pause();
    io.stderr.write("\n");
  }
};
