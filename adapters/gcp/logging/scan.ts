/**
 * Searches a deployment's entries in Cloud Logging, a page of its listing after the other, which it keeps within the
 * order of timestamps. Entries of one nanosecond come by their insertId (google/logging/v2/logging.proto, `order_by`),
 * in which direction a descending listing does not say: there such a group is read to its end and put in order here.
 */
import { type Instant, timestampOf } from "../../../core/domain/instant.ts";
import { comparePositions, type LogPosition } from "../../../core/domain/log-cursor.ts";
import { type LogEntry, messageOf } from "../../../core/domain/log-entry.ts";
import type { Comparison, LogFilter } from "../../../core/domain/log-filter/tree.ts";
import { pageRoom } from "../../../core/domain/log-page-room.ts";
import type { LogFindings } from "../../../core/ports/log-store.ts";
import type { Bound } from "./bound.ts";

export interface Listing {
  readonly entries: readonly LogEntry[];
  /** Absent at the end; a page may be empty and not be the end. */
  readonly next?: string;
}

/** One call of `entries.list`; throws what ends the search. */
export type List = (
  bounds: readonly Bound[],
  order: "asc" | "desc",
  size: number,
  token: string | undefined,
) => Promise<Listing>;

export interface Scan {
  readonly list: List;
  /** What is looked for there, and what passes here. */
  readonly pushed: Bound;
  readonly matches: (entry: LogEntry) => boolean;
  readonly limit: number;
  readonly until: Instant | undefined;
  /** True once the search has to end; it is asked after each page that had something. */
  readonly isOver: () => boolean;
}

/** The most that one page of the listing may have (logging.proto, `page_size`). */
const MOST = 1000;
/** Entries that a look for the newest one reads, so that a group of one nanosecond is seen to end. */
const PEEK = 25;

const at = (op: Comparison, instant: Instant): LogFilter => ({
  ...{ kind: "compare", path: ["timestamp"], op, literal: { text: timestampOf(instant) } },
});

const upTo = (until: Instant | undefined): readonly Bound[] => (until === undefined ? [] : [at("<=", until)]);

const placeOf = ({ instant, code }: LogPosition): LogPosition => ({ instant, code });

/** Where nothing is left out here, a page is as many as are asked for, and one more to see a group end. */
const sizeFor = ({ pushed, limit }: Scan): number => (pushed === true ? Math.min(limit + 1, MOST) : MOST);

/** Entries newest first, in groups of one nanosecond, each in its order and whole unless the search had to end. */
async function* groupsBackwards(
  list: List,
  bounds: readonly Bound[],
  size: number,
  isOver: () => boolean,
): AsyncGenerator<{ readonly entries: readonly LogEntry[]; readonly isCut: boolean }> {
  let group: LogEntry[] = [];
  const taken = () => ({ entries: group.toSorted((a, b) => comparePositions(b, a)), isCut: false });
  let token: string | undefined;
  do {
    const page = await list(bounds, "desc", size, token);
    for (const entry of page.entries) {
      if (group[0] !== undefined && group[0].instant !== entry.instant) {
        yield taken();
        group = [];
      }
      group.push(entry);
    }
    token = page.next;
    if (token !== undefined && group.length > 0 && isOver()) return yield { ...taken(), isCut: true };
  } while (token !== undefined);
  if (group.length > 0) yield taken();
}

const never = (): boolean => false;

/** The newest entry within bounds, whatever it says. */
const newestPlace = async (list: List, bounds: readonly Bound[]): Promise<LogPosition | undefined> => {
  for await (const { entries } of groupsBackwards(list, bounds, PEEK, never)) return placeOf(entries[0] as LogEntry);
  return undefined;
};

/** What a search has found up to now. */
class Found {
  readonly #scan: Scan;
  readonly #hasRoom = pageRoom();
  readonly entries: LogEntry[] = [];
  isCut = false;

  constructor(scan: Scan) {
    this.#scan = scan;
  }

  get isFull(): boolean {
    return this.entries.length === this.#scan.limit;
  }

  /** False where the page has no room for it. */
  take(entry: LogEntry): boolean {
    if (!this.#scan.matches(entry)) return true;
    this.isCut = !this.#hasRoom(messageOf(entry).length);
    if (!this.isCut) this.entries.push(entry);
    return !this.isCut;
  }
}

const nothing: LogFindings = { entries: [], partial: false };

export const scanNewest = async (scan: Scan): Promise<LogFindings> => {
  const { list, pushed, until, isOver } = scan;
  const found = new Found(scan);
  let seen = pushed === true ? undefined : await newestPlace(list, upTo(until));
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries.toReversed(),
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed === false || (pushed !== true && seen === undefined)) return findings(false);
  // What comes while it searches lies behind what it says that it has seen.
  const bounds = [...upTo(seen?.instant ?? until), pushed];
  for await (const { entries, isCut } of groupsBackwards(list, bounds, sizeFor(scan), isOver)) {
    seen ??= placeOf(entries[0] as LogEntry);
    const place = seen;
    for (const entry of entries) {
      if (comparePositions(entry, place) > 0) continue;
      if (!found.take(entry)) return findings(true);
      if (found.isFull) return findings(false);
    }
    if (isCut) return findings(true);
  }
  return findings(false);
};

/** Entries behind a place and up to an end, oldest first; `cut` where the search had to end. */
async function* forwards(
  { list, pushed, until, isOver, ...scan }: Scan,
  place: LogPosition,
  end: LogPosition | undefined,
): AsyncGenerator<LogEntry | "cut"> {
  const bounds = [at(">=", place.instant), ...upTo(end?.instant ?? until), pushed];
  const size = sizeFor({ ...scan, list, pushed, until, isOver });
  let hasLooked = false;
  let token: string | undefined;
  do {
    const page = await list(bounds, "asc", size, token);
    for (const entry of page.entries) {
      if (comparePositions(entry, place) <= 0 || (end !== undefined && comparePositions(entry, end) > 0)) continue;
      hasLooked = true;
      yield entry;
    }
    token = page.next;
    if (token !== undefined && hasLooked && isOver()) return yield "cut";
  } while (token !== undefined);
}

export const scanAfter = async (scan: Scan, place: LogPosition): Promise<LogFindings> => {
  const { list, pushed, until } = scan;
  const found = new Found(scan);
  const end = pushed === true ? undefined : await newestPlace(list, [at(">=", place.instant), ...upTo(until)]);
  if (pushed !== true && (end === undefined || comparePositions(end, place) <= 0)) return nothing;
  let seen: LogPosition | undefined;
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries,
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed !== false)
    for await (const entry of forwards(scan, place, end)) {
      if (entry === "cut" || !found.take(entry)) return findings(true);
      seen = placeOf(entry);
      if (found.isFull) return findings(false);
    }
  seen = end ?? seen;
  return findings(false);
};
