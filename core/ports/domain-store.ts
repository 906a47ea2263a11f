/**
 * Ports for the domains of accounts. The core validates domains, compares DNS records and determines the status of each
 * domain. The store keeps the domains, and the resolver reads DNS.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { DomainTarget } from "../domain/domains/dns-records.ts";
import type { CustomDomain, DomainLimits, StoredDomain } from "../domain/domains/domain.ts";
import type { DomainName, RegisteredDomain } from "../domain/domains/domain-name.ts";
import type { ManagedCertificate } from "../domain/domains/managed-certificate.ts";
import type { Conflict, RateLimited, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CertificatePorts } from "./certificate-store.ts";
import type { CallOptions } from "./system.ts";

/**
 * Stores the domains of all accounts. A domain has at most one owner.
 *
 * A provider that runs services must route a domain's requests to its deployment, unless the domain is `pending` or the
 * deployment belongs to a different account.
 */
export interface DomainStore {
  /** Returns a domain of any account, or null. Must see every write of this port that ended before the call. */
  find(domain: DomainName, options?: CallOptions): ResultAsync<StoredDomain | null, Unavailable>;

  /** Returns the account's domains, sorted by domain. Must see every write of this port that ended before the call. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly StoredDomain[], Unavailable>;

  /**
   * Writes a domain, and returns it with its new etag. `owner` may differ from the current owner.
   *
   * Fails with `conflict` and changes nothing if the stored domain does not have the etag `expected`, or, for
   * `expected: "absent"`, if the domain exists. Of several concurrent writes with the same `expected`, exactly one
   * succeeds.
   */
  write(
    domain: CustomDomain,
    expected: { readonly etag: string } | "absent",
    options?: CallOptions,
  ): ResultAsync<StoredDomain, Conflict | Unavailable>;

  /** Removes a domain. Fails with `conflict` and changes nothing if the stored domain does not have the etag. */
  remove(
    domain: DomainName,
    expected: { readonly etag: string },
    options?: CallOptions,
  ): ResultAsync<void, Conflict | Unavailable>;

  /**
   * Returns the value of the TXT record that proves the account's control of the domain: at most 255 printable ASCII
   * characters without spaces. Must be the same in every call, and must differ between accounts, domains and
   * installations. Clients must not be able to compute the value.
   */
  proof(owner: AccountId, domain: DomainName, options?: CallOptions): ResultAsync<string, Unavailable>;
}

/** The record types that a check reads. */
export type DnsType = "A" | "AAAA" | "TXT" | "CAA" | "CNAME";

export interface LookupOptions extends CallOptions {
  /** Whether the lookup may use the capacity that the resolver reserves for the platform's own checks. */
  readonly isReserved?: boolean;
  /** The account that requested the lookup. Absent for the platform's own checks. */
  readonly account?: AccountId;
}

/** Reads DNS records. */
export interface DnsResolver {
  /**
   * Returns the values of a name's records, in any order. Follows CNAME records. Returns an empty array if the name
   * does not exist or has no such records. A CAA record has the form `0 issue "example.net"`. The strings of a TXT
   * record are joined. For `CNAME`, returns the names of the whole chain, nearest first.
   *
   * Must query the authoritative servers of the name, because a cache may have records that the owner has replaced.
   * Fails with `unavailable` if the servers do not respond, and with `rate_limited` if the resolver itself has too many
   * lookups. The lookups of one account must not use up the limit of other accounts.
   */
  resolve(
    name: string,
    type: DnsType,
    options?: LookupOptions,
  ): ResultAsync<readonly string[], Unavailable | RateLimited>;
}

/** The certificates and routes of a provider whose cloud issues and renews certificates. */
export interface ManagedDomains {
  /** Returns the host name to which the domain must point. It may depend on the deployment. */
  hostFor(domain: CustomDomain, options?: CallOptions): ResultAsync<string, Unavailable>;

  /** Returns the last known state of the certificate. Must be fast, because it is called for each domain of a list. */
  find(domain: CustomDomain, options?: CallOptions): ResultAsync<ManagedCertificate, Unavailable>;

  /**
   * Advances the certificate towards being served, and returns its new state. Requests a certificate if the domain has
   * none, and serves an issued one unless the domain is `pending`. May be called at any time; does not wait for the
   * validation.
   */
  advance(domain: CustomDomain, options?: CallOptions): ResultAsync<ManagedCertificate, Unavailable>;
}

/** The ports of a provider that supports the domains of accounts. */
export interface DomainPorts {
  readonly store: DomainStore;
  readonly dns: DnsResolver;
  /** Must not change while the control plane runs. */
  readonly target: DomainTarget;
  readonly registeredDomain: RegisteredDomain;
  /**
   * Absent if Portside does not order the provider's certificates. Without `managed`, a domain is then active if its
   * DNS records are correct.
   */
  readonly certificates?: CertificatePorts | undefined;
  /** Present if the cloud issues the certificates. `certificates` is then absent. */
  readonly managed?: ManagedDomains;
  /** Absent if the provider sets no additional limits. */
  readonly limits?: DomainLimits;
}
