/** Shows each entry of a log once, out of pages of the newest that overlap. */

import { type Instant, parseInstant } from "../../core/domain/instant.ts";
import type { LogPage } from "../../core/domain/log-entry.ts";

type Row = LogPage["logs"][number];

export class LogTail {
  #instant: Instant | undefined;
  /** How many entries of that instant were shown. */
  #shown = 0;

  /** The rows of a page, oldest first, that were not taken before. */
  take(rows: readonly Row[]): Row[] {
    let atLast = 0;
    const fresh = rows.filter((row) => {
      const instant = parseInstant(row.timestamp) as Instant;
      if (this.#instant === undefined || instant > this.#instant) return true;
      return instant === this.#instant && ++atLast > this.#shown;
    });
    for (const row of fresh) {
      const instant = parseInstant(row.timestamp) as Instant;
      this.#shown = instant === this.#instant ? this.#shown + 1 : 1;
      this.#instant = instant;
    }
    return fresh;
  }
}
