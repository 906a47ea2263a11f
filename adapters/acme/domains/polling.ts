/** Polls an order or an authorization, as often as the authority permits: RFC 8555, section 7.5.1. */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type AcmeResponse, retryAfterOf } from "./http.ts";

/** An order takes less than a minute unless the authority is overloaded. A later attempt continues the order. */
const ORDER_TIMEOUT_MS = 10 * 60_000;

/** The delays between polls if the authority specifies none: they double from the first to the longest. */
const POLL = { firstMs: 500, longestMs: 10_000 } as const;

/** Waits before the next poll. Fails if the order takes too long. */
export type Wait = (response: AcmeResponse) => ResultAsync<void, Unavailable>;

export const createWait = (authority: string, clock: Clock, options?: CallOptions): Wait => {
  const until = plusMillis(clock.now(), ORDER_TIMEOUT_MS);
  let next: number = POLL.firstMs;
  const waited = async (response: AcmeResponse): Promise<Result<void, Unavailable>> => {
    const now: Instant = clock.now();
    const delay = Math.max(retryAfterOf(response, now) ?? next, POLL.firstMs);
    next = Math.min(next * 2, POLL.longestMs);
    if (plusMillis(now, delay) > until)
      return err(unavailable(`The certificate authority ${authority} is still busy.`, Math.ceil(delay / 1000)));
    await clock.sleep(delay, options?.signal);
    return options?.signal?.aborted === true ? err(unavailable("The order was cancelled.")) : ok(undefined);
  };
  return (response) => new ResultAsync(waited(response));
};
