/** Counts the entries of a log over time, by severity. */
import { z } from "zod";
import { type Instant, timestampOf } from "../wire/instant.ts";
import { type LogEntry, type Severity, severityNames } from "./entry.ts";

export const logHistogramSchema = z
  .object({
    buckets: z.array(
      z.object({
        start: z.string().meta({ format: "date-time", description: "The bucket counts the entries after this time." }),
        end: z.string().meta({ format: "date-time", description: "The bucket counts the entries up to this time." }),
        counts: z.partialRecord(z.enum(severityNames), z.int()).meta({
          description: "The number of entries of each severity. A severity without entries is absent.",
        }),
      }),
    ),
    partial: z
      .boolean()
      .meta({ description: "True if the search reached its time limit before it counted all entries." }),
    complete_since: z.string().meta({
      format: "date-time",
      description: "The counts are complete after this time. Earlier ones may be too low.",
    }),
  })
  .readonly();

/** The number of a log's entries over time. */
export type LogHistogram = z.output<typeof logHistogramSchema>;

/** Counts the entries after `since`, up to and including `until`, in buckets of equal width. */
export class HistogramCounter {
  readonly #since: Instant;
  readonly #until: Instant;
  readonly #width: bigint;
  readonly #counts: Partial<Record<Severity, number>>[];

  /** @param until must be after `since` */
  constructor(since: Instant, until: Instant, buckets: number) {
    const count = BigInt(buckets);
    this.#since = since;
    this.#until = until;
    this.#width = (until - since + count - 1n) / count;
    const used = Number((until - since + this.#width - 1n) / this.#width);
    this.#counts = Array.from({ length: used }, () => ({}));
  }

  add({ instant, severity }: LogEntry): void {
    // A cursor may be between entries of the first instant.
    const offset = instant <= this.#since ? 0n : instant - this.#since - 1n;
    const bucket = this.#counts[Number(offset / this.#width)];
    if (bucket !== undefined) bucket[severity] = (bucket[severity] ?? 0) + 1;
  }

  /** @param reached the time after which all entries are counted; undefined if all entries of the range are counted */
  histogram(reached: Instant | undefined): LogHistogram {
    const edge = (index: number): Instant => {
      const at = (this.#since + BigInt(index) * this.#width) as Instant;
      return at < this.#until ? at : this.#until;
    };
    return {
      buckets: this.#counts.map((counts, index) => ({
        start: timestampOf(edge(index)),
        end: timestampOf(edge(index + 1)),
        counts,
      })),
      partial: reached !== undefined,
      complete_since: timestampOf(reached ?? this.#since),
    };
  }
}
