/** A token bucket: a rate per minute, with bursts of up to one minute's worth of requests. */
import type { Instant } from "../wire/instant.ts";

export interface Bucket {
  readonly tokens: number;
  readonly at: Instant;
}

/** Takes one token at `now`. If the bucket is empty, `retryAfterSeconds` is the wait in whole seconds, at least 1. */
export const takeToken = (
  bucket: Bucket | undefined,
  perMinute: number,
  now: Instant,
): { readonly bucket: Bucket; readonly retryAfterSeconds?: number } => {
  const elapsed = bucket === undefined ? 0 : Math.max(0, Number(now - bucket.at)) / 60e9;
  const tokens = bucket === undefined ? perMinute : Math.min(perMinute, bucket.tokens + elapsed * perMinute);
  if (tokens >= 1) return { bucket: { tokens: tokens - 1, at: now } };
  return { bucket: { tokens, at: now }, retryAfterSeconds: Math.max(1, Math.ceil(((1 - tokens) * 60) / perMinute)) };
};
