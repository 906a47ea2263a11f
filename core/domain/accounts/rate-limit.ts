/** A token bucket: a rate per minute, with bursts of up to one minute's worth of requests. */
import type { Instant } from "../wire/instant.ts";

export interface Bucket {
  readonly tokens: number;
  readonly at: Instant;
}

/** Returns the tokens of a bucket at `now`, at most `perMinute`. A missing bucket is full. */
const tokensAt = (bucket: Bucket | undefined, perMinute: number, now: Instant): number => {
  if (bucket === undefined) return perMinute;
  const elapsed = Math.max(0, Number(now - bucket.at)) / 60e9;
  return Math.min(perMinute, bucket.tokens + elapsed * perMinute);
};

/** Returns how many requests count against the limit at `now`. */
export const usedTokens = (bucket: Bucket | undefined, perMinute: number, now: Instant): number =>
  perMinute - Math.floor(tokensAt(bucket, perMinute, now));

/** Returns a token to a bucket at `now`. */
export const returnToken = (bucket: Bucket | undefined, perMinute: number, now: Instant): Bucket => ({
  tokens: Math.min(perMinute, tokensAt(bucket, perMinute, now) + 1),
  at: now,
});

/**
 * Takes one token at `now`. If the bucket has fewer than `reserve + 1` tokens, takes none, and `retryAfterSeconds` is
 * the wait in whole seconds, at least 1.
 */
export const takeToken = (
  bucket: Bucket | undefined,
  perMinute: number,
  now: Instant,
  reserve = 0,
): { readonly bucket: Bucket; readonly retryAfterSeconds?: number } => {
  const tokens = tokensAt(bucket, perMinute, now);
  const missing = reserve + 1 - tokens;
  if (missing <= 0) return { bucket: { tokens: tokens - 1, at: now } };
  return { bucket: { tokens, at: now }, retryAfterSeconds: Math.max(1, Math.ceil((missing * 60) / perMinute)) };
};
