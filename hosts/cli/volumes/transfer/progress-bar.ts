/** Shows the progress of a transfer as one line on a terminal. Prints nothing in a pipe. */
import { paint } from "../../terminal/colour.ts";
import type { Io } from "../../terminal/io.ts";
import { formatDuration, formatSize } from "./format.ts";

export interface Progress {
  readonly name: string;
  readonly done: number;
  /** Undefined if unknown. */
  readonly total: number | undefined;
  /** Bytes per second; undefined until there are two measurements. */
  readonly rate: number | undefined;
}

const CELLS = 10;
const EMPTY_NAME = 8;

const share = (done: number, total: number): string => {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const full = Math.floor(part * CELLS);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `${percent} % ▕${"█".repeat(full)}${" ".repeat(CELLS - full)}▏ ${formatSize(done)} of ${formatSize(total)}`;
};

const formatTimeLeft = ({ done, total, rate }: Progress): string[] =>
  total === undefined || rate === undefined || rate <= 0 ? [] : [`${formatDuration((total - done) / rate)} left`];

/** Formats the line in at most `columns` columns. */
export const barLine = (progress: Progress, columns: number): string => {
  const { name, done, total, rate } = progress;
  const figures = [
    total === undefined ? formatSize(done) : share(done, total),
    ...(rate === undefined ? [] : [`${formatSize(rate)}/s`]),
    ...formatTimeLeft(progress),
  ].join("  ");
  const room = Math.max(EMPTY_NAME, columns - figures.length - 2);
  const shown = name.length > room ? `${name.slice(0, room - 1)}…` : name;
  return `${shown}  ${figures}`.slice(0, columns);
};

/** The rate is the average over this period, so that it follows changes in the speed of the connection. */
const WINDOW_MS = 5000;
const DRAW_MS = 100;

export class ProgressBar {
  readonly #io: Io;
  readonly #now: () => number;
  readonly #seen: { readonly at: number; readonly done: number }[] = [];
  #name = "";
  #done = 0;
  #total: number | undefined;
  #drawn = Number.NEGATIVE_INFINITY;

  constructor(io: Io, name: string, total: number | undefined, now: () => number = () => performance.now()) {
    this.#io = io;
    this.#name = name;
    this.#total = total;
    this.#now = now;
  }

  rename(name: string): void {
    this.#name = name;
  }

  /** Adds bytes of an earlier transfer. They count as done but not towards the rate. */
  skip(bytes: number): void {
    if (bytes === 0) return;
    this.#done += bytes;
    this.#seen.length = 0;
    this.#draw();
  }

  expect(total: number | undefined): void {
    this.#total = total;
  }

  /** Adds transferred bytes. A negative number subtracts the bytes of an attempt that starts over. */
  move(bytes: number): void {
    this.#done += bytes;
    this.#draw();
  }

  end(): void {
    if (this.#drawn > Number.NEGATIVE_INFINITY) this.#io.stderr.write("\r\u001b[2K");
    this.#drawn = Number.NEGATIVE_INFINITY;
  }

  [Symbol.dispose](): void {
    this.end();
  }

  #rate(now: number): number | undefined {
    this.#seen.push({ at: now, done: this.#done });
    while (this.#seen.length > 2 && now - (this.#seen[1]?.at ?? now) > WINDOW_MS) this.#seen.shift();
    const [first] = this.#seen;
    return first === undefined || first.at === now
      ? undefined
      : Math.max(0, ((this.#done - first.done) / (now - first.at)) * 1000);
  }

  #draw(): void {
    const { stderr } = this.#io;
    const now = this.#now();
    if (stderr.isTTY !== true || now - this.#drawn < DRAW_MS) return;
    this.#drawn = now;
    const progress = { name: this.#name, done: this.#done, total: this.#total, rate: this.#rate(now) };
    stderr.write(`\r\u001b[2K${paint(this.#io, "dim", barLine(progress, (stderr.columns ?? 80) - 1), stderr)}`);
  }
}
