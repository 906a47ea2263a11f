/** Stores certificates, challenges, orders, and accounts at certificate authorities. Private keys are encrypted. */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { noFailures } from "../../../core/domain/domains/certificate.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { type CertificateOrder, orderLimits } from "../../../core/domain/domains/order-budget.ts";
import {
  type Instant,
  parseInstant,
  plusMillis,
  type Timestamp,
  timestampOf,
} from "../../../core/domain/wire/instant.ts";
import type { Challenge } from "../../../core/ports/certificate-authority.ts";
import type { BegunOrder } from "../../../core/ports/certificate-store.ts";
import { transaction } from "./database.ts";
import { insert, selectAll, selectFirst } from "./sql.ts";

/** A certificate that listeners present. */
export interface ServedCertificate {
  readonly host: DomainName;
  /** The chain in PEM, the certificate of the host first. */
  readonly chain: string;
  /** The encrypted private key. */
  readonly key: Uint8Array;
}

/** The certificate of a host, and the attempts to get the next one. */
export interface CertificateRow {
  readonly host: DomainName;
  readonly chain: string | null;
  readonly key: Uint8Array | null;
  readonly notBefore: Timestamp | null;
  readonly notAfter: Timestamp | null;
  /** The name of the authority that issued the certificate. */
  readonly authority: string | null;
  /** The renewal window that the authority suggests, as JSON. */
  readonly renewal: string | null;
  /** The encrypted key of the next certificate. */
  readonly nextKey: Uint8Array | null;
  readonly nextOrder: string | null;
  /** The name of the authority of `nextOrder`. */
  readonly nextAuthority: string | null;
  /** The consecutive failed attempts. */
  readonly failures: number;
  /** The number of failed attempts that sent a request to an authority. */
  readonly orderFailures: number;
  /** The reason for the last failure. */
  readonly reason: string | null;
  readonly nextAttemptAt: Timestamp | null;
  /** The time before which each authority permits no attempt, by the name of the authority, as JSON. */
  readonly authorityDelays: string;
}

/** The columns that do not contain a chain or a key. */
export type CertificateState = Omit<CertificateRow, "chain" | "key" | "nextKey">;

/** The columns of a host without a certificate. */
export const noCertificate = {
  chain: null,
  key: null,
  notBefore: null,
  notAfter: null,
  authority: null,
  renewal: null,
} as const;

/** The columns of a host without failed attempts. */
export const noAttempts = { ...noFailures, authorityDelays: "{}" } as const;

/** The columns of a host without a key for the next certificate. */
export const noNext = { nextKey: null, nextOrder: null, nextAuthority: null } as const;

/** An account at a certificate authority. */
export interface AuthorityAccountRow {
  /** The URL of the authority's directory. */
  readonly directory: string;
  /** The encrypted private keys. */
  readonly key: Uint8Array;
  readonly url: string | null;
}

const STATE_COLUMNS: Readonly<Record<keyof CertificateState, string>> = {
  host: "host",
  notBefore: "not_before",
  notAfter: "not_after",
  authority: "authority",
  renewal: "renewal",
  nextOrder: "next_order",
  nextAuthority: "next_authority",
  failures: "failures",
  orderFailures: "order_failures",
  reason: "reason",
  nextAttemptAt: "next_attempt_at",
  authorityDelays: "authority_delays",
};

const COLUMNS: Readonly<Record<keyof CertificateRow, string>> = {
  ...STATE_COLUMNS,
  chain: "chain",
  key: "key",
  nextKey: "next_key",
};

const selected = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([property, column]) => `${column} AS ${property}`)
    .join(", ");

const SELECTED = selected(COLUMNS);

/** Returns the row of a host for which no certificate was ordered. */
const emptyRow = (host: DomainName): CertificateRow => ({
  host,
  ...noCertificate,
  ...noNext,
  ...noAttempts,
});

interface OrderRow {
  readonly account: AccountId;
  readonly registeredDomain: DomainName;
  readonly kind: CertificateOrder["kind"];
  readonly at: Timestamp;
}

