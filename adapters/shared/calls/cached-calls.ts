/** Caches results by key, and shares concurrent calls for a key. */
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { ok, Result, type ResultAsync } from "../../../core/result.ts";
import { untilAborted } from "./until-aborted.ts";

type Answer<T> = Result<T, Unavailable>;

export interface CachedCallsOptions<K, T> {
  readonly clock: Pick<Clock, "now">;
  /** Must return the same text for equal keys, and different texts for different keys. */
  readonly textOf: (key: K) => string;
  /** Returns a result for each key, in the same order. Receives no abort signal, because other callers may wait too. */
  readonly read: (keys: readonly K[]) => ResultAsync<readonly T[], Unavailable>;
  /** Returns when a result that is read now will expire. */
  readonly expiryOf: (now: Instant) => Instant;
  /** The maximum sum of the sizes in the cache. The oldest results are evicted first. */
  readonly maxSize: number;
  /** Returns the size of a result: 0 for a result that must not be cached. Defaults to 1. */
  readonly sizeOf?: (result: T) => number;
}

interface Cached<T> {
  readonly result: T;
  readonly size: number;
  readonly expiry: Instant;
}

const cancelled = unavailable("The request was cancelled.");

/** Does not cache failures: the next call may succeed. */
export class CachedCalls<K, T> {
  readonly #options: CachedCallsOptions<K, T>;
  /** By the text of the key, oldest first. */
  readonly #cached = new Map<string, Cached<T>>();
  readonly #running = new Map<string, Promise<Answer<T>>>();
  #size = 0;

  constructor(options: CachedCallsOptions<K, T>) {
    this.#options = options;
  }

  /** Returns a result for each key, in the same order. Reads the missing keys with one call. */
  getAll(keys: readonly K[], { signal }: CallOptions = {}): ResultAsync<readonly T[], Unavailable> {
    const texts = keys.map(this.#options.textOf);
    const missing = new Map<string, K>();
    const found = new Map<string, Promise<Answer<T>>>();
    keys.forEach((key, index) => {
      const text = texts[index] as string;
      const known = this.#find(text) ?? this.#running.get(text);
      if (known === undefined) missing.set(text, key);
      else found.set(text, known);
    });
    for (const [text, answer] of this.#read(missing)) found.set(text, answer);
    const answers = Promise.all(texts.map((text) => found.get(text) as Promise<Answer<T>>));
    return untilAborted(
      answers.then((all) => Result.combine(all)),
      signal,
      cancelled,
    );
  }

  get(key: K, options: CallOptions = {}): ResultAsync<T, Unavailable> {
    return this.getAll([key], options).map(([result]) => result as T);
  }

  #find(text: string): Promise<Answer<T>> | undefined {
    const cached = this.#cached.get(text);
    if (cached === undefined) return undefined;
    if (this.#options.clock.now() < cached.expiry) return Promise.resolve(ok(cached.result));
    this.#evict(text, cached);
    return undefined;
  }

  #read(missing: ReadonlyMap<string, K>): ReadonlyMap<string, Promise<Answer<T>>> {
    if (missing.size === 0) return new Map();
    const texts = [...missing.keys()];
    const read = this.#readAndKeep([...missing.values()], texts);
    const forget = () => {
      for (const text of texts) this.#running.delete(text);
    };
    read.then(forget, forget);
    const answers = texts.map((_, index) => read.then((all) => all.map((results) => results[index] as T)));
    const running = new Map(texts.map((text, index) => [text, answers[index] as Promise<Answer<T>>]));
    for (const [text, answer] of running) this.#running.set(text, answer);
    return running;
  }

  async #readAndKeep(keys: readonly K[], texts: readonly string[]): Promise<Answer<readonly T[]>> {
    const { clock, expiryOf, read } = this.#options;
    // The age of a result counts from the start of the call.
    const expiry = expiryOf(clock.now());
    const results = await read(keys);
    if (results.isOk())
      for (const [index, result] of results.value.entries()) this.#keep(texts[index] as string, result, expiry);
    return results;
  }

  #keep(text: string, result: T, expiry: Instant): void {
    const { clock, maxSize, sizeOf } = this.#options;
    const size = sizeOf?.(result) ?? 1;
    if (size === 0) return;
    this.#cached.set(text, { result, size, expiry });
    this.#size += size;
    const now = clock.now();
    for (const [oldest, cached] of this.#cached) {
      if (this.#size <= maxSize && now < cached.expiry) return;
      this.#evict(oldest, cached);
    }
  }

  #evict(text: string, { size }: Cached<T>): void {
    this.#cached.delete(text);
    this.#size -= size;
  }
}
