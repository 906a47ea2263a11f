/** Counts the failed attempts to sign in with a key from each network address against a rate limit. */
import { sessionLimits } from "../../domain/accounts/limits.ts";
import { type Bucket, returnToken, takeToken } from "../../domain/accounts/rate-limit.ts";
import { type RateLimited, rateLimited } from "../../errors.ts";
import type { Clock } from "../../ports/system.ts";
import { err, ok, type Result } from "../../result.ts";

/** The maximum number of addresses in memory. Beyond it, the counter drops the address with the oldest attempt. */
const ADDRESSES = 10_000;

export class SignInCounter {
  readonly #clock: Clock;
  /** In the order of the latest attempts. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts an attempt as failed until `forgive`, so that concurrent attempts cannot exceed the limit together. Fails if
   * the address exceeds the limit.
   */
  count(address: string): Result<void, RateLimited> {
    const perMinute = sessionLimits.signInsPerMinute;
    const { bucket, retryAfterSeconds } = takeToken(this.#buckets.get(address), perMinute, this.#clock.now());
    this.#store(address, bucket);
    if (retryAfterSeconds === undefined) return ok(undefined);
    return err(
      rateLimited(
        `Your address has exceeded its limit of ${perMinute} failed sign-ins per minute. Try again in ${retryAfterSeconds} s.`,
        retryAfterSeconds,
      ),
    );
  }

  /** Undoes the count of an attempt. The caller must do this unless the attempt failed because its key is invalid. */
  forgive(address: string): void {
    const bucket = this.#buckets.get(address);
    // The counter may have dropped the address.
    if (bucket === undefined) return;
    this.#store(address, returnToken(bucket, sessionLimits.signInsPerMinute, this.#clock.now()));
  }

  #store(address: string, bucket: Bucket): void {
    this.#buckets.delete(address);
    this.#buckets.set(address, bucket);
    for (const oldest of this.#buckets.keys()) {
      if (this.#buckets.size <= ADDRESSES) break;
      this.#buckets.delete(oldest);
    }
  }
}
