/**
 * Searches a deployment's entries in a cloud's log, a page of its listing after the other. A listing goes by time; how it
 * orders entries of one moment may not be said, or not be the order of positions: there the whole of such a group is read
 * and put in order here.
 */

import { comparePositions, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf } from "../../../core/domain/logs/entry.ts";
import { pageRoom } from "../../../core/domain/logs/page-size.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogFindings } from "../../../core/ports/log-store.ts";

export interface Listing {
  readonly entries: readonly LogEntry[];
  /** Absent at the end; a page may be empty and not be the end. */
  readonly next?: string;
}

/** What a listing is asked for. It may have more than lies within the two instants, and no less. */
export interface Range {
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  /** Only what the filter leaves of it, as far as the cloud looks for that; else everything. */
  readonly narrowed: boolean;
}

type Order = "asc" | "desc";

/** One call of the listing; throws what ends the search. */
export type List = (range: Range, order: Order, size: number, token: string | undefined) => Promise<Listing>;

export interface Scan {
  readonly list: List;
  /** What the cloud looks for: everything, nothing, or some of it by its own means. */
  readonly pushed: "everything" | "some" | "nothing";
  readonly matches: (entry: LogEntry) => boolean;
  readonly limit: number;
  readonly until: Instant | undefined;
  /** True once the search has to end; it is asked after each page that had something. */
  readonly isOver: () => boolean;
  /** Nanoseconds within which a listing has entries in any order; 0: none. */
  readonly grain: Readonly<Record<Order, bigint>>;
  /** Entries that one page of the listing may have at most. */
  readonly mostEntries: number;
}

/** Entries that a look for the newest one reads, so that a group of one moment is seen to end. */
const PEEK = 25;

const placeOf = ({ instant, code }: LogPosition): LogPosition => ({ instant, code });

/** Where nothing is left out here, a page is as many as are asked for, and one more to see a group end. */
const sizeFor = ({ pushed, limit, mostEntries }: Scan): number =>
  pushed === "everything" ? Math.min(limit + 1, mostEntries) : mostEntries;

interface Group {
  readonly entries: readonly LogEntry[];
  readonly isCut: boolean;
}

const isWithin = ({ instant }: LogEntry, { from, to }: Range): boolean =>
  (from === undefined || instant >= from) && (to === undefined || instant <= to);

/** A lost reply, or a delivery that is made twice, may leave an entry twice: at one place there is one. */
const once = (entry: LogEntry, index: number, sorted: readonly LogEntry[]): boolean =>
  index === 0 || comparePositions(entry, sorted[index - 1] as LogEntry) !== 0;

/** Gathers what a listing gives, entry by entry, into groups of one moment. */
class Gathering {
  readonly #width: bigint;
  readonly #sign: number;
  #group: LogEntry[] = [];

  constructor(width: bigint, order: Order) {
    this.#width = width;
    this.#sign = order === "asc" ? 1 : -1;
  }

  get isEmpty(): boolean {
    return this.#group.length === 0;
  }

  /** The group before, whole, where the entry begins another one. */
  add(entry: LogEntry): Group | undefined {
    const [first] = this.#group;
    const isNext = first !== undefined && !this.#isOneMoment(first, entry);
    const before = isNext ? this.take(false) : undefined;
    this.#group.push(entry);
    return before;
  }

  /** What there is of the group, in order. */
  take(isCut: boolean): Group {
    const entries = this.#group.toSorted((a, b) => this.#sign * comparePositions(a, b)).filter(once);
    this.#group = [];
    return { entries, isCut };
  }

  #isOneMoment(a: LogEntry, b: LogEntry): boolean {
    return this.#width > 0n && a.instant / this.#width === b.instant / this.#width;
  }
}

/** Entries in groups of one moment, each in its order and whole unless the search had to end. */
async function* groups(
  { list, grain }: Pick<Scan, "list" | "grain">,
  range: Range,
  order: Order,
  size: number,
  isOver: () => boolean,
): AsyncGenerator<Group> {
  const gathering = new Gathering(grain[order], order);
  let token: string | undefined;
  let hasGroups = false;
  do {
    const page = await list(range, order, size, token);
    for (const entry of page.entries.filter((one) => isWithin(one, range))) {
      const group = gathering.add(entry);
      hasGroups ||= group !== undefined;
      if (group !== undefined) yield group;
    }
    token = page.next;
    if (grain[order] === 0n && !gathering.isEmpty) {
      hasGroups = true;
      yield gathering.take(false);
    }
    if (token === undefined || !isOver()) continue;
    // Backwards, what is there of a group is content enough for a search of the newest.
    if (order === "desc" && !gathering.isEmpty) return yield gathering.take(true);
    if (order === "asc" && hasGroups) return yield { entries: [], isCut: true };
  } while (token !== undefined);
  if (!gathering.isEmpty) yield gathering.take(false);
}

const never = (): boolean => false;

/** The newest entry within a range, whatever it says. */
const newestPlace = async (scan: Scan, range: Omit<Range, "narrowed">): Promise<LogPosition | undefined> => {
  for await (const { entries } of groups(scan, { ...range, narrowed: false }, "desc", PEEK, never))
    return placeOf(entries[0] as LogEntry);
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
  const { pushed, until, isOver } = scan;
  const found = new Found(scan);
  let seen = pushed === "everything" ? undefined : await newestPlace(scan, { to: until });
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries.toReversed(),
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed === "nothing" || (pushed === "some" && seen === undefined)) return findings(false);
  // What comes while it searches lies behind what it says that it has seen.
  const range = { to: seen?.instant ?? until, narrowed: pushed === "some" };
  for await (const { entries, isCut } of groups(scan, range, "desc", sizeFor(scan), isOver)) {
    for (const entry of entries) {
      seen ??= placeOf(entry);
      if (comparePositions(entry, seen) > 0) continue;
      if (!found.take(entry)) return findings(true);
      if (found.isFull) return findings(false);
    }
    if (isCut) return findings(true);
  }
  return findings(false);
};

/** Entries behind a place and up to an end, oldest first; `cut` where the search had to end. */
async function* forwards(
  scan: Scan,
  place: LogPosition,
  end: LogPosition | undefined,
): AsyncGenerator<LogEntry | "cut"> {
  const { pushed, until } = scan;
  let hasLooked = false;
  const range = { from: place.instant, to: end?.instant ?? until, narrowed: pushed === "some" };
  const isOver = () => hasLooked && scan.isOver();
  for await (const { entries, isCut } of groups(scan, range, "asc", sizeFor(scan), isOver)) {
    for (const entry of entries) {
      if (comparePositions(entry, place) <= 0 || (end !== undefined && comparePositions(entry, end) > 0)) continue;
      hasLooked = true;
      yield entry;
    }
    if (isCut) return yield "cut";
  }
}

export const scanAfter = async (scan: Scan, place: LogPosition): Promise<LogFindings> => {
  const { pushed, until } = scan;
  const found = new Found(scan);
  const end = pushed === "everything" ? undefined : await newestPlace(scan, { from: place.instant, to: until });
  if (pushed !== "everything" && (end === undefined || comparePositions(end, place) <= 0)) return nothing;
  let seen: LogPosition | undefined;
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries,
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed !== "nothing")
    for await (const entry of forwards(scan, place, end)) {
      if (entry === "cut" || !found.take(entry)) return findings(true);
      seen = placeOf(entry);
      if (found.isFull) return findings(false);
    }
  seen = end ?? seen;
  return findings(false);
};
