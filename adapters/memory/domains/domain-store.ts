/** Stores domains in memory. Proofs depend on a random key, so each provider has its own. */
import { randomBytes } from "node:crypto";
import { conflict } from "../../../core/errors.ts";
import type { DomainStore } from "../../../core/ports/domain-store.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { ownershipProof } from "../../shared/domains/ownership-proof.ts";
import type { World } from "../world.ts";

export const createMemoryDomains = (world: World): DomainStore => {
  const installation = { id: "memory", key: randomBytes(32) };
  const changed = (domain: string) => conflict(`The domain '${domain}' was changed by another request. Try again.`);
  return {
    find: (domain) => okAsync(world.domains.get(domain) ?? null),

    list: (owner) =>
      okAsync(
        [...world.domains.values()]
          .filter((stored) => stored.owner === owner)
          .sort((a, b) => (a.domain < b.domain ? -1 : 1)),
      ),

    write: (domain, expected) => {
      const etag = world.domains.get(domain.domain)?.etag;
      if (etag !== (expected === "absent" ? undefined : expected.etag)) return errAsync(changed(domain.domain));
      const stored = { ...domain, etag: String(++world.writes) };
      world.domains.set(domain.domain, stored);
      return okAsync(stored);
    },

    remove: (domain, { etag }) => {
      if (world.domains.get(domain)?.etag !== etag) return errAsync(changed(domain));
      world.domains.delete(domain);
      return okAsync(undefined);
    },

    proof: (owner, domain) => okAsync(ownershipProof(installation, owner, domain)),
  };
};
