/** The commands' terminal interface. Tests replace it. */
import { on } from "node:events";
import { setTimeout } from "node:timers/promises";
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

/** The user declined, or pressed Ctrl-C at a prompt without echo: exit code 1. */
export class Cancelled extends CommandError {
  constructor() {
    super("Cancelled.");
  }
}

/** Rethrows a platform's startup error as a `CommandError`, because its message is written for users. */
export const cannotStart = (error: unknown): never => {
  throw new CommandError(error instanceof Error ? error.message : String(error), { cause: error });
};

/** Reads one line of standard input; undefined if the input ends first. Throws after Ctrl-C. */
const readAnswer = async (io: Io): Promise<string | undefined> => {
  const { createInterface } = await import("node:readline");
  const lines = createInterface({ input: io.stdin, signal: io.signal });
  try {
    for await (const line of lines) return line;
    io.signal.throwIfAborted();
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

const utf8 = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Decodes standard input without changing it: keeps a byte order mark, and fails if a byte is not UTF-8.
 * @param decoder set for a chunk, which may end within a character
 */
export const decodeInput = (bytes: Uint8Array, decoder?: ReturnType<typeof utf8>): string => {
  try {
    return (decoder ?? utf8()).decode(bytes, { stream: decoder !== undefined });
  } catch (cause) {
    throw new CommandError("The value is not valid UTF-8. Encode it as base64, and decode it in your service.", {
      cause,
    });
  }
};

/** A terminal delivers a paste in several chunks. Each follows the previous one within this time. */
const PASTE_GAP_MS = 100;

/** Reads the rest of a multi-line paste. The shell would run unread lines as commands. */
const restOfPaste = async (chunks: AsyncIterator<unknown[]>): Promise<string> => {
  let rest = "";
  for (;;) {
    const timer = new AbortController();
    const next = await Promise.race([chunks.next(), setTimeout(PASTE_GAP_MS, undefined, { signal: timer.signal })]);
    timer.abort();
    if (next === undefined || next.done === true) return rest;
    rest += String(next.value[0]);
  }
};

/**
 * Prompts for one line without echo on a terminal. Otherwise reads the first line of standard input. Does not trim it.
 * @param instead what to do if the input has several lines
 */
export const promptSecret = async (io: Io, question: string, instead: string): Promise<string> => {
  if (io.stdin.isTTY !== true) return (await readAnswer(io)) ?? "";
  io.stderr.write(question);
  io.stdin.setRawMode(true);
  const decoder = utf8();
  const chunks = on(io.stdin, "data", { close: ["end"] });
  const typed: string[] = [];
  try {
    for await (const [chunk] of chunks) {
      const text = decodeInput(Buffer.from(chunk), decoder);
      const [line = ""] = text.split(/[\r\n]/, 1);
      for (const key of line) {
        if (key === "\u0003") throw new Cancelled();
        if (key === "\u007f") typed.pop();
        else typed.push(key);
      }
      if (line.length === text.length) continue;
      const rest = text.slice(line.length) + (await restOfPaste(chunks));
      if (!/^(\r\n|\r|\n)$/.test(rest)) throw new CommandError(`The prompt takes one line. ${instead}`);
      break;
    }
    return typed.join("");
  } finally {
    io.stdin.setRawMode(false);
    io.stdin.pause();
    io.stderr.write("\n");
  }
};
