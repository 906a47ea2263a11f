/** Limits the build output in a deploy's stream. */
import type { DeployLimits } from "../accounts/limits.ts";

type OutputLimits = Pick<
  DeployLimits,
  "lineBytes" | "logTailLines" | "outputLines" | "outputBytes" | "lastOutputLines" | "lastOutputBytes"
>;

const LONG = "The build output is too long to show in full. Its last lines follow when the build ends.";

const counted = (count: number): string => count.toLocaleString("en-US");

const leftOut = (lines: number, bytes: number): string => {
  const size = bytes < 1_000_000 ? `${counted(Math.ceil(bytes / 1000))} kB` : `${counted(Math.round(bytes / 1e6))} MB`;
  return `... ${counted(lines)} ${lines === 1 ? "line" : "lines"} (${size}) of build output omitted ...`;
};

/**
 * Terminal control sequences (ECMA-48): CSI, OSC with its terminator, and short escape sequences. No repetition can
 * match the start of another sequence, so the regex reads each character a bounded number of times.
 */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d]*(?:\u0007|\u009c|\u001b\\)|\u001b[ -/]?[0-~]/g;

/** DEL, the C1 controls, and the C0 controls except tab and newline. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Removes colours, cursor movements, titles and other terminal controls. Replaces carriage returns with spaces. */
export const withoutControls = (text: string): string =>
  text.replace(SEQUENCES, "").replace(CONTROLS, (control) => (control === "\r" ? " " : ""));

/** Truncates a line of output to its limit and removes control sequences. */
export const cleanLine = (line: string, limits: Pick<DeployLimits, "lineBytes">): string =>
  line.length > limits.lineBytes ? `${withoutControls(line.slice(0, limits.lineBytes))}…` : withoutControls(line);

const sizeOf = (line: string): number => line.length + 1;

/** Passes the first part of the output through and keeps the last part for the end of the build. */
export class BuildOutput {
  readonly #limits: OutputLimits;
  readonly #tail: string[] = [];
  /** The last part; undefined until the first part is full. */
  #last: string[] | undefined;
  #lastBytes = 0;
  readonly #first = { lines: 0, bytes: 0 };
  readonly #leftOut = { lines: 0, bytes: 0 };

  constructor(limits: OutputLimits) {
    this.#limits = limits;
  }

  /** The last lines, for failure messages. */
  get tail(): readonly string[] {
    return this.#tail;
  }

  /** Adds a line. Returns the text to show now, or undefined if `end` may show the line. */
  take(whole: string): string | undefined {
    const line = cleanLine(whole, this.#limits);
    this.#tail.push(line);
    if (this.#tail.length > this.#limits.logTailLines) this.#tail.shift();
    if (this.#last !== undefined) {
      this.#keep(this.#last, line);
      return undefined;
    }
    const { lines, bytes } = this.#first;
    if (lines < this.#limits.outputLines && bytes + sizeOf(line) <= this.#limits.outputBytes) {
      this.#first.lines++;
      this.#first.bytes += sizeOf(line);
      return line;
    }
    this.#last = [];
    this.#keep(this.#last, line);
    return LONG;
  }

  /** Returns the lines to show at the end of the build. */
  end(): readonly string[] {
    const { lines, bytes } = this.#leftOut;
    const last = this.#last ?? [];
    this.#last = undefined;
    return lines === 0 ? last : [leftOut(lines, bytes), ...last];
  }

  #keep(last: string[], line: string): void {
    last.push(line);
    this.#lastBytes += sizeOf(line);
    while (last.length > this.#limits.lastOutputLines || this.#lastBytes > this.#limits.lastOutputBytes) {
      const size = sizeOf(last.shift() as string);
      this.#lastBytes -= size;
      this.#leftOut.lines++;
      this.#leftOut.bytes += size;
    }
  }
}
