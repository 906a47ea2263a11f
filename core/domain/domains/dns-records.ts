/** The DNS records of a domain: which ones its owner must create, and what is wrong with the existing ones. */
import type { DomainRecord } from "./domain.ts";
import type { DomainName } from "./domain-name.ts";

/** Where requests reach the platform, and who issues its certificates. */
export interface DomainTarget {
  /** The host to which a CNAME record is correct, whatever the addresses; null if only addresses count. */
  readonly host: string | null;
  /** The public addresses of the platform. May be empty if `host` is not null. */
  readonly addresses: readonly string[];
  /** The domains under which the platform serves deployments. No account may add them or their subdomains. */
  readonly platformDomains: readonly string[];
  /**
   * The names of the certificate authorities in CAA records (RFC 8659). Empty if the platform does not obtain
   * certificates.
   */
  readonly authorities: readonly string[];
}

/**
 * Returns the domains that no account may add: the platform's domains, and the host name to which CNAME records point.
 */
export const platformDomainsOf = ({ host, platformDomains }: DomainTarget): readonly string[] =>
  host === null ? platformDomains : [...platformDomains, host];

/** Returns the name of the TXT record that proves ownership of a domain. */
export const ownershipName = (domain: DomainName): string => `_portside.${domain}`;

/** Returns the TXT record that proves ownership of a domain. */
export const ownershipRecord = (domain: DomainName, proof: string): DomainRecord => ({
  type: "TXT",
  name: ownershipName(domain),
  value: proof,
  purpose: "ownership",
});

const isIpv6 = (address: string): boolean => address.includes(":");

/**
 * Returns the records that send requests to the platform. If the platform has a host name, a subdomain gets a CNAME
 * record, which stays valid when the addresses change. The apex of a zone cannot have one (RFC 1034, section 3.6.2).
 */
export const addressRecords = (domain: DomainName, isApex: boolean, target: DomainTarget): readonly DomainRecord[] => {
  const record = (type: DomainRecord["type"], value: string): DomainRecord => ({
    type,
    name: domain,
    value,
    purpose: "address",
  });
  if (target.host !== null && !isApex) return [record("CNAME", target.host)];
  if (target.addresses.length > 0)
    return target.addresses.map((address) => record(isIpv6(address) ? "AAAA" : "A", address));
  return target.host === null ? [] : [record("ALIAS", target.host)];
};

/** Returns the domain and its parents, nearest first, without the top-level domain. Each may have CAA records. */
export const withParents = (domain: string): readonly string[] => {
  const labels = domain.split(".");
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join("."));
};

/** The records of a domain as the authoritative servers return them. */
export interface FoundRecords {
  /** The TXT records of `ownershipName`. */
  readonly ownership: readonly string[];
  /** The A and AAAA records of the domain, after following CNAME records. */
  readonly addresses: readonly string[];
  /** The names in the chain of the domain's CNAME records. */
  readonly aliases: readonly string[];
  /** The CAA records of the domain, or of its nearest parent that has any. */
  readonly caa: readonly string[];
}

/** The records that a check expects. */
export interface ExpectedRecords {
  readonly proof: string;
  /** The host to which a CNAME record is correct, whatever the addresses; null if only addresses count. */
  readonly host: string | null;
  readonly addresses: readonly string[];
  readonly authorities: readonly string[];
}

/**
 * The maximum number of addresses of each kind in a message. A domain can have thousands, and a load balancer more than
 * a hundred. The store keeps the message.
 */
const MAX_LISTED_ADDRESSES = 5;

const listed = (values: readonly string[], max = values.length): string => {
  const shown = values.slice(0, max).map((one) => `'${one}'`);
  return values.length > max ? `${shown.join(", ")} and ${values.length - max} more` : shown.join(", ");
};

/** Compares addresses in their canonical form, because an IPv6 address has many forms. */
const canonical = (address: string): string => {
  if (!isIpv6(address)) return address;
  try {
    return new URL(`http://[${address}]`).hostname.slice(1, -1);
  } catch {
    return address;
  }
};

const ownershipProblem = (domain: DomainName, found: readonly string[], proof: string): string | undefined => {
  if (found.includes(proof)) return undefined;
  const create = `Create the TXT record '${ownershipName(domain)}' with the value '${proof}'.`;
  return found.length === 0
    ? `The TXT record that proves ownership does not exist. ${create}`
    : `The TXT record '${ownershipName(domain)}' has a different value. ${create}`;
};

const addressProblem = (
  domain: DomainName,
  { addresses: found, aliases }: Pick<FoundRecords, "addresses" | "aliases">,
  { addresses: expected, host }: Pick<ExpectedRecords, "addresses" | "host">,
): string | undefined => {
  if (found.length === 0) return `'${domain}' has no address. Create the address records.`;
  // The addresses of a host with many can differ in each response.
  if (host !== null && aliases.includes(host)) return undefined;
  const known = new Set(expected.map(canonical));
  // An authority and a browser may use any of the addresses.
  const foreign = found.filter((address) => !known.has(canonical(address)));
  return foreign.length === 0
    ? undefined
    : `'${domain}' points to ${listed(foreign, MAX_LISTED_ADDRESSES)}, but must point only to ${listed(expected, MAX_LISTED_ADDRESSES)}. Correct the address records, and turn off proxying at your DNS provider.`;
};

/** Returns the authority that a CAA record permits: `""` for none, undefined if the record restricts nothing. */
const permittedBy = (record: string): string | undefined => {
  const value = /^\d+\s+issue\b(.*)$/is.exec(record)?.[1];
  // The parameters may contain quotes. A value without a name permits no authority.
  return value?.split(";")[0]?.replaceAll('"', "").trim().toLowerCase();
};

const caaProblem = (
  domain: DomainName,
  found: readonly string[],
  authorities: readonly string[],
): string | undefined => {
  const permitted = found.map(permittedBy).filter((one) => one !== undefined);
  if (permitted.length === 0 || authorities.length === 0) return undefined;
  return permitted.some((one) => authorities.includes(one))
    ? undefined
    : `The CAA records of '${domain}' do not permit a certificate from ${listed(authorities)}. Add the CAA record '0 issue "${authorities[0]}"'.`;
};

/** Returns a message for each address or CAA record that is missing or wrong, each with the next step. */
export const reachabilityProblems = (
  domain: DomainName,
  found: Omit<FoundRecords, "ownership">,
  expected: Omit<ExpectedRecords, "proof">,
): readonly string[] =>
  [addressProblem(domain, found, expected), caaProblem(domain, found.caa, expected.authorities)].filter(
    (one) => one !== undefined,
  );

/** Returns a message for each record that is missing or wrong, each with the next step. */
export const recordProblems = (
  domain: DomainName,
  found: FoundRecords,
  expected: ExpectedRecords,
): readonly string[] => {
  const ownership = ownershipProblem(domain, found.ownership, expected.proof);
  return [...(ownership === undefined ? [] : [ownership]), ...reachabilityProblems(domain, found, expected)];
};
