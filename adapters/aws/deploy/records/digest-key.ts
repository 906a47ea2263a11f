/**
 * The installation's secrets: objects in the state bucket, which the first reader creates. The bucket also contains the
 * values of variables, so the secrets need no stronger protection.
 */
import { randomBytes } from "node:crypto";
import type { Unavailable } from "../../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../../core/result.ts";
import { isState, type RetryOptions, throwState } from "../../call-policy.ts";
import type { StateBucket } from "../../state/state-bucket.ts";

/** `digests`: for digests of variables. `domains`: for the proofs of ownership of domains. */
type KeyName = "digests" | "domains";
const BYTES = 32;

/** Returns the secret. Reads it only once. */
export type DigestKey = (retry?: RetryOptions) => ResultAsync<string, Unavailable>;

export const createDigestKey = (bucket: StateBucket, name: KeyName = "digests"): DigestKey => {
  const object = `keys/${name}`;
  let known: string | undefined;
  return (retry) =>
    safeTry(async function* () {
      while (known === undefined) {
        const found = yield* await bucket.get(object, retry);
        if (found !== null) known = found.text;
        else {
          const written = await bucket.put(object, randomBytes(BYTES).toString("hex"), "absent", "", retry);
          // Another server may have created the key. The next read returns the stored one.
          if (written.isErr() && !isState(written, "exists", "changed")) return err(throwState(written.error));
        }
      }
      return ok(known);
    });
};
