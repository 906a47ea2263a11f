/** The terminal as commands see it; tests hand them another one. */
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
  /** Relative paths are taken against this. */
  readonly cwd: string;
  /** Aborts at the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

export const print = (io: Io, text = ""): void => void io.stdout.write(`${text}\n`);
/** To standard error: what is about the command, not its result. */
export const say = (io: Io, text = ""): void => void io.stderr.write(`${text}\n`);

export const printJson = (io: Io, value: unknown): void => print(io, safeJson(value));

/** The exit code of what Ctrl-C ended, as shells report it. */
export const INTERRUPTED = 130;

/** The command was written wrongly: exit code 2. */
export class UsageError extends Error {}

/** The platform said no, or could not be reached: exit code 1. */
export class CommandError extends Error {}

/** The user said no: exit code 1. */
export class Cancelled extends CommandError {
  constructor() {
    super("Cancelled.");
  }
}

/** For a platform that could not be started: its own words are for people. */
export const cannotStart = (error: unknown): never => {
  throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
};

/** Reads one line of standard input; undefined where it ends before. */
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

/** Asks before something that cannot be undone; without a terminal it must be said with -y. */
export const confirm = async (io: Io, question: string, yes: boolean): Promise<void> => {
  if (yes) return;
  if (io.stdin.isTTY !== true) throw new UsageError(`${question} Say yes with -y.`);
  io.stderr.write(`${question} [y/N] `);
  const answer = await readAnswer(io);
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new Cancelled();
};

/** Asks for a secret; on a terminal it is not shown. Otherwise it is the first line of standard input. */
export const askSecret = async (io: Io, question: string): Promise<string> => {
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
