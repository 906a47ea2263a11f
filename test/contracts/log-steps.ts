/** Helpers of the log suites: scopes, numbered lines, queries. */
import type { LogEntry, NewLogEntry } from "../../core/domain/logs/entry.ts";
import { everything } from "../../core/domain/logs/filter/tree.ts";
import type { LogQuery, LogScope } from "../../core/ports/log-store.ts";
import type { StoreSubject } from "./harness.ts";
import { expectOk } from "./support.ts";

export const scopeOf = (subject: StoreSubject): LogScope => ({
  owner: subject.account(),
  service: subject.name(),
});

export const line = (scope: LogScope, text: string): NewLogEntry => ({
  ...scope,
  severity: "INFO",
  logName: "stdout",
  text,
});

export const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

export const texts = (entries: readonly LogEntry[]): (string | undefined)[] => entries.map(({ text }) => text);

export const append = ({ provider }: StoreSubject, entries: readonly NewLogEntry[]) =>
  expectOk(provider.logs.append(entries));

/** A query for all entries, up to the limit. */
export const every = (limit = 1000): LogQuery => ({ filter: everything, limit, timeoutMs: 20_000 });
