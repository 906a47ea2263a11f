/** A stored API key: its hash and metadata, never the secret. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";

export interface KeyRecord {
  readonly id: string;
  readonly account: AccountId;
  readonly label: string;
  /** `psk_` and the first characters. */
  readonly prefix: string;
  /** SHA-256 of the key, hexadecimal. The key has 238 bits of randomness, so a slow hash would add nothing. */
  readonly hash: string;
  readonly createdAt: Timestamp;
  readonly lastUsedAt: Timestamp | null;
}

/** A row of the key table, with the column names of the SQL databases. */
interface KeyRow {
  readonly id: string;
  readonly account: string;
  readonly label: string;
  readonly prefix: string;
  readonly hash: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

export const keyRecordOf = (row: unknown): KeyRecord => {
  const { id, account, label, prefix, hash, created_at, last_used_at } = row as KeyRow;
  return {
    id,
    account: account as AccountId,
    label,
    prefix,
    hash,
    createdAt: created_at as Timestamp,
    lastUsedAt: last_used_at as Timestamp | null,
  };
};

/** Storage for key records. Methods may throw; the caller converts exceptions to `unavailable`. */
export interface KeyRecords {
  insert(record: KeyRecord): Promise<void>;
  /** Returns all keys with this prefix, usually one or none. */
  withPrefix(prefix: string): Promise<readonly KeyRecord[]>;
  /** Returns the account's keys, oldest first. */
  ofAccount(account: AccountId): Promise<readonly KeyRecord[]>;
  /** Deletes a key. Returns false if the account does not have it. */
  remove(account: AccountId, id: string): Promise<boolean>;
  used(id: string, at: Timestamp): Promise<void>;
}
