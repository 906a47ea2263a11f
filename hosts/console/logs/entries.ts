/** The entries of a log that the page has loaded, in the log's order, each once. */

export interface Entry {
  readonly timestamp: string;
  readonly severity: string;
  readonly message: string;
  readonly log_name: string;
  readonly insert_id: string;
  readonly revision?: string | undefined;
  readonly instance_id?: string | undefined;
}

/** The share of the maximum that remains after a trim, so that trims are rare. */
const KEPT = 0.8;

/**
 * A part of a log without gaps. Ids sort in the order of the log, so the id of an entry shows whether it is before or
 * after the part.
 */
export class EntryList {
  #entries: Entry[] = [];

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Adds the entries that are newer than the last one. Returns how many it added. */
  append(entries: readonly Entry[]): number {
    const last = this.#entries.at(-1)?.insert_id ?? "";
    const added = entries.filter(({ insert_id: id }) => id > last);
    for (const one of added) this.#entries.push(one);
    return added.length;
  }

  /** Drops the oldest entries if there are more than `max`. Returns whether it dropped any. */
  trim(max: number): boolean {
    if (this.#entries.length <= max) return false;
    this.#entries = this.#entries.slice(-Math.ceil(max * KEPT));
    return true;
  }

  /** Adds the entries that are older than the first one, oldest first. Returns how many it added. */
  prepend(entries: readonly Entry[]): number {
    const first = this.#entries[0]?.insert_id;
    const added = first === undefined ? entries : entries.filter(({ insert_id: id }) => id < first);
    this.#entries = [...added, ...this.#entries];
    return added.length;
  }
}

const OVERLAP_MS = 1000;

/**
 * Returns the time from which to follow a log: a little before its newest entry, because entries may share a time.
 * `EntryList` drops the entries that it already has.
 */
export const followFrom = (newest: string | undefined): string | undefined =>
  newest === undefined ? undefined : new Date(Date.parse(newest) - OVERLAP_MS).toISOString();

/** Returns the JSON object of a message, or undefined if the message is not one. */
export const jsonOf = (message: string): Readonly<Record<string, unknown>> | undefined => {
  if (!message.startsWith("{")) return undefined;
  try {
    const parsed: unknown = JSON.parse(message);
    return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};

const MAX_PARSED = 10_000;
const LINE_LENGTH = 600;

const oneLine = (text: string): string => text.slice(0, LINE_LENGTH).replaceAll("\n", "⏎");

const formatField = ([name, value]: readonly [string, unknown]): string =>
  `${name}=${typeof value === "string" && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value)}`;

/**
 * Returns the one-line form of an entry. For a structured entry with a message, returns the other fields separately.
 */
export const lineOf = ({ message }: Entry): { readonly text: string; readonly fields: string } => {
  // Parsing a long message is slow, and its line shows only the beginning.
  const json = message.length > MAX_PARSED ? undefined : jsonOf(message);
  const { message: text, ...fields } = json ?? {};
  if (typeof text !== "string") return { text: oneLine(message), fields: "" };
  return { text: oneLine(text), fields: oneLine(Object.entries(fields).map(formatField).join(" ")) };
};
