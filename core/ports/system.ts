/** Ports for time, random values and the operator's log. */
import type { Instant } from "../domain/wire/instant.ts";

export interface Clock {
  /** Returns the current time. */
  now(): Instant;
  /** Resolves after `millis`, or as soon as `signal` aborts; never rejects. */
  sleep(millis: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  /** Returns a unique id: 20 random characters of `a-z0-9`. */
  id(): string;
  /** Returns `length` base62 characters from a cryptographic random source. */
  secret(length: number): string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Messages and fields must not contain secrets. */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** Options of every port call. */
export interface CallOptions {
  /** Aborts the call. The method documents the state that it leaves. */
  readonly signal?: AbortSignal;
}
