/** The local DomainStore. A change completes when the engine has applied it. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { CustomDomain, StoredDomain } from "../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { type Conflict, conflict, type Unavailable } from "../../../core/errors.ts";
import type { DomainStore } from "../../../core/ports/domain-store.ts";
import type { Ids } from "../../../core/ports/system.ts";
import { err, ok, okAsync, type Result, ResultAsync } from "../../../core/result.ts";
import { ownershipProof } from "../../shared/domains/ownership-proof.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import type { Engine } from "../engine/engine.ts";
import { guardState, type StateDatabase, transaction } from "../state/database.ts";
import { DomainRows } from "../state/domains.ts";

export interface DomainStoreDeps {
  readonly db: StateDatabase;
  readonly engine: Pick<Engine, "apply">;
  /** The key for proofs of ownership. A new key invalidates all proofs. */
  readonly proofKey: string;
  readonly ids: Ids;
}

const changed = (domain: DomainName): Conflict =>
  conflict(`The domain '${domain}' was changed by another request. Try again.`);

export class LocalDomains implements DomainStore {
  readonly #deps: DomainStoreDeps;
  readonly #rows: DomainRows;

  constructor(deps: DomainStoreDeps) {
    this.#deps = deps;
    this.#rows = new DomainRows(deps.db);
  }

  find(domain: DomainName): ResultAsync<StoredDomain | null, Unavailable> {
    return guardState(() => this.#rows.find(domain));
  }

  list(owner: AccountId): ResultAsync<readonly StoredDomain[], Unavailable> {
    return guardState(() => this.#rows.of(owner));
  }

  write(
    domain: CustomDomain,
    expected: { readonly etag: string } | "absent",
  ): ResultAsync<StoredDomain, Conflict | Unavailable> {
    const etag = this.#deps.ids.id();
    const found = expected === "absent" ? undefined : expected.etag;
    return this.#change(domain.domain, found, () => this.#rows.put(domain, etag)).map(() => ({ ...domain, etag }));
  }

  remove(domain: DomainName, { etag }: { readonly etag: string }): ResultAsync<void, Conflict | Unavailable> {
    return this.#change(domain, etag, () => this.#rows.remove(domain));
  }

  proof(owner: AccountId, domain: DomainName): ResultAsync<string, Unavailable> {
    return okAsync(ownershipProof({ id: "local", key: this.#deps.proofKey }, owner, domain));
  }

  /** @param etag the expected etag; undefined if the domain must not exist */
  #change(domain: DomainName, etag: string | undefined, work: () => void): ResultAsync<void, Conflict | Unavailable> {
    return guardState(() =>
      transaction(this.#deps.db, (): Result<void, Conflict> => {
        if (this.#rows.find(domain)?.etag !== etag) return err(changed(domain));
        return ok(work());
      }),
    )
      .andThen((result) => result)
      .andThen(() =>
        ResultAsync.fromPromise(this.#deps.engine.apply(), (cause) =>
          storeUnavailable("The change is stored, but the engine has not applied it yet. Try again.", cause),
        ),
      )
      .map(() => undefined);
  }
}
