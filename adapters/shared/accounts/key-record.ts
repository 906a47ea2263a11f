/** A stored API key: its hash, its prefix and metadata, without the rest of the key. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";

export interface KeyRecord {
  readonly id: string;
  readonly account: AccountId;
  readonly label: string;
  /** `psk_` and the next eight characters. */
  readonly prefix: string;
  /** SHA-256 of the key, hexadecimal. The key has 238 bits of randomness, so a slow hash would add nothing. */
  readonly hash: string;
  readonly createdAt: Timestamp;
  readonly lastUsedAt: Timestamp | null;
}

/** A row of the key table, with the column names of the SQL databases. */
type KeyRow = Omit<KeyRecord, "createdAt" | "lastUsedAt"> & {
  readonly created_at: Timestamp;
  readonly last_used_at: Timestamp | null;
};

export const keyRecordOf = (row: unknown): KeyRecord => {
  const { id, account, label, prefix, hash, created_at: createdAt, last_used_at: lastUsedAt } = row as KeyRow;
  return { id, account, label, prefix, hash, createdAt, lastUsedAt };
};

/** Storage for key records. Methods may throw; the caller converts exceptions to `unavailable`. */
export interface KeyRecords {
  insert(record: KeyRecord): Promise<void>;
  /** Returns all keys with this prefix, usually at most one. */
  withPrefix(prefix: string): Promise<readonly KeyRecord[]>;
  /** Returns the account's keys, oldest first. */
  ofAccount(account: AccountId): Promise<readonly KeyRecord[]>;
  /** Deletes a key. Returns false if the account does not have it. */
  remove(account: AccountId, id: string): Promise<boolean>;
  used(id: string, at: Timestamp): Promise<void>;
}
