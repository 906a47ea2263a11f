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
import type { OwnDomain } from "../../domain/domains/domain.ts";
import type { CheckOutcome } from "../../domain/domains/domain-check.ts";
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type Unavailable, unavailable } from "../../errors.ts";
import type { DomainPorts } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../result.ts";

type Records = ResultAsync<readonly string[], Unavailable>;

const addressesOf = ({ dns }: DomainPorts, name: string, options: CallOptions): Records =>
  safeTry(async function* () {
    const [v4, v6] = await Promise.all([dns.resolve(name, "A", options), dns.resolve(name, "AAAA", options)]);
    return ok([...(yield* v4), ...(yield* v6)]);
  });

/** Returns the CAA records of the nearest parent that has some (RFC 8659, section 3). */
const nearestCaa = ({ dns }: DomainPorts, domain: string, options: CallOptions): Records =>
  safeTry(async function* () {
    for (const name of withParents(domain)) {
      const records = yield* await dns.resolve(name, "CAA", options);
      if (records.length > 0) return ok(records);
    }
    return ok([]);
  });

interface Reachability {
  readonly found: Pick<FoundRecords, "addresses" | "caa">;
  readonly expected: Pick<ExpectedRecords, "addresses" | "authorities">;
}

/**
 * Reads the addresses and CAA records of a host. Returns undefined if its DNS servers do not respond. Fails if the
 * platform cannot find its own addresses.
 */
const readReachability = (
  ports: DomainPorts,
  host: DomainName,
  options: CallOptions,
): ResultAsync<Reachability | undefined, Unavailable> =>
  safeTry(async function* () {
    const { host: own, addresses, authorities } = ports.target;
    const expected = addresses.length > 0 || own === null ? addresses : yield* await addressesOf(ports, own, options);
    if (expected.length === 0) return err(unavailable(`The platform's host '${own}' has no address. Try again later.`));
    const [found, caa] = await Promise.all([
      addressesOf(ports, host, options),
      authorities.length === 0 ? ok<readonly string[]>([]) : nearestCaa(ports, host, options),
    ]);
    if (found.isErr() || caa.isErr()) return ok(undefined);
    return ok({ found: { addresses: found.value, caa: caa.value }, expected: { addresses: expected, authorities } });
  });

/** Checks whether requests for a host reach the platform, and whether its authorities may issue certificates for it. */
export const checkReachability = (
  ports: DomainPorts,
  host: DomainName,
  options: CallOptions,
): ResultAsync<CheckOutcome, Unavailable> =>
  readReachability(ports, host, options).map(
    (read): CheckOutcome =>
      read === undefined
        ? { kind: "no_response" }
        : { kind: "found", problems: reachabilityProblems(host, read.found, read.expected) },
  );

/** Returns where a domain must point. */
export const targetOf = (
  { target, managed }: DomainPorts,
  domain: OwnDomain,
  options: CallOptions,
): ResultAsync<DomainTarget, Unavailable> =>
  managed === undefined ? okAsync(target) : managed.hostFor(domain, options).map((host) => ({ ...target, host }));

/** Fails if the platform cannot find its own addresses. DNS servers of the domain that do not respond are an outcome. */
export const checkRecords = (
  ports: DomainPorts,
  stored: OwnDomain,
  options: CallOptions,
): ResultAsync<CheckOutcome, Unavailable> =>
  safeTry(async function* () {
    const { domain, owner } = stored;
    const proof = yield* await ports.store.proof(owner, domain, options);
    const target = yield* await targetOf(ports, stored, options);
    const [read, ownership] = await Promise.all([
      readReachability({ ...ports, target }, domain, options),
      ports.dns.resolve(ownershipName(domain), "TXT", options),
    ]);
    const reachability = yield* read;
    if (reachability === undefined || ownership.isErr()) return ok<CheckOutcome>({ kind: "no_response" });
    const { found, expected } = reachability;
    const records = { ...found, ownership: ownership.value };
    const problems = recordProblems(domain, records, { ...expected, proof });
    return ok<CheckOutcome>({ kind: "found", problems });
  });
