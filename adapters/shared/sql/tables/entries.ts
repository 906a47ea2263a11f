/** Log entries on their way into the derived database, and how far it has read. */

/** An entry as the database keeps it. `json` and `http` are JSON texts. */
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

export interface Place {
  readonly ns: bigint;
  readonly ord: number;
}

/** What a log holds now that the database may not have yet, or has still. */
export interface LogReader extends Disposable {
  services(): readonly string[];
  /** The service's oldest entry: what lies before it was removed. */
  first(service: string): Place | undefined;
  /** Entries behind a place, in order. */
  after(service: string, place: Place): Iterable<EntryRow>;
}
