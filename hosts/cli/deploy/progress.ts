/**
 * Shows progress of work that takes longer than a second: an animated line on a terminal, nothing in a pipe. Also
 * prints the records of deploys.
 */
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import { canDraw, paint } from "../terminal/colour.ts";
import { indentLines, plainText } from "../terminal/control-characters.ts";
import { type Io, print, say } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const FRAME_MS = 100;
const QUIET_MS = 1000;

export class Spinner {
  readonly #io: Io;
  #timer: NodeJS.Timeout | undefined;
  #text = "";
  #since = Date.now();
  #frame = 0;
  #shown = false;

  constructor(io: Io) {
    this.#io = io;
  }

  /** Sets the description of the current step. */
  begin(text: string): void {
    this.clear();
    this.#text = plainText(text).replaceAll("\n", " ");
    this.#since = Date.now();
    if (canDraw(this.#io, this.#io.stderr)) this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref();
  }

  /** Clears the line before other output. */
  clear(): void {
    if (this.#shown) this.#io.stderr.write("\r\u001b[2K");
    this.#shown = false;
  }

  end(): void {
    this.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #draw(): void {
    const elapsed = Date.now() - this.#since;
    if (elapsed < QUIET_MS) return;
    const width = (this.#io.stderr.columns ?? 80) - 12;
    const line = `${FRAMES[this.#frame++ % FRAMES.length]} ${this.#text.slice(0, width)} ${Math.round(elapsed / 1000)} s`;
    this.#io.stderr.write(`\r\u001b[2K${paint(this.#io, "dim", line, this.#io.stderr)}`);
    this.#shown = true;
  }
}

/** Shows the text in a spinner while `work` runs. */
export const withSpinner = async <T>(io: Io, text: string, work: () => Promise<T>): Promise<T> => {
  using spinner = new Spinner(io);
  spinner.begin(text);
  return await work();
};

const styles = { BUILDING: "dim", DEPLOYING: "cyan", DONE: "green", ERROR: "red" } as const;

/** How many printed messages to remember: more than a failure's `log_tail` contains. */
const REMEMBERED = 100;

/** Returns a function that prints a deploy's records. After a failure, also prints the log lines not yet printed. */
export const recordPrinter = (io: Io): ((record: DeployEvent) => void) => {
  const printed: string[] = [];
  return ({ status, message, log_tail = [], exit_code, reason = "internal" }) => {
    print(io, `${paint(io, styles[status], status.padEnd(9))} ${indentLines(safeText(io, message), " ".repeat(10))}`);
    printed.push(message);
    if (printed.length > REMEMBERED) printed.shift();
    if (status !== "ERROR") return;
    const tail = log_tail.filter((line) => !printed.includes(line));
    for (const line of tail) say(io, `  | ${indentLines(safeText(io, line, io.stderr), "  | ")}`);
    const code = exit_code === undefined ? "" : `, exit code ${exit_code}`;
    say(io, `${paint(io, "red", "error:", io.stderr)} The deploy failed with '${reason}'${code}.`);
  };
};
