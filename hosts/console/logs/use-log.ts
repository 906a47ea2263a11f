/** Reads a log: its newest entries, older ones on request, and new ones as they arrive. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { client } from "../shell/session.ts";
import { type Entry, EntryList, followFrom } from "./entries.ts";

const PAGE = 500;
/** The maximum number of entries in memory while the page follows a log. Scrolling up loads older ones again. */
const MAX_ENTRIES = 125_000;

/** The maximum number of new entries to collect before an update of the list. */
const MAX_BATCH = 5000;

export interface LogRequest {
  readonly name: string;
  readonly query: string | undefined;
  /** The start of the page's time range. */
  readonly since: string | undefined;
  /** The end of the page's time range. A log with an end has nothing to follow. */
  readonly until: string | undefined;
}

interface Options {
  readonly list: EntryList;
  readonly request: LogRequest;
  readonly signal: AbortSignal;
  readonly changed: () => void;
  /** Called when the list has dropped its oldest entries. */
  readonly trimmed: (oldest: string) => void;
}

const follow = async ({ list, request, signal, changed, trimmed }: Options): Promise<void> => {
  const since = followFrom(list.entries.at(-1)?.timestamp) ?? request.since;
  const filter = { deployment_name: request.name, query: request.query, since };
  let batch: Entry[] = [];
  const flush = () => {
    const added = list.append(batch);
    batch = [];
    const oldest = list.trim(MAX_ENTRIES) ? list.entries[0]?.timestamp : undefined;
    if (oldest !== undefined) trimmed(oldest);
    if (added > 0) changed();
  };
  for await (const entry of client.followLogs(filter, { signal })) {
    // One update per frame, because a busy service writes many lines.
    if (batch.length === 0) requestAnimationFrame(flush);
    batch.push(entry);
    // A page in a background tab has no frames.
    if (batch.length === MAX_BATCH) flush();
  }
};

export const useLog = (request: LogRequest) => {
  /** Counts changes of the list, which is one mutable object. */
  const version = useSignal(0);
  const error = useSignal<unknown>(undefined);
  const isLoaded = useSignal(false);
  /** The end of the next page of older entries; null before the first page, and if there are no older entries. */
  const older = useRef<string | null>(null);
  const list = useRef(new EntryList());
  const isReading = useRef(false);

  const readOlder = async (signal?: AbortSignal): Promise<number> => {
    const until = older.current ?? request.until;
    const page = await client.readLogs(
      { deployment_name: request.name, query: request.query, since: request.since, until, limit: PAGE, order: "desc" },
      { signal },
    );
    if (signal?.aborted === true) return 0;
    const added = list.current.prepend(page.logs.toReversed());
    older.current = page.logs.length < PAGE && !page.partial ? null : page.cursor;
    version.value++;
    return added;
  };

  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    list.current = new EntryList();
    older.current = null;
    isLoaded.value = false;
    error.value = undefined;
    version.value++;
    const changed = () => {
      version.value++;
    };
    const trimmed = (oldest: string) => {
      older.current = oldest;
    };
    const run = async (): Promise<void> => {
      try {
        await readOlder(signal);
        if (signal.aborted) return;
        isLoaded.value = true;
        if (request.until === undefined) await follow({ list: list.current, request, signal, changed, trimmed });
      } catch (problem) {
        if (!signal.aborted) error.value = problem;
      }
    };
    void run();
    return () => controller.abort();
  }, [request.name, request.query, request.since, request.until]);

  /** Reads older entries. Returns how many it added. */
  const loadOlder = async (): Promise<number> => {
    if (older.current === null || isReading.current) return 0;
    isReading.current = true;
    try {
      return await readOlder();
    } catch (problem) {
      error.value = problem;
      return 0;
    } finally {
      isReading.current = false;
    }
  };
  return { list: list.current, version, error, isLoaded, loadOlder, hasOlder: () => older.current !== null };
};
