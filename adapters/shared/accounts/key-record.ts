/** An API key as it is stored: never the key itself, only what recognises it. */
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

/** A row of a table of keys, as SQL databases name its columns. */
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

/** Where keys are kept. Implementations may throw; the caller turns that into `unavailable`. */
export interface KeyRecords {
  insert(record: KeyRecord): Promise<void>;
  /** Every key with this prefix; usually one or none. */
  withPrefix(prefix: string): Promise<readonly KeyRecord[]>;
  /** The account's keys, oldest first. */
  ofAccount(account: AccountId): Promise<readonly KeyRecord[]>;
  /** True where the account had the key. */
  remove(account: AccountId, id: string): Promise<boolean>;
  used(id: string, at: Timestamp): Promise<void>;
}
