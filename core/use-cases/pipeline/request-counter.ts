/** Counts the requests of each account against its rate limit. */
import type { AccountId } from "../../domain/accounts/account.ts";
import { type Bucket, takeToken, usedTokens } from "../../domain/accounts/rate-limit.ts";
import { type RateLimited, rateLimited } from "../../errors.ts";
import type { Clock } from "../../ports/system.ts";
import { err, ok, type Result } from "../../result.ts";

export class RequestCounter {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #buckets = new Map<AccountId, Bucket>();

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Counts a request. Fails if the account exceeds the limit. */
  count(account: AccountId): Result<void, RateLimited> {
    const perMinute = this.#perMinute;
    const { bucket, retryAfterSeconds } = takeToken(this.#buckets.get(account), perMinute, this.#clock.now());
    this.#buckets.set(account, bucket);
    return retryAfterSeconds === undefined
      ? ok(undefined)
      : err(
          rateLimited(
            `Your account has exceeded its limit of ${perMinute} requests per minute. Try again in ${retryAfterSeconds} s.`,
            retryAfterSeconds,
          ),
        );
  }

  /** Returns the number of requests that count against the account's limit now. */
  used(account: AccountId): number {
    return usedTokens(this.#buckets.get(account), this.#perMinute, this.#clock.now());
  }
}
