/** Ports for time, random values and the operator's log. */
import type { Instant } from "../domain/wire/instant.ts";

/** A source of time. Tests pass a simulated clock. */
export interface Clock {
  /** Returns the current time. */
  now(): Instant;
  /** Resolves after `millis` milliseconds, or as soon as `signal` aborts. Must not reject. */
  sleep(millis: number, signal?: AbortSignal): Promise<void>;
}

/** A source of random identifiers. */
export interface Ids {
  /** Returns a unique id: 20 random characters from `a-z` and `0-9`. */
  id(): string;
  /** Returns `length` base62 characters from a cryptographic random source. */
  secret(length: number): string;
}

type Fields = Readonly<Record<string, unknown>>;

/** The operator's log. The caller must not pass secrets in messages or fields. Methods must not throw. */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Options of every port call. */
export interface CallOptions {
  /**
   * Cancels the call. Unless the method specifies more, an adapter should stop soon, may fail with `unavailable`, and
   * may or may not have applied the change.
   */
  readonly signal?: AbortSignal;
}
