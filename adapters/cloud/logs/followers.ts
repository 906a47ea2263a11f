/**
 * Serves the reads of many followers with few calls to a cloud. One call reads as many followed logs as the cloud's
 * limits allow, and every follower gets its entries from the result. No timer makes the calls. Once a call is due, the
 * next read of a follower makes the call.
 */
import { before, behind, comparePositions, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { type Instant, millisOf, plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { addPage, covers, type FollowedLog, type FollowedPage, findingsOf } from "./followed-log.ts";

/** A log for a call to read, starting at `through`. */
export type LogToRead = Pick<FollowedLog, "scope" | "filter" | "through">;

/** The result of a shared listing: the logs that it read, and their entries. */
export interface ReadTogether<L> extends FollowedPage {
  readonly read: readonly L[];
  /** The number of entries that the cloud returned, including those of other logs. */
  readonly size: number;
  /** The logs that must be read alone. */
  readonly unjoinable: readonly L[];
}

/**
 * Reads the first entries of several logs up to a time, with one listing. Reads as many of the logs as fit into the
 * listing, in the given order.
 *
 * @param nextTurn must resolve before the call for each further page
 */
export type ReadLogsTogether = <L extends LogToRead>(
  logs: readonly L[],
  until: Instant,
  nextTurn: () => Promise<void>,
) => Promise<Result<ReadTogether<L>, Unavailable>>;

/** A query with an upper bound. All entries below the bound are already visible. */
export type SettledQuery = LogQuery & { readonly until: Instant };

type Found = Result<LogFindings, Unavailable>;

/** How long a log counts as followed after a read, in milliseconds. */
const FOLLOWED_MS = 60_000;
/** If no follower has read for this many milliseconds, searches may use the followers' calls. */
const UNUSED_MS = 10_000;
/** How long a search may wait for the followers' next call, in milliseconds. */
const LENT_WAIT_MS = 2000;
/** Maximum age of kept entries in milliseconds, and maximum total characters of their messages. */
const KEPT_MS = 30_000;
const KEPT_CHARS = 32 * 1024 * 1024;
/** Maximum number of logs to follow. Reads of additional logs become searches. */
const MAX_LOGS = 2000;
/**
 * Maximum age, in milliseconds, of a range that may answer reads before the next call. If two cycles take longer than
 * this, their duration is the maximum.
 */
const FRESH_MS = 10_000;
/**
 * A log is read alone if an incomplete page contains at least this many of its entries, and they make up at least this
 * share of the page.
 */
const BUSY_ENTRIES = 250;
const BUSY_PART = 1 / 4;
/** Longest pause between calls after failures, in milliseconds. */
const LONGEST_PAUSE_MS = 10_000;
/** Longest pause of a follower in milliseconds. Must be shorter than `KEPT_MS`. */
const LONGEST_POLL_MS = 20_000;

const MINUTE_MS = 60_000;
const exhausted = unavailable("The platform's quota for log reads is exhausted. Try again.", 1);

/** The position before all entries. */
const START = before(0n as Instant);

const scopeKey = ({ owner, service }: LogScope): string => `${service} ${owner}`;

const millisBetween = (from: Instant, to: Instant): number => Number(to - from) / 1e6;

interface KeptEntry {
  readonly log: FollowedLog;
  readonly entry: LogEntry;
  readonly at: number;
  readonly chars: number;
}

export interface FollowersDeps {
  readonly clock: Clock;
  readonly readsPerMinute: number;
  readonly keyOf: (scope: LogScope, filter: LogFilter) => string;
  readonly readTogether: ReadLogsTogether;
  /** Returns true if a search need not wait for the quota. */
  readonly maySearch: () => boolean;
}

export class LogFollowers {
  readonly #deps: FollowersDeps;
  readonly #logs = new Map<string, FollowedLog>();
  readonly #shortestPause: number;
  #kept: KeptEntry[] = [];
  #keptChars = 0;
  #pause: number;
  /** The earliest time of the next call, in milliseconds. */
  #nextAt = 0;
  #round: Promise<Result<unknown, Unavailable>> | undefined;
  #rounds = 0;
  /** The number of rounds that it takes to read each log once. */
  #cycle = 1;

  constructor(deps: FollowersDeps) {
    this.#deps = deps;
    this.#shortestPause = MINUTE_MS / deps.readsPerMinute;
    this.#pause = this.#shortestPause;
  }

  /**
   * Returns the entries after a position.
   *
   * @param search reads this log alone
   */
  async after(
    scope: LogScope,
    position: LogPosition,
    query: SettledQuery,
    search: () => Promise<Found>,
  ): Promise<Found> {
    this.#forgetOld();
    const key = this.#deps.keyOf(scope, query.filter);
    const known = this.#logs.get(key);
    if (known !== undefined) known.followedAt = this.#now();
    const isReadable = known !== undefined && covers(known, position);
    if (isReadable && (known.alone === false || comparePositions(position, known.through) < 0))
      return this.#follow(key, position, query, search);
    if (known?.alone || this.#logs.size >= MAX_LOGS || this.#deps.maySearch()) return search();
    this.#begin(key, scope, query.filter, { from: position, through: position }).followedAt = this.#now();
    return this.#follow(key, position, query, search);
  }

  /**
   * Stores the findings of a complete search, so that the next read of a follower needs no call. Returns the findings,
   * with the pause before the next read.
   */
  learn(scope: LogScope, position: LogPosition | undefined, query: SettledQuery, findings: LogFindings): LogFindings {
    const { entries, seen, partial } = findings;
    if (position !== undefined && (partial || entries.length === query.limit)) return findings;
    const key = this.#deps.keyOf(scope, query.filter);
    const known = this.#logs.get(key);
    const through = behind(query.until);
    const isFollowed = known?.alone === false && known.followedAt > 0;
    // The newest entries must not replace the range of a followed log, because its readers would then need a search.
    const isNews =
      known === undefined ||
      known.alone === "busy" ||
      (comparePositions(known.through, through) < 0 && !(isFollowed && position === undefined));
    if (isNews && known?.alone !== "unjoinable" && this.#logs.size < MAX_LOGS) {
      const log = this.#begin(key, scope, query.filter, { from: position ?? seen ?? START, through });
      log.isCaughtUp = true;
      if (position !== undefined) {
        log.entries = [...entries];
        log.followedAt = this.#now();
      }
      this.#keep(log, log.entries);
    }
    return partial ? findings : { ...findings, pollAfterMs: Math.max(this.#pause, this.#nextAt - this.#now()) };
  }

  /**
   * Resolves to true when a search may use the followers' next call: the call is due soon, and no client needs it.
   * Otherwise resolves to false immediately.
   */
  async lendCall(): Promise<boolean> {
    const now = this.#now();
    const wait = Math.max(0, this.#nextAt - now);
    const isFollowed = [...this.#logs.values()].some(({ followedAt }) => now - followedAt < UNUSED_MS);
    if (isFollowed || this.#round !== undefined || wait > LENT_WAIT_MS) return false;
    this.#nextAt = now + wait + this.#pause;
    await this.#deps.clock.sleep(wait);
    return true;
  }

  /** Ensures that later reads find an entry that the platform has just appended. */
  appended({ owner, service }: LogScope): void {
    for (const log of this.#logs.values())
      if (log.scope.owner === owner && log.scope.service === service) log.mustReach = this.#deps.clock.now();
  }

  #now(): number {
    return millisOf(this.#deps.clock.now());
  }

  #begin(key: string, scope: LogScope, filter: LogFilter, range: Pick<FollowedLog, "from" | "through">): FollowedLog {
    const log: FollowedLog = {
      scope,
      filter,
      matches: matcherOf(filter, compileRe2),
      ...range,
      entries: [],
      isCaughtUp: false,
      alone: false,
      mustReach: undefined,
      followedAt: 0,
      lastRound: 0,
      begunAt: this.#now(),
    };
    this.#logs.set(key, log);
    return log;
  }

  async #follow(key: string, position: LogPosition, query: SettledQuery, search: () => Promise<Found>): Promise<Found> {
    const ends = this.#now() + query.timeoutMs;
    for (;;) {
      const log = this.#logs.get(key);
      if (log === undefined || !covers(log, position)) return search();
      const known = this.#answer(log, position, query, this.#now() >= ends);
      if (known !== undefined) return ok(known);
      if (log.alone !== false) return search();
      const round = await this.#nextRound(query.until);
      if (log.alone !== false || this.#isFresh(log, query.until)) continue;
      const left = ends - this.#now();
      if (round.isErr() && round.error.retryAfterSeconds * 1000 > left) return err(round.error);
      if (left < 0) return err(exhausted);
    }
  }

  /**
   * Returns the entries of the range after a position, or undefined if the reader must first wait for the next call.
   *
   * @param isOver true if the reader cannot wait for the next call
   */
  #answer(log: FollowedLog, position: LogPosition, query: SettledQuery, isOver: boolean): LogFindings | undefined {
    const findings = findingsOf(log, position, query);
    const isFull = findings.entries.length === query.limit;
    if (isFull || (findings.partial && findings.entries.length > 0)) return findings;
    const wait = this.#wait(log, query.until);
    const isEnough = log.alone === false && this.#isFresh(log, query.until) && (wait > 0 || isOver);
    return isEnough ? { ...findings, pollAfterMs: wait } : undefined;
  }

  /** Returns true if the range may answer a read before the next call. */
  #isFresh({ isCaughtUp, mustReach, through }: FollowedLog, until: Instant): boolean {
    const lacksAppended = mustReach !== undefined && mustReach <= until && through.instant < mustReach;
    return (
      isCaughtUp && millisBetween(through.instant, until) <= Math.max(FRESH_MS, 2 * this.#cycleMs) && !lacksAppended
    );
  }

  /** Returns how long a reader should wait for newer entries of the log, in milliseconds. */
  #wait({ through }: FollowedLog, until: Instant): number {
    const age = millisBetween(through.instant, until);
    const untilCall = this.#round === undefined ? this.#nextAt - this.#now() : 0;
    return Math.max(untilCall, Math.min(this.#cycleMs, this.#cycleMs - age, LONGEST_POLL_MS), 0);
  }

  get #cycleMs(): number {
    return this.#cycle * this.#pause;
  }

  /** Joins the current round, or starts one. */
  #nextRound(until: Instant): Promise<Result<unknown, Unavailable>> {
    this.#round ??= this.#readRound(this.#now() - millisOf(until)).finally(() => {
      this.#round = undefined;
    });
    return this.#round;
  }

  /**
   * Waits until a call is due. Then reads as many logs as fit, starting with those that are furthest behind.
   *
   * @param lag age in milliseconds of the newest entry that a page may contain
   */
  async #readRound(lag: number): Promise<Result<unknown, Unavailable>> {
    const { clock, readTogether } = this.#deps;
    const nextTurn = async () => {
      await clock.sleep(this.#nextAt - this.#now());
      this.#nextAt = this.#now() + this.#pause;
    };
    await nextTurn();
    this.#rounds++;
    const until = plusMillis(clock.now(), -lag);
    const logs = [...this.#logs.values()].filter(({ alone, followedAt }) => alone === false && followedAt > 0);
    const round = await readTogether(
      logs.toSorted((a, b) => comparePositions(a.through, b.through)),
      until,
      nextTurn,
    );
    // A failure means that other readers have exhausted the quota, or that the cloud is down.
    this.#pause = round.isErr()
      ? Math.max(this.#shortestPause, Math.min(this.#pause * 2, LONGEST_PAUSE_MS))
      : Math.max(this.#shortestPause, this.#pause * 0.9);
    if (round.isErr()) this.#nextAt = this.#now() + this.#pause;
    else this.#take(round.value, logs.length, until);
    return round;
  }

  /** @param count the number of logs that clients follow */
  #take({ read, unjoinable, size, ...page }: ReadTogether<FollowedLog>, count: number, until: Instant): void {
    const { end } = page;
    const isStuck = end !== undefined && read.every(({ through }) => comparePositions(end, through) <= 0);
    const byScope = Map.groupBy(page.entries, scopeKey);
    const isOneScope = new Set(read.map(({ scope }) => scopeKey(scope))).size === 1;
    const cycles = read.flatMap(({ lastRound }) => (lastRound === 0 ? [] : [this.#rounds - lastRound]));
    if (cycles.length > 0) this.#cycle = Math.max(...cycles);
    for (const log of unjoinable) log.alone = "unjoinable";
    for (const log of read) {
      const added = addPage(log, { ...page, entries: byScope.get(scopeKey(log.scope)) ?? [] }, until);
      this.#keep(log, added);
      log.lastRound = this.#rounds;
      const isLarge = read.length > 1 && added.length >= Math.max(BUSY_ENTRIES, size * BUSY_PART);
      const isBusy = end !== undefined && (isLarge || (isOneScope && read.length < count));
      if (isBusy || (isStuck && log.through.instant === end.instant)) log.alone = "busy";
    }
  }

  #keep(log: FollowedLog, entries: readonly LogEntry[]): void {
    const at = this.#now();
    for (const entry of entries) {
      const chars = messageOf(entry).length;
      this.#kept.push({ log, entry, at, chars });
      this.#keptChars += chars;
    }
  }

  #forgetOld(): void {
    const now = this.#now();
    for (const [key, { followedAt, begunAt }] of this.#logs)
      if (now - Math.max(followedAt, begunAt) > FOLLOWED_MS) this.#logs.delete(key);
    const isOld = ({ at }: KeptEntry) => now - at > KEPT_MS || this.#keptChars > KEPT_CHARS;
    for (let [first] = this.#kept; first !== undefined && isOld(first); [first] = this.#kept) {
      const { log, entry, chars } = first;
      this.#kept.shift();
      this.#keptChars -= chars;
      if (log.entries[0] === entry) {
        log.entries.shift();
        log.from = { instant: entry.instant, code: entry.code };
      }
    }
  }
}
