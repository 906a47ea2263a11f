/** Records the output of a terminal: every row with the colours of its cells, and its time. */
import xterm from "@xterm/headless";

export interface Run {
  readonly column: number;
  readonly text: string;
  readonly bold: boolean;
  readonly dim: boolean;
  /** One of the terminal's sixteen colours; undefined for the default. */
  readonly colour: number | undefined;
}

export interface Row {
  readonly runs: readonly Run[];
  /** Seconds since the start of the recording. */
  readonly at: number;
}

export const COLUMNS = 100;
const MOST_ROWS = 200;

export class Recording {
  readonly #terminal = new xterm.Terminal({ cols: COLUMNS, rows: MOST_ROWS, convertEol: true, allowProposedApi: true });
  readonly #begun = performance.now();
  readonly #seen: number[] = [];
  #pauses = 0;
  #last: Promise<void> = Promise.resolve();

  write(text: string): void {
    const at = (performance.now() - this.#begun) / 1000 + this.#pauses;
    this.#last = new Promise((resolve) => {
      this.#terminal.write(text, () => {
        const { cursorX, cursorY } = this.#terminal.buffer.active;
        const begun = cursorX === 0 ? cursorY : cursorY + 1;
        while (this.#seen.length < begun) this.#seen.push(at);
        resolve();
      });
    });
  }

  /** Pauses, so that viewers have time to read. */
  pause(seconds: number): void {
    this.#pauses += seconds;
  }

  /** Returns the complete screen after all output is drawn. */
  async rows(): Promise<Row[]> {
    await this.#last;
    const rows = this.#seen.map((at, row) => ({ at, runs: this.#runsOf(row) }));
    return rows.slice(0, rows.findLastIndex(({ runs }) => runs.length > 0) + 1);
  }

  #runsOf(row: number): Run[] {
    const line = this.#terminal.buffer.active.getLine(row);
    const runs: Run[] = [];
    for (let column = 0; column < COLUMNS; column++) {
      const cell = line?.getCell(column);
      if (cell === undefined || cell.getWidth() === 0) continue;
      const style = {
        bold: cell.isBold() !== 0,
        dim: cell.isDim() !== 0,
        colour: cell.isFgPalette() ? cell.getFgColor() : undefined,
      };
      const text = cell.getChars() || " ";
      const last = runs.at(-1);
      const same =
        last !== undefined && last.bold === style.bold && last.dim === style.dim && last.colour === style.colour;
      if (same) runs[runs.length - 1] = { ...last, text: last.text + text };
      else runs.push({ column, text, ...style });
    }
    const trimmed = runs.map((run) => ({ ...run, text: run.text.trimEnd() }));
    return trimmed.filter(({ text }) => text !== "");
  }
}
