/** The contract suites of domains reject broken stores and resolvers. */
import { createHash } from "node:crypto";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import type { StoredDomain } from "../../core/domain/domains/domain.ts";
import type { DomainName } from "../../core/domain/domains/domain-name.ts";
import type { DnsResolver, DomainPorts, DomainStore } from "../../core/ports/domain-store.ts";
import { okAsync } from "../../core/result.ts";
import { type DnsSubject, dnsResolverCases, domainStoreCases, type ProviderSubject } from "../contracts/index.ts";
import { memoryDns } from "../support/providers/memory-dns.ts";
import { type Mutants, mutantTests, subjectWith } from "../support/vitest/mutants.ts";

const ports = (change: (port: DomainPorts) => Partial<DomainPorts>) => () =>
  subjectWith(({ domains }) => {
    if (domains === undefined) throw new Error("the memory provider has no ports for domains");
    return { domains: { ...domains, ...change(domains) } };
  });

const store = (change: (port: DomainStore) => Partial<DomainStore>) =>
  ports((port) => ({ store: { ...port.store, ...change(port.store) } }));

/** A store that passes the current etag instead of the expected one. */
const current = (port: DomainStore, domain: DomainName) =>
  port.find(domain).map((found: StoredDomain | null) => found ?? ("absent" as const));

const shared = "shared" as AccountId;
const fixed = "one.example" as DomainName;
const sha256 = (text: string) => createHash("sha256").update(text).digest("base64url");

const storeMutants: Mutants<ProviderSubject> = {
  "stored domains": {
    "store that forgets the time of the check": store((port) => ({
      write: (domain, expected) => port.write({ ...domain, checkedAt: null }, expected),
    })),
    "store that lists the domains of all accounts": store((port) => {
      const owners = new Set<AccountId>();
      return {
        write: (domain, expected) => {
          owners.add(domain.owner);
          return port.write(domain, expected);
        },
        list: () => port.list([...owners].at(-1) ?? shared),
      };
    }),
    "store that lists the domains in reverse": store((port) => ({
      list: (owner) => port.list(owner).map((all) => all.toReversed()),
    })),
    "store that keeps the first owner": store((port) => {
      const owners = new Map<DomainName, AccountId>();
      return {
        write: (domain, expected) => {
          const owner = owners.get(domain.domain) ?? domain.owner;
          owners.set(domain.domain, owner);
          return port.write({ ...domain, owner }, expected);
        },
      };
    }),
    "store that removes nothing": store(() => ({ remove: () => okAsync(undefined) })),
  },
  "conditional writes of domains": {
    "store that overwrites": store((port) => ({
      write: (domain) => current(port, domain.domain).andThen((expected) => port.write(domain, expected)),
    })),
    "store that removes any version": store((port) => ({
      remove: (domain) =>
        current(port, domain).andThen((found) =>
          found === "absent" ? okAsync(undefined) : port.remove(domain, found),
        ),
    })),
    "store that keeps the etag": store((port) => ({
      write: (domain, expected) =>
        port
          .write(domain, expected)
          .map((stored) => ({ ...stored, etag: expected === "absent" ? stored.etag : expected.etag })),
    })),
    "store that creates a removed domain": store((port) => ({
      write: (domain, expected) =>
        port.find(domain.domain).andThen((found) => port.write(domain, found === null ? "absent" : expected)),
    })),
  },
  "proofs of ownership": {
    "store with one proof for all accounts": store((port) => ({
      proof: (_owner, domain) => port.proof(shared, domain),
    })),
    "store with one proof for all domains": store((port) => ({ proof: (owner) => port.proof(owner, fixed) })),
    "store with random proofs": store(() => ({ proof: () => okAsync(`portside-verification=${crypto.randomUUID()}`) })),
    "store with a plain hash as proof": store(() => ({
      proof: (owner, domain) => okAsync(`portside-verification=${sha256(owner + domain)}`),
    })),
    "store with a readable proof": store((port) => ({
      proof: (owner, domain) => port.proof(owner, domain).map((proof) => `${proof}.${owner}`),
    })),
    "store with a proof of several words": store((port) => ({
      proof: (owner, domain) => port.proof(owner, domain).map((proof) => `portside ${proof}`),
    })),
  },
  "targets of domains": {
    "platform without an address": ports(({ target }) => ({ target: { ...target, host: null, addresses: [] } })),
    "platform that knows no public suffixes": ports(() => ({ registeredDomain: (domain) => domain })),
    "platform that knows only top-level suffixes": ports(() => ({
      registeredDomain: (domain) => domain.split(".").slice(-2).join(".") as DomainName,
    })),
  },
};

const resolver = (change: (port: DnsResolver) => DnsResolver["resolve"]) => (): DnsSubject => {
  const subject = memoryDns(createMemoryProvider());
  return { ...subject, dns: { resolve: change(subject.dns) } };
};

const resolverMutants: Mutants<DnsSubject> = {
  records: {
    "resolver that returns one record": resolver(
      (port) => (name, type) => port.resolve(name, type).map((values) => values.slice(0, 1)),
    ),
    "resolver that ignores the type": resolver((port) => (name) => port.resolve(name, "A")),
    "resolver that splits a text": resolver(
      (port) => (name, type) =>
        port
          .resolve(name, type)
          .map((values) => values.flatMap((value) => (type === "TXT" ? value.split(" ") : [value]))),
    ),
    "resolver that falls back to the parent": resolver(
      (port) => (name, type) =>
        port
          .resolve(name, type)
          .andThen((values) =>
            values.length > 0 ? okAsync(values) : port.resolve(name.slice(name.indexOf(".") + 1), type),
          ),
    ),
  },
  aliases: resolver((port) => (name, type) => (/^[ab]\./.test(name) ? okAsync([]) : port.resolve(name, type))),
  "silent servers": resolver((port) => (name, type) => port.resolve(name, type).orElse(() => okAsync([]))),
};

mutantTests("DomainStore", domainStoreCases, storeMutants);
mutantTests("DnsResolver", dnsResolverCases, resolverMutants);
