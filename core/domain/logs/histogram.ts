/** Counts the entries of a log over time, by severity. */
import { z } from "zod";
import { type Instant, timestampOf } from "../wire/instant.ts";
import { behind, comparePositions, type LogPosition } from "./cursor.ts";
import { type Severity, severityNames } from "./entry.ts";

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

/** The number of entries of each severity. A severity without entries is absent. */
export type SeverityCounts = Readonly<Partial<Record<Severity, number>>>;

/**
 * Returns the edges of at most `max` buckets of equal width, oldest first. A bucket contains the entries after its
 * first edge, up to and including its second edge.
 * @param until must be after `since`, by at least a nanosecond
 */
export const bucketEdges = (since: LogPosition, until: LogPosition, max: number): readonly LogPosition[] => {
  const range = until.instant - since.instant;
  const width = (range + BigInt(max) - 1n) / BigInt(max);
  const inner = Number((range + width - 1n) / width) - 1;
  const edgeAt = (index: number) => behind((since.instant + BigInt(index) * width) as Instant);
  return [since, ...Array.from({ length: inner }, (_, index) => edgeAt(index + 1)), until];
};

/** Returns the index of the bucket that contains a position. Returns a negative number if no bucket contains it. */
export const bucketOf = (edges: readonly LogPosition[], position: LogPosition): number =>
  edges.findIndex((edge) => comparePositions(edge, position) >= 0) - 1;

/** Returns the edges before a position, followed by the position itself, so that no bucket contains later entries. */
export const edgesUpTo = (edges: readonly LogPosition[], position: LogPosition): readonly LogPosition[] => {
  const older = edges.filter((edge) => comparePositions(edge, position) < 0);
  return older.length === edges.length ? edges : [...older, position];
};

/** Adds up the counts of several searches. Each search covers older entries than the one before it. */
export class HistogramCounter {
  readonly #edges: readonly LogPosition[];
  readonly #counts: Partial<Record<Severity, number>>[];

  constructor(edges: readonly LogPosition[]) {
    this.#edges = edges;
    this.#counts = edges.slice(1).map(() => ({}));
  }

  /** @param found the counts of the oldest buckets */
  add(found: readonly SeverityCounts[]): void {
    for (const [index, counts] of found.entries()) {
      const sums = this.#counts[index] ?? {};
      for (const name of severityNames) if (counts[name] !== undefined) sums[name] = (sums[name] ?? 0) + counts[name];
    }
  }

  /**
   * @param reached the position after which all entries are counted; undefined if all entries of the range are counted
   */
  histogram(reached: LogPosition | undefined): LogHistogram {
    const times = this.#edges.map(({ instant }) => timestampOf(instant));
    return {
      buckets: this.#counts.map((counts, index) => ({
        start: times[index] as string,
        end: times[index + 1] as string,
        counts,
      })),
      partial: reached !== undefined,
      complete_since: reached === undefined ? (times[0] as string) : timestampOf(reached.instant),
    };
  }
}
