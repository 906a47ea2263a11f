/** The ambient things, named: time, randomness, and where the platform's own words go. */
import type { Instant } from "../domain/instant.ts";

export interface Clock {
  /** Now. Never runs backwards by more than the machine's clock does. */
  now(): Instant;
  /** Resolves after `millis`, or as soon as `signal` aborts; never rejects. */
  sleep(millis: number, signal?: AbortSignal): Promise<void>;
}

export interface Ids {
  /** A new id of 20 characters `a-z0-9`, unique, sortable by nothing. */
  id(): string;
  /** `length` base62 characters from a cryptographic source. */
  secret(length: number): string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Messages carry no secrets; fields are data. */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

/** What every port call takes beside its arguments. */
export interface CallOptions {
  /** Aborting ends the call soon; what it had begun is undone or left as the method's promise says. */
  readonly signal?: AbortSignal;
}
