/**
 * The installation's secret for digests of variables: the object `keys/digests` in the state bucket, which the first
 * reader creates. The bucket also contains the values of the variables, so the key needs no stronger protection.
 */
import { randomBytes } from "node:crypto";
import type { Unavailable } from "../../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { isState, type RetryOptions, throwState } from "../../call-policy.ts";
import type { StateBucket } from "../../state-bucket.ts";

const KEY = "keys/digests";
const BYTES = 32;

/** Returns the secret. Reads it only once. */
export type DigestKey = (retry?: RetryOptions) => ResultAsync<string, Unavailable>;

export const createDigestKey = (bucket: StateBucket): DigestKey => {
  let known: string | undefined;
  return (retry) =>
    safeTry(async function* () {
      while (known === undefined) {
        const found = yield* await bucket.get(KEY, retry);
        if (found !== null) known = found.text;
        else {
          const written = await bucket.put(KEY, randomBytes(BYTES).toString("hex"), "absent", "", retry);
          // Another server may have created the key. The next read returns the stored one.
          if (written.isErr() && !isState(written, "exists", "changed")) return err(throwState(written.error));
        }
      }
      return ok(known);
    });
};
