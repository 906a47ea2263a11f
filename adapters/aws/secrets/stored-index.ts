/** Reads and writes the list of an account's secrets in the state bucket. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import type { Result, ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { createSharedObjects } from "../state/shared-objects.ts";
import type { StateBucket } from "../state/state-bucket.ts";
import { emptyIndex, parseIndex, renderIndex, type SecretIndex } from "./secret-index.ts";

/** Returns the changed list. Returns the same object if there is nothing to write. */
export type IndexChange<E> = (index: SecretIndex) => Result<SecretIndex, E>;

export interface StoredIndex {
  read(owner: AccountId, options: CallOptions): ResultAsync<SecretIndex, Unavailable>;
  /** Writes a changed list, and returns it. Repeats the change if another call has written the list meanwhile. */
  update<E>(owner: AccountId, change: IndexChange<E>, options: CallOptions): ResultAsync<SecretIndex, E | Unavailable>;
}

const keyOf = (owner: AccountId): string => `secrets/${accountDigest(owner)}.json`;

export const createStoredIndex = (
  bucket: StateBucket,
  runtime: { readonly clock: Clock; readonly logger: Logger },
): StoredIndex => {
  const format = { name: () => "the list of the account's secrets", parse: parseIndex, render: renderIndex };
  const objects = createSharedObjects(bucket, format, runtime);
  return {
    read: (owner, options) => objects.read(keyOf(owner), options).map((found) => found ?? emptyIndex),

    update: (owner, change, options) => {
      const changeFound = (found: SecretIndex | null) =>
        change(found ?? emptyIndex).map((next) => (next === emptyIndex ? found : next));
      return objects.update(keyOf(owner), changeFound, options).map((index) => index ?? emptyIndex);
    },
  };
};
