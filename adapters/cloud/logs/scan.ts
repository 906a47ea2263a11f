/**
 * Searches a deployment's entries in a cloud's log, page by page. A listing is sorted by time, but the order of entries
 * of the same moment may be undocumented or differ from the order of positions. In that case, the scan reads all
 * entries of the moment and sorts them.
 */

import { comparePositions, justBefore, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf } from "../../../core/domain/logs/entry.ts";
import { pageRoom } from "../../../core/domain/logs/page-size.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { EarlierFindings, LogFindings } from "../../../core/ports/log-store.ts";

export interface Listing {
  readonly entries: readonly LogEntry[];
  /** The token of the next page. Absent on the last page. A page may be empty without being the last. */
  readonly next?: string;
}

/** The range of a listing. The listing must contain all entries between the two instants, and may contain more. */
export interface Range {
  readonly from?: Instant | undefined;
  readonly to?: Instant | undefined;
  /** True to request only entries that may match the filter, as far as the cloud can evaluate it. */
  readonly narrowed: boolean;
}

type Order = "asc" | "desc";

/** Reads one page of a listing. Throws to end the search. */
export type List = (range: Range, order: Order, size: number, token: string | undefined) => Promise<Listing>;

export interface Scan {
  readonly list: List;
  /**
   * The entries that a narrowed listing contains. `everything`: all entries, because the cloud evaluates no part of the
   * filter. `some`: the entries that may match. `nothing`: an empty listing, because no entry can match.
   */
  readonly pushed: "everything" | "some" | "nothing";
  readonly matches: (entry: LogEntry) => boolean;
  /** Whether `matches` returns true for every entry. */
  readonly matchesAll: boolean;
  readonly limit: number;
  readonly until: Instant | undefined;
  /** False if the caller does not use `seen`, which may cost a call. */
  readonly needsSeen: boolean;
  /** Returns true when the search must end. Checked between pages. */
  readonly isOver: () => boolean;
  /** Nanoseconds within which the listing has no order, for each direction; 0 if it is sorted. */
  readonly grain: Readonly<Record<Order, bigint>>;
  /** Maximum entries of a page of the listing. */
  readonly maxPageEntries: number;
}

/** Page size of the search for the newest entry. Large enough to see the end of a group in most cases. */
const PEEK = 25;

const placeOf = ({ instant, code }: LogPosition): LogPosition => ({ instant, code });

/**
 * Returns the page size. If every entry matches, one entry more than the limit suffices to see the end of a group.
 * Otherwise, large pages need fewer calls to find the matches.
 */
const sizeFor = ({ matchesAll, limit, maxPageEntries }: Scan): number =>
  matchesAll ? Math.min(limit + 1, maxPageEntries) : maxPageEntries;

interface Group {
  readonly entries: readonly LogEntry[];
  readonly isCut: boolean;
}

const isWithin = ({ instant }: LogEntry, { from, to }: Range): boolean =>
  (from === undefined || instant >= from) && (to === undefined || instant <= to);

/** For `filter`: removes entries with the same position, which are duplicates due to a retry or a repeated delivery. */
const once = (entry: LogEntry, index: number, sorted: readonly LogEntry[]): boolean =>
  index === 0 || comparePositions(entry, sorted[index - 1] as LogEntry) !== 0;

/** Collects the entries of a listing into groups of the same moment. */
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

  /** Adds an entry. Returns the previous group if the entry begins a new one. */
  add(entry: LogEntry): Group | undefined {
    const [first] = this.#group;
    const isNext =
      first !== undefined && !(this.#width > 0n && first.instant / this.#width === entry.instant / this.#width);
    const before = isNext ? this.take(false) : undefined;
    this.#group.push(entry);
    return before;
  }

  /** Returns the current group, sorted. */
  take(isCut: boolean): Group {
    const entries = this.#group.toSorted((a, b) => this.#sign * comparePositions(a, b)).filter(once);
    this.#group = [];
    return { entries, isCut };
  }
}

/** Where `isOver` may end a listing: within a group of entries, after at least one group, or anywhere. */
type MayEnd = "in-group" | "after-group" | "anywhere";

/**
 * Yields groups of entries of the same moment, sorted. Each group is complete, unless `mayEnd` is `in-group` and
 * `isOver` ends the search within the last group.
 */
async function* groups(
  { list, grain }: Pick<Scan, "list" | "grain">,
  range: Range,
  order: Order,
  size: number,
  isOver: () => boolean,
  mayEnd: MayEnd = "after-group",
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
    if (mayEnd === "in-group" && !gathering.isEmpty) return yield gathering.take(true);
    const mayEndHere = mayEnd === "anywhere" || (mayEnd === "after-group" && hasGroups);
    if (mayEndHere) return yield { entries: [], isCut: true };
  } while (token !== undefined);
  if (!gathering.isEmpty) yield gathering.take(false);
}

const never = (): boolean => false;

