/** Reads the DNS records of a domain, and compares them with the expected ones. */
import {
  type DomainTarget,
  type ExpectedRecords,
  type FoundRecords,
  ownershipName,
  reachabilityProblems,
  recordProblems,
  withParents,
} from "../../domain/domains/dns-records.ts";
import type { CustomDomain } from "../../domain/domains/domain.ts";
import type { CheckOutcome } from "../../domain/domains/domain-check.ts";
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type RateLimited, type Unavailable, unavailable } from "../../errors.ts";
import type { DomainPorts, LookupOptions } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../result.ts";

type LookupFailure = Unavailable | RateLimited;

type Records = ResultAsync<readonly string[], LookupFailure>;

const addressesOf = ({ dns }: DomainPorts, name: string, options: LookupOptions): Records =>
  safeTry(async function* () {
    const [v4, v6] = await Promise.all([dns.resolve(name, "A", options), dns.resolve(name, "AAAA", options)]);
    return ok([...(yield* v4), ...(yield* v6)]);
  });

/** Returns the CAA records of the domain, or of its nearest parent that has any (RFC 8659, section 3). */
const nearestCaa = ({ dns }: DomainPorts, domain: string, options: LookupOptions): Records =>
  safeTry(async function* () {
    for (const name of withParents(domain)) {
      const records = yield* await dns.resolve(name, "CAA", options);
      if (records.length > 0) return ok(records);
    }
    return ok([]);
  });

/** Returns null if the DNS servers did not respond. Other failures say nothing about the domain. */
export const nullIfSilent = (records: Records): ResultAsync<readonly string[] | null, LookupFailure> =>
  records.orElse((error) => (error.kind === "unavailable" ? ok(null) : err(error)));

interface Reachability {
  readonly found: Omit<FoundRecords, "ownership">;
  readonly expected: Omit<ExpectedRecords, "proof">;
}

/**
 * Reads the addresses, aliases and CAA records of a host. Returns undefined if its DNS servers do not respond. Fails if
 * the platform cannot find its own addresses.
 */
const readReachability = (
  ports: DomainPorts,
  host: DomainName,
  options: LookupOptions,
): ResultAsync<Reachability | undefined, LookupFailure> =>
  safeTry(async function* () {
    const { host: own, addresses, authorities } = ports.target;
    // A host with several servers can have more addresses than the platform, so a CNAME record to it is not sufficient.
    const aliasTo = addresses.length > 0 ? null : own;
    const expected = aliasTo === null ? addresses : yield* await addressesOf(ports, aliasTo, options);
    if (expected.length === 0) return err(unavailable(`The platform's host '${own}' has no address. Try again later.`));
    const [found, aliases, caa] = await Promise.all([
      nullIfSilent(addressesOf(ports, host, options)),
      aliasTo === null ? ok<readonly string[]>([]) : nullIfSilent(ports.dns.resolve(host, "CNAME", options)),
      authorities.length === 0 ? ok<readonly string[]>([]) : nullIfSilent(nearestCaa(ports, host, options)),
    ]);
    const [foundAddresses, foundAliases, foundCaa] = [yield* found, yield* aliases, yield* caa];
    if (foundAddresses === null || foundAliases === null || foundCaa === null) return ok(undefined);
    return ok({
      found: { addresses: foundAddresses, aliases: foundAliases, caa: foundCaa },
      expected: { host: aliasTo, addresses: expected, authorities },
    });
  });

/** Checks whether requests for a host reach the platform, and whether its authorities may issue certificates for it. */
export const checkReachability = (
  ports: DomainPorts,
  host: DomainName,
  options: LookupOptions,
): ResultAsync<CheckOutcome, LookupFailure> =>
  readReachability(ports, host, options).map(
    (read): CheckOutcome =>
      read === undefined
        ? { kind: "no_response" }
        : { kind: "found", problems: reachabilityProblems(host, read.found, read.expected) },
  );

/** Returns where a domain must point. */
export const targetOf = (
  { target, managed }: DomainPorts,
  domain: CustomDomain,
  options: CallOptions,
): ResultAsync<DomainTarget, Unavailable> =>
  managed === undefined ? okAsync(target) : managed.hostFor(domain, options).map((host) => ({ ...target, host }));

/**
 * Fails if the platform cannot find its own addresses, or has too many lookups. Succeeds with the outcome `no_response`
 * if the DNS servers of the domain do not respond.
 */
export const checkRecords = (
  ports: DomainPorts,
  stored: CustomDomain,
  options: LookupOptions,
): ResultAsync<CheckOutcome, LookupFailure> =>
  safeTry(async function* () {
    const { domain, owner } = stored;
    const proof = yield* await ports.store.proof(owner, domain, options);
    const target = yield* await targetOf(ports, stored, options);
    const [read, ownership] = await Promise.all([
      readReachability({ ...ports, target }, domain, options),
      nullIfSilent(ports.dns.resolve(ownershipName(domain), "TXT", options)),
    ]);
    const [reachability, found] = [yield* read, yield* ownership];
    if (reachability === undefined || found === null) return ok<CheckOutcome>({ kind: "no_response" });
    const { expected } = reachability;
    const records = { ...reachability.found, ownership: found };
    const problems = recordProblems(domain, records, { ...expected, proof });
    return ok<CheckOutcome>({ kind: "found", problems });
  });
