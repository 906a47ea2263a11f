/** Log entries for the derived database, and reading positions. */

/** A row of the derived database. `json` and `http` are JSON texts. */
export interface EntryRow {
  readonly service: string;
  readonly ns: bigint;
  readonly ord: number;
  readonly severity: string;
  readonly log: string;
  readonly revision: string | null;
  readonly instance: string | null;
  readonly text: string | null;
  readonly json: string | null;
  readonly http: string | null;
}

export interface ReadPosition {
  readonly ns: bigint;
  readonly ord: number;
}

/**
 * Reads the current log. The log may contain new entries that the database does not contain yet, and may no longer
 * contain old entries that the database still contains.
 */
export interface LogReader extends Disposable {
  services(): readonly string[];
  /** Returns the position of the service's oldest entry. Earlier entries were deleted. */
  first(service: string): ReadPosition | undefined;
  /** Returns entries after a position, in order. */
  after(service: string, position: ReadPosition): Iterable<EntryRow>;
}