/** Returns the position of the newest entry of a range, even if it does not match. */
const newestPosition = async (scan: Scan, range: Omit<Range, "narrowed">): Promise<LogPosition | undefined> => {
  for await (const { entries } of groups(scan, { ...range, narrowed: false }, "desc", PEEK, never))
    return placeOf(entries[0] as LogEntry);
  return undefined;
};

/** The matches found so far. */
class Found {
  readonly #scan: Scan;
  readonly #hasRoom = pageRoom();
  readonly entries: LogEntry[] = [];

  constructor(scan: Scan) {
    this.#scan = scan;
  }

  get isFull(): boolean {
    return this.entries.length === this.#scan.limit;
  }

  /** Adds a match. Returns false if the page has no room for it. */
  take(entry: LogEntry): boolean {
    if (!this.#scan.matches(entry)) return true;
    const hasRoom = this.#hasRoom(messageOf(entry).length);
    if (hasRoom) this.entries.push(entry);
    return hasRoom;
  }
}

const nothing: LogFindings = { entries: [], partial: false };

export const scanNewest = async (scan: Scan): Promise<LogFindings> => {
  const { pushed, until, isOver } = scan;
  const found = new Found(scan);
  const isSure = pushed === "everything" || !scan.needsSeen;
  let seen = isSure ? undefined : await newestPosition(scan, { to: until });
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries.toReversed(),
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed === "nothing" || (!isSure && seen === undefined)) return findings(false);
  // Excludes entries that arrive during the search: they are newer than `seen`.
  const range = { to: seen?.instant ?? until, narrowed: pushed === "some" };
  for await (const { entries, isCut } of groups(scan, range, "desc", sizeFor(scan), isOver, "in-group")) {
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

/** Yields the entries after a position, oldest first. Then yields `cut` if the search had to end early. */
async function* forwards(
  scan: Scan,
  position: LogPosition,
  end: LogPosition | undefined,
): AsyncGenerator<LogEntry | "cut"> {
  const { pushed, until } = scan;
  let hasLooked = false;
  const range = { from: position.instant, to: end?.instant ?? until, narrowed: pushed === "some" };
  const isOver = () => hasLooked && scan.isOver();
  for await (const { entries, isCut } of groups(scan, range, "asc", sizeFor(scan), isOver)) {
    for (const entry of entries) {
      if (comparePositions(entry, position) <= 0 || (end !== undefined && comparePositions(entry, end) > 0)) continue;
      hasLooked = true;
      yield entry;
    }
    if (isCut) return yield "cut";
  }
}

export const scanAfter = async (scan: Scan, position: LogPosition): Promise<LogFindings> => {
  const { pushed, until } = scan;
  const found = new Found(scan);
  const end = pushed === "everything" ? undefined : await newestPosition(scan, { from: position.instant, to: until });
  if (pushed !== "everything" && (end === undefined || comparePositions(end, position) <= 0)) return nothing;
  let seen: LogPosition | undefined;
  const findings = (partial: boolean): LogFindings => ({
    entries: found.entries,
    ...(seen === undefined ? {} : { seen }),
    partial,
  });
  if (pushed !== "nothing")
    for await (const entry of forwards(scan, position, end)) {
      if (entry === "cut" || !found.take(entry)) return findings(true);
      seen = placeOf(entry);
      if (found.isFull) return findings(false);
    }
  seen = end ?? seen;
  return findings(false);
};

/**
 * Examines the entries of a range up to a position, newest first. Returns undefined if the time limit has passed and
 * a narrowed listing had no entry.
 */
const examineBefore = async (scan: Scan, position: LogPosition, range: Range): Promise<EarlierFindings | undefined> => {
  const found = new Found(scan);
  /** The oldest examined entry. */
  let last: LogPosition | undefined;
  const findings = (partial: boolean): EarlierFindings => ({
    entries: found.entries.toReversed(),
    ...(last === undefined ? {} : { seen: justBefore(last) }),
    partial,
  });
  // A listing that is not narrowed must continue until it has an entry, because the next search would begin at the same
  // position.
  const isOver = () => (range.narrowed || last !== undefined) && scan.isOver();
  const mayEnd = range.narrowed ? "anywhere" : "after-group";
  for await (const { entries, isCut } of groups(scan, range, "desc", sizeFor(scan), isOver, mayEnd)) {
    for (const entry of entries) {
      if (comparePositions(entry, position) > 0) continue;
      if (!found.take(entry)) return findings(true);
      last = placeOf(entry);
      if (found.isFull) return findings(false);
    }
    if (isCut) return last === undefined ? undefined : findings(true);
  }
  return { entries: found.entries.toReversed(), partial: false };
};

export const scanBefore = async (scan: Scan, position: LogPosition): Promise<EarlierFindings> => {
  const { pushed, until } = scan;
  if (pushed === "nothing") return nothing;
  const to = until !== undefined && until < position.instant ? until : position.instant;
  const narrowed = pushed === "some";
  const found = await examineBefore(scan, position, { to, narrowed });
  // The narrowed listing had no entry to continue from, so continue from the entries that do not match.
  return found ?? (await examineBefore({ ...scan, isOver: () => true }, position, { to, narrowed: false })) ?? nothing;
};