export class CertificateRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Returns the certificate of each host that has one, sorted by host. Some may have expired. */
  served(): ServedCertificate[] {
    const issued =
      "SELECT host, chain, key FROM certificates WHERE chain IS NOT NULL AND key IS NOT NULL ORDER BY host";
    return selectAll<ServedCertificate>(this.#db, issued).map((row) => ({ ...row }));
  }

  /** Returns the row of a host, or an empty row if the host has none. */
  of(host: DomainName): CertificateRow {
    const row = selectFirst<CertificateRow>(this.#db, `SELECT ${SELECTED} FROM certificates WHERE host = ?`, host);
    return row === undefined ? emptyRow(host) : { ...row };
  }

  /** Returns every row, sorted by host. */
  all(): CertificateRow[] {
    const rows = selectAll<CertificateRow>(this.#db, `SELECT ${SELECTED} FROM certificates ORDER BY host`);
    return rows.map((row) => ({ ...row }));
  }

  /** Returns the state of every row, sorted by host, without the chains and keys. */
  states(): CertificateState[] {
    const states = `SELECT ${selected(STATE_COLUMNS)} FROM certificates ORDER BY host`;
    return selectAll<CertificateState>(this.#db, states).map((row) => ({ ...row }));
  }

  /** Changes some columns of a host's row, and creates the row if it is missing. */
  change(host: DomainName, change: Partial<Omit<CertificateRow, "host">>): void {
    const row = { ...this.of(host), ...change };
    const entries = Object.entries(COLUMNS).map(([property, column]): [string, SQLInputValue] => [
      column,
      row[property as keyof CertificateRow],
    ]);
    insert(this.#db, "INSERT OR REPLACE INTO certificates", Object.fromEntries(entries));
  }

  remove(host: DomainName): void {
    this.#db.prepare("DELETE FROM certificates WHERE host = ?").run(host);
  }

  /** Replaces the name of an authority in all rows. */
  renameAuthority(from: string, to: string): void {
    for (const column of [COLUMNS.authority, COLUMNS.nextAuthority])
      this.#db.prepare(`UPDATE certificates SET ${column} = ? WHERE ${column} = ?`).run(to, from);
  }

  /** Returns the published challenges. */
  challenges(): Challenge[] {
    const published =
      "SELECT type, host, token, key_authorization AS keyAuthorization FROM challenges ORDER BY host, token";
    return selectAll<Challenge>(this.#db, published).map((row) => ({ ...row }));
  }

  publish({ type, host, token, keyAuthorization }: Challenge): void {
    insert(this.#db, "INSERT OR REPLACE INTO challenges", { type, host, token, key_authorization: keyAuthorization });
  }

  withdraw({ type, host, token }: Challenge): void {
    this.#db.prepare("DELETE FROM challenges WHERE type = ? AND host = ? AND token = ?").run(type, host, token);
  }

  /** Withdraws the challenges that an earlier process has published. */
  withdrawAll(): void {
    this.#db.exec("DELETE FROM challenges");
  }

  /** Returns the recorded orders, oldest first. */
  orders(): CertificateOrder[] {
    const orders = `SELECT account, registered_domain AS registeredDomain, kind, at FROM certificate_orders ORDER BY id`;
    return selectAll<OrderRow>(this.#db, orders).map((row) => ({ ...row, at: parseInstant(row.at) as Instant }));
  }

  /** Stores a host's order. In the same transaction, records `counted` for the order limits, unless it is null. */
  startOrder(host: DomainName, { authority, url }: BegunOrder, counted: CertificateOrder | null): void {
    transaction(this.#db, () => {
      this.change(host, { nextOrder: url, nextAuthority: authority });
      if (counted !== null) this.#addOrder(counted);
    });
  }

  /** Records an order, and deletes the orders that no longer count towards the limits. */
  #addOrder({ account, registeredDomain, kind, at }: CertificateOrder): void {
    const keptSince = timestampOf(plusMillis(at, -orderLimits.windowMs));
    this.#db.prepare("DELETE FROM certificate_orders WHERE at < ?").run(keptSince);
    const row = { account, registered_domain: registeredDomain, kind, at: timestampOf(at) };
    insert(this.#db, "INSERT INTO certificate_orders", row);
  }

  account(directory: string): AuthorityAccountRow | undefined {
    const found = "SELECT directory, key, url FROM authority_accounts WHERE directory = ?";
    const row = selectFirst<AuthorityAccountRow>(this.#db, found, directory);
    return row === undefined ? undefined : { ...row };
  }

  accounts(): AuthorityAccountRow[] {
    const all = "SELECT directory, key, url FROM authority_accounts ORDER BY directory";
    return selectAll<AuthorityAccountRow>(this.#db, all).map((row) => ({ ...row }));
  }

  putAccount({ directory, key, url }: AuthorityAccountRow): void {
    insert(this.#db, "INSERT OR REPLACE INTO authority_accounts", { directory, key, url });
  }

  removeAccount(directory: string): void {
    this.#db.prepare("DELETE FROM authority_accounts WHERE directory = ?").run(directory);
  }
}
