/**
 * Reads a container's log line by line, with the container engine's timestamps. Continues after an interruption,
 * without duplicates.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Container } from "dockerode";
import { type Instant, splitInstant } from "../../../core/domain/wire/instant.ts";
import { type Brake, paceOutput } from "../instances/pace-output.ts";
import { LineSplitter } from "../instances/read-lines.ts";
import type { OnOutput, OutputStream } from "../sandbox/runner.ts";
import { framesOf } from "./frames.ts";

/** Formats an instant for the container engine, as seconds with nine fractional digits. */
const sinceOf = (instant: Instant): string => {
  const { seconds, nanos } = splitInstant(instant);
  return `${Date.parse(`${seconds}Z`) / 1000}.${String(nanos).padStart(9, "0")}`;
};

/**
 * Pauses a container that prints faster than the server reads, just as a full pipe blocks a process. Otherwise the
 * container engine would drop the oldest lines, and would still spend CPU time on each line. Ignores errors, because
 * the container may have ended.
 */
const brakeOf = (container: Container): Brake => {
  let last: Promise<unknown> = Promise.resolve();
  // Calls must not overlap, because the last call must take effect last.
  const then = (what: () => Promise<unknown>) => {
    last = last.then(what).catch(() => undefined);
  };
  return { pause: () => then(() => container.pause()), resume: () => then(() => container.unpause()) };
};

export class ContainerLog {
  readonly #streams: Readonly<Record<OutputStream, LineSplitter>>;
  #last: Instant | undefined;
  #lastOutputAt = performance.now();

  constructor(onOutput: OnOutput) {
    const splitter = (stream: OutputStream) => new LineSplitter((lines) => onOutput(stream, lines, this.#last));
    this.#streams = { stdout: splitter("stdout"), stderr: splitter("stderr") };
  }

  /** Resolves when the stream ends, which means that the container or the container engine has stopped. */
  async read(container: Container): Promise<void> {
    const from = this.#last;
    const since = from === undefined ? {} : { since: sinceOf(from) as unknown as number };
    try {
      const log = await container.logs({ follow: true, stdout: true, stderr: true, timestamps: true, ...since });
      const pieces = paceOutput(log as unknown as AsyncIterable<Buffer>, brakeOf(container));
      for await (const { stream, at, bytes } of framesOf(pieces)) {
        // `since` is inclusive.
        if (from !== undefined && at !== undefined && at <= from) continue;
        this.#last = at ?? this.#last;
        this.#lastOutputAt = performance.now();
        await this.#streams[stream].take(bytes);
      }
    } catch {
      // The container engine ended the log. The caller checks whether the container still runs.
    }
  }

  /** Resolves when `read` has resolved, or when no output has arrived for `millis`. */
  async drain(read: Promise<void>, millis: number): Promise<void> {
    let isOver = false;
    void read.then(() => {
      isOver = true;
    });
    this.#lastOutputAt = performance.now();
    while (!isOver && performance.now() - this.#lastOutputAt < millis)
      await Promise.race([read, sleep(millis, undefined, { ref: false })]);
  }

  async end(): Promise<void> {
    await this.#streams.stdout.end();
    await this.#streams.stderr.end();
  }
}
