/** The output of services, before it is split into log entries. */
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { readLine } from "../../../core/domain/logs/line.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { linesIn } from "../instances/read-lines.ts";
import type { OutputStream } from "../sandbox/runner.ts";

/** One or more lines of an instance's output. */
export interface ServiceOutput extends Pick<NewLogEntry, "owner" | "service" | "revision" | "instance"> {
  readonly logName: OutputStream;
  /** The bytes of the lines, which `linesIn` splits. */
  readonly lines: Buffer;
}

/**
 * Splits output into entries and their times. The entries are a nanosecond apart, because a client that truncates its
 * cursor to nanoseconds could not read past entries with the same time.
 * @param at when the platform received the output
 */
export const entriesIn = ({ lines, ...source }: ServiceOutput, at: Instant): [NewLogEntry, Instant][] =>
  linesIn(lines).map((line, index) => [
    { ...source, ...readLine(line, source.logName) },
    (at + BigInt(index)) as Instant,
  ]);
