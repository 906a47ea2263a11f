/** Stores the custom domains of all accounts. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { CustomDomain, StoredDomain } from "../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { insert, selectAll, selectFirst } from "./sql.ts";

/** The service that serves a custom domain. */
export interface DomainRoute {
  readonly domain: DomainName;
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

/**
 * The domains whose requests the platform serves: domains that are not `pending`, and whose deployment belongs to the
 * owner of the domain.
 */
const ROUTES = "SELECT domain, name, owner FROM domains JOIN services USING (name, owner) WHERE status <> 'pending'";

const COLUMNS = "domain, owner, name, status, detail, created_at AS createdAt, checked_at AS checkedAt, etag";

export class DomainRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  find(domain: DomainName): StoredDomain | null {
    const row = selectFirst<StoredDomain>(this.#db, `SELECT ${COLUMNS} FROM domains WHERE domain = ?`, domain);
    return row === undefined ? null : { ...row };
  }

  /** Returns the account's domains, sorted by domain. */
  of(owner: AccountId): StoredDomain[] {
    const own = `SELECT ${COLUMNS} FROM domains WHERE owner = ? ORDER BY domain`;
    return selectAll<StoredDomain>(this.#db, own, owner).map((row) => ({ ...row }));
  }

  /** Returns the domains whose requests the platform serves, sorted by domain. */
  routes(): DomainRoute[] {
    return selectAll<DomainRoute>(this.#db, `${ROUTES} ORDER BY domain`).map((row) => ({ ...row }));
  }

  /** Returns the service of a domain whose requests the platform serves. */
  route(domain: DomainName): DomainRoute | undefined {
    return selectFirst<DomainRoute>(this.#db, `${ROUTES} AND domain = ?`, domain);
  }

  put({ domain, owner, name, status, detail, createdAt, checkedAt }: CustomDomain, etag: string): void {
    const row = { domain, owner, name, status, detail, created_at: createdAt, checked_at: checkedAt, etag };
    insert(this.#db, "INSERT OR REPLACE INTO domains", row);
  }

  remove(domain: DomainName): void {
    this.#db.prepare("DELETE FROM domains WHERE domain = ?").run(domain);
  }
}
