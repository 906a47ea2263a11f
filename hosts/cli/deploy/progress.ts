/** Shows progress of work that takes longer than a second: an animated line on a terminal, nothing in a pipe. */
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

  #draw(): void {
    const elapsed = Date.now() - this.#since;
    if (elapsed < QUIET_MS) return;
    const width = (this.#io.stderr.columns ?? 80) - 12;
    const line = `${FRAMES[this.#frame++ % FRAMES.length]} ${this.#text.slice(0, width)} ${Math.round(elapsed / 1000)} s`;
    this.#io.stderr.write(`\r\u001b[2K${paint(this.#io, "dim", line, this.#io.stderr)}`);
    this.#shown = true;
  }
}

const styles = { BUILDING: "dim", DEPLOYING: "cyan", DONE: "green", ERROR: "red" } as const;

/** Larger than the number of last lines that a failure repeats. */
const REMEMBERED = 100;

/** Prints a deploy's records as lines, and for a failure also details that were not yet printed. */
export class RecordPrinter {
  readonly #io: Io;
  readonly #printed: string[] = [];

  constructor(io: Io) {
    this.#io = io;
  }

  print(record: DeployEvent): void {
    const io = this.#io;
    const message = indentLines(safeText(io, record.message), " ".repeat(10));
    print(io, `${paint(io, styles[record.status], record.status.padEnd(9))} ${message}`);
    this.#printed.push(record.message);
    if (this.#printed.length > REMEMBERED) this.#printed.shift();
    if (record.status !== "ERROR") return;
    const tail = (record.log_tail ?? []).filter((line) => !this.#printed.includes(line));
    for (const line of tail) say(io, `  | ${indentLines(safeText(io, line, io.stderr), "  | ")}`);
    const code = record.exit_code === undefined ? "" : `, exit code ${record.exit_code}`;
    say(io, `${paint(io, "red", "error:", io.stderr)} The deploy failed with '${record.reason ?? "internal"}'${code}.`);
  }
}
