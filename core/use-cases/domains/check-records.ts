/** Reads the DNS records of a domain, and compares them with the expected ones. */
import { ownershipName, recordProblems, withParents } from "../../domain/domains/dns-records.ts";
import type { OwnDomain } from "../../domain/domains/domain.ts";
import type { CheckOutcome } from "../../domain/domains/domain-check.ts";
import { type Unavailable, unavailable } from "../../errors.ts";
import type { DomainPorts } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../result.ts";

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

/** Fails if the platform cannot find its own addresses. DNS servers of the domain that do not respond are an outcome. */
export const checkRecords = (
  ports: DomainPorts,
  { domain, owner }: OwnDomain,
  options: CallOptions,
): ResultAsync<CheckOutcome, Unavailable> =>
  safeTry(async function* () {
    const { host, addresses, authorities } = ports.target;
    const proof = yield* await ports.store.proof(owner, domain, options);
    const expected = addresses.length > 0 || host === null ? addresses : yield* await addressesOf(ports, host, options);
    if (expected.length === 0)
      return err(unavailable(`The platform's host '${host}' has no address. Try again later.`));
    const [ownership, found, caa] = await Promise.all([
      ports.dns.resolve(ownershipName(domain), "TXT", options),
      addressesOf(ports, domain, options),
      authorities.length === 0 ? ok<readonly string[]>([]) : nearestCaa(ports, domain, options),
    ]);
    if (ownership.isErr() || found.isErr() || caa.isErr()) return ok<CheckOutcome>({ kind: "no_response" });
    const records = { ownership: ownership.value, addresses: found.value, caa: caa.value };
    const problems = recordProblems(domain, records, { proof, addresses: expected, authorities });
    return ok<CheckOutcome>({ kind: "found", problems });
  });
