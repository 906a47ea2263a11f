/** An adapter of one port that uses only the published package: logs in files, one JSON line per entry. */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  behind,
  type Clock,
  type CompilePattern,
  comparePositions,
  fitting,
  type Instant,
  isWritable,
  type LogEntry,
  type LogFindings,
  type LogPosition,
  type LogQuery,
  type LogScope,
  type LogStore,
  matcherOf,
  nextPosition,
  ResultAsync,
  type Unavailable,
  unavailable,
} from "portside/ports";

/** Writes instants as text, because their nanoseconds exceed the precision of JSON numbers. */
const write = (entry: LogEntry): string =>
  `${JSON.stringify(entry, (_key, value) => (typeof value === "bigint" ? { bigint: String(value) } : value))}\n`;
const read = (line: string): LogEntry =>
  JSON.parse(line, (_key, value) => (typeof value?.bigint === "string" ? BigInt(value.bigint) : value));

/** @param folder has one folder for each account and one file for each deployment */
export const createFileLogs = (folder: string, clock: Clock, compile: CompilePattern): LogStore => {
  // An account may contain '/', so the folder's name encodes it. A service's name has only letters, digits and '-'.
  const fileOf = ({ owner, service }: LogScope) =>
    join(folder, Buffer.from(owner).toString("base64url"), `${service}.ndjson`);
  const last = new Map<string, LogPosition>();
  let turn: Promise<unknown> = Promise.resolve();

  const entriesOf = async (scope: LogScope, until?: Instant): Promise<LogEntry[]> => {
    const text = await readFile(fileOf(scope), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const all = text.split("\n").filter(Boolean).map(read);
    return until === undefined ? all : all.filter((one) => comparePositions(one, behind(until)) <= 0);
  };
  /** Runs one call at a time, so that entries are in the order of their positions. */
  const inTurn = <T>(work: () => Promise<T>): ResultAsync<T, Unavailable> => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return ResultAsync.fromPromise(done, (cause) => unavailable("The log does not respond. Try again.", 5, cause));
  };
  const findings = (entries: readonly LogEntry[], seen: LogPosition | undefined, partial: boolean): LogFindings => ({
    entries,
    ...(seen === undefined ? {} : { seen: { instant: seen.instant, code: seen.code } }),
    partial,
  });

  /** Searches entries until enough match or the time limit passes. Checks the time after every thousand entries. */
  const searchUntil = (ends: number, { filter, limit }: LogQuery) => {
    const isMatch = matcherOf(filter, compile);
    return (entries: readonly LogEntry[]) => {
      const matches: LogEntry[] = [];
      for (const [index, entry] of entries.entries()) {
        if (isMatch(entry)) matches.push(entry);
        if (matches.length === limit) return { matches, looked: entry, isEnough: true };
        const isWatched = (index + 1) % 1000 === 0 && index + 1 < entries.length;
        if (isWatched && performance.now() >= ends) return { matches, looked: entry, isEnough: false };
      }
      return { matches, looked: entries.at(-1), isEnough: true };
    };
  };

  return {
    append: (entries) =>
      inTurn(async () => {
        for (const entry of entries.filter(isWritable)) {
          const path = fileOf(entry);
          const place = nextPosition(last.get(path) ?? (await entriesOf(entry)).at(-1), clock.now());
          await mkdir(dirname(path), { recursive: true });
          await appendFile(path, write({ ...entry, ...place }));
          last.set(path, place);
        }
      }),

    newest: (scope, query, { signal } = {}) => {
      const search = searchUntil(performance.now() + query.timeoutMs, query);
      return inTurn(async () => {
        signal?.throwIfAborted();
        const all = await entriesOf(scope, query.until);
        const { matches, isEnough } = search(all.toReversed());
        const page = fitting(matches);
        return findings(page.toReversed(), all.at(-1), page.length < matches.length || !isEnough);
      });
    },

    after: (scope, place, query, { signal } = {}) => {
      const search = searchUntil(performance.now() + query.timeoutMs, query);
      return inTurn(async () => {
        signal?.throwIfAborted();
        const all = (await entriesOf(scope, query.until)).filter((one) => comparePositions(one, place) > 0);
        const { matches, looked, isEnough } = search(all);
        const page = fitting(matches);
        const cut = page.length < matches.length;
        return findings(page, cut || matches.length === query.limit ? page.at(-1) : looked, cut || !isEnough);
      });
    },
  };
};
