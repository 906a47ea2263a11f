/** A container's log line by line, with the engine's times; read on after a break, nothing twice. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "dockerode";
import { type Instant, splitInstant } from "../../../core/domain/instant.ts";
import { LineSplitter } from "../runner/lines.ts";
import { type Brake, paced } from "../runner/paced.ts";
import type { OnLine, OutputStream } from "../runner/runner.ts";
import { framesOf } from "./frames.ts";

/** As the engine takes it: seconds, and nine digits of them. */
const sinceOf = (instant: Instant): string => {
  const { seconds, nanos } = splitInstant(instant);
  return `${Date.parse(`${seconds}Z`) / 1000}.${String(nanos).padStart(9, "0")}`;
};

/**
 * The engine keeps only so much of a log, and works for each line: whoever prints faster than can be read is stopped in
 * between, as a full pipe would stop it. It may have ended meanwhile.
 */
const brakeOf = (container: Container): Brake => {
  let last: Promise<unknown> = Promise.resolve();
  // One after the other, for the last word must hold.
  const then = (what: () => Promise<unknown>) => {
    last = last.then(what).catch(() => undefined);
  };
  return { hold: () => then(() => container.pause()), release: () => then(() => container.unpause()) };
};

export class ContainerLog {
  readonly #streams: Readonly<Record<OutputStream, LineSplitter>>;
  #last: Instant | undefined;
  #heardAt = performance.now();

  constructor(onLine: OnLine) {
    const splitter = (stream: OutputStream) => new LineSplitter((line) => onLine(stream, line, this.#last));
    this.#streams = { stdout: splitter("stdout"), stderr: splitter("stderr") };
  }

  /** Resolves when the engine ends the stream, at the container's end or its own. */
  async read(container: Container): Promise<void> {
    const from = this.#last;
    const since = from === undefined ? {} : { since: sinceOf(from) as unknown as number };
    try {
      const log = await container.logs({ follow: true, stdout: true, stderr: true, timestamps: true, ...since });
      const pieces = paced(log as unknown as AsyncIterable<Buffer>, brakeOf(container));
      for await (const { stream, at, bytes } of framesOf(pieces)) {
        // "Since" includes its moment.
        if (from !== undefined && at !== undefined && at <= from) continue;
        this.#last = at ?? this.#last;
        this.#heardAt = performance.now();
        await this.#streams[stream].take(bytes);
      }
    } catch {
      // The engine ended with the log in the middle; whoever waits for the container sees whether there is more.
    }
  }

  /** Resolves when `read` has ended, or nothing has come for so many milliseconds. */
  async settled(read: Promise<void>, millis: number): Promise<void> {
    let isOver = false;
    void read.then(() => {
      isOver = true;
    });
    this.#heardAt = performance.now();
    while (!isOver && performance.now() - this.#heardAt < millis)
      await Promise.race([read, sleep(millis, undefined, { ref: false })]);
  }

  async end(): Promise<void> {
    await this.#streams.stdout.end();
    await this.#streams.stderr.end();
  }
}
