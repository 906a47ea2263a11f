/**
 * The HMAC key for digests of secrets. It is a secret of the installation, and the first caller creates it. Users who
 * can read the digests, in annotations or in the state bucket, must not be able to read the key. With the key, they
 * could guess short values.
 */
import { randomBytes } from "node:crypto";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";

const BYTES = 32;

export interface DigestKeyCalls<K> {
  /** Returns null if the key does not exist. */
  read(options: CallOptions): ResultAsync<K | null, Unavailable>;
  /** Stores a key. If two processes create the key concurrently, later reads of both must return the same key. */
  create(key: Buffer, options: CallOptions): ResultAsync<unknown, Unavailable>;
}

/** Returns a function that returns the key, and reads it only once. */
export const createDigestKey = <K extends string | Uint8Array>({
  read,
  create,
}: DigestKeyCalls<K>): ((options: CallOptions) => ResultAsync<K, Unavailable>) => {
  let known: K | undefined;
  return (options) =>
    safeTry(async function* () {
      if (known !== undefined) return ok(known);
      let found = yield* await read(options);
      if (found === null) {
        yield* await create(randomBytes(BYTES), options);
        found = yield* await read(options);
      }
      if (found === null) return err(unavailable("The key for digests of secrets is not available yet. Try again.", 5));
      // Anyone could compute digests with an empty key. Only a manual change can store such a key.
      if (found.length === 0)
        return err(unavailable("The key for digests of secrets is empty. The operator must restore its value.", 60));
      known = found;
      return ok(known);
    });
};
