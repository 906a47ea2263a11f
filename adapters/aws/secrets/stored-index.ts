/** Reads and writes the list of an account's secrets in the state bucket. S3 is strongly consistent. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { isState, throwState } from "../call-policy.ts";
import type { StateBucket, StateObject } from "../state-bucket.ts";
import { emptyIndex, parseIndex, renderIndex, type SecretIndex } from "./secret-index.ts";

/** Returns the changed list. Returns the same object if there is nothing to write. */
export type IndexChange<E> = (index: SecretIndex) => Result<SecretIndex, E>;

export interface StoredIndex {
  read(owner: AccountId, options: CallOptions): ResultAsync<SecretIndex, Unavailable>;
  /**
   * Writes a changed list, and returns it. If another call has written the list since the read, reads the new list and
   * repeats the change.
   */
  update<E>(owner: AccountId, change: IndexChange<E>, options: CallOptions): ResultAsync<SecretIndex, E | Unavailable>;
}

/** Maximum attempts of a write. */
const TRIES = 20;
const PAUSE_MS = 100;

const keyOf = (owner: AccountId): string => `secrets/${accountDigest(owner)}.json`;

interface Seen {
  readonly index: SecretIndex;
  readonly found: StateObject | null;
}

export const createStoredIndex = (
  bucket: StateBucket,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): StoredIndex => {
  const read = (owner: AccountId, { signal }: CallOptions): ResultAsync<Seen, Unavailable> =>
    bucket.get(keyOf(owner), { signal }).andThen((found) => {
      const index = found === null ? emptyIndex : parseIndex(found.text);
      if (index !== undefined) return ok({ index, found });
      logger.error("the list of an account's secrets is damaged", { key: keyOf(owner) });
      return err(
        unavailable(
          "The list of the account's secrets is damaged. The operator can find the object's name in the server's log.",
          60,
        ),
      );
    });

  /** Returns undefined if another call has written the list since it was read. */
  const write = (
    owner: AccountId,
    { found }: Seen,
    index: SecretIndex,
    { signal }: CallOptions,
  ): ResultAsync<SecretIndex | undefined, Unavailable> =>
    safeTry(async function* () {
      const condition = found === null ? "absent" : { etag: found.etag };
      const written = await bucket.put(keyOf(owner), renderIndex(index), condition, "", { signal });
      if (isState(written, "changed", "exists", "not_found")) return ok(undefined);
      yield* written.mapErr(throwState);
      return ok(index);
    });

  return {
    read: (owner, options) => read(owner, options).map(({ index }) => index),

    update: <E>(owner: AccountId, change: IndexChange<E>, options: CallOptions) =>
      safeTry<SecretIndex, E | Unavailable>(async function* () {
        for (let tries = 1; tries <= TRIES; tries++) {
          const seen = yield* await read(owner, options);
          const after = yield* change(seen.index);
          if (after === seen.index) return ok(after);
          const written = yield* await write(owner, seen, after, options);
          if (written !== undefined) return ok(written);
          await clock.sleep(PAUSE_MS * tries, options.signal);
        }
        return err(unavailable("Too many calls change the account's secrets. Try again.", 5));
      }),
  };
};
