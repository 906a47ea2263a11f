/** The contract suites of `DomainStore` and `DnsResolver`. */
import { expect } from "vitest";
import type { CustomDomain, DomainRecord, StoredDomain } from "../../core/domain/domains/domain.ts";
import { newDomain } from "../../core/domain/domains/domain.ts";
import type { DomainName } from "../../core/domain/domains/domain-name.ts";
import type { Timestamp } from "../../core/domain/wire/instant.ts";
import type { DnsResolver, DomainPorts, DomainStore } from "../../core/ports/domain-store.ts";
import type { ContractCase, ProviderSubject } from "./harness.ts";
import { expectError, expectOk } from "./support.ts";

type Case = ContractCase<ProviderSubject>;

const portsOf = ({ provider: { domains } }: ProviderSubject): DomainPorts => {
  if (domains === undefined) throw new Error("the provider declares domains without their ports");
  return domains;
};

const storeOf = (subject: ProviderSubject): DomainStore => portsOf(subject).store;

/** Returns a domain that no other case uses. */
const domainIn = (subject: ProviderSubject, prefix = ""): DomainName =>
  `${prefix}${subject.name()}.example.com` as DomainName;

const CREATED = "2026-01-02T03:04:05+00:00" as Timestamp;

const fresh = (subject: ProviderSubject, over: Partial<CustomDomain> = {}): CustomDomain => ({
  ...newDomain(domainIn(subject), subject.account(), subject.name(), CREATED),
  ...over,
});

const written = async (subject: ProviderSubject, domain: CustomDomain): Promise<StoredDomain> =>
  expectOk(storeOf(subject).write(domain, "absent"));

const storing: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "find and list return a domain as it was written",
    run: async (subject) => {
      const store = storeOf(subject);
      const domain = fresh(subject, {
        status: "failing",
        detail: "The TXT record is missing.\n",
        checkedAt: "2026-01-02T03:04:06.000001+00:00" as Timestamp,
      });
      expect(await expectOk(store.find(domain.domain))).toBeNull();
      expect(await expectOk(store.list(domain.owner))).toEqual([]);
      const stored = await written(subject, domain);
      expect(stored).toEqual({ ...domain, etag: expect.any(String) });
      expect(await expectOk(store.find(domain.domain))).toEqual(stored);
      expect(await expectOk(store.list(domain.owner))).toEqual([stored]);
    },
  },
  {
    name: "list returns the domains of one account, sorted by domain",
    run: async (subject) => {
      const owner = subject.account();
      const [second, first] = [
        await written(subject, fresh(subject, { owner, domain: domainIn(subject, "b-") })),
        await written(subject, fresh(subject, { owner, domain: domainIn(subject, "a-") })),
      ];
      await written(subject, fresh(subject));
      expect(await expectOk(storeOf(subject).list(owner))).toEqual([first, second]);
      expect(await expectOk(storeOf(subject).list(subject.account()))).toEqual([]);
    },
  },
  {
    name: "a removed domain does not exist, and can be written again by another account",
    run: async (subject) => {
      const store = storeOf(subject);
      const stored = await written(subject, fresh(subject));
      await expectOk(store.remove(stored.domain, stored));
      expect(await expectOk(store.find(stored.domain))).toBeNull();
      expect(await expectOk(store.list(stored.owner))).toEqual([]);
      const next = await written(subject, fresh(subject, { domain: stored.domain }));
      expect(await expectOk(store.list(next.owner))).toEqual([next]);
    },
  },
  {
    name: "a domain that changes its owner leaves the previous owner's list",
    run: async (subject) => {
      const store = storeOf(subject);
      const stored = await written(subject, fresh(subject));
      const taken = await expectOk(store.write(fresh(subject, { domain: stored.domain }), stored));
      expect(await expectOk(store.list(stored.owner))).toEqual([]);
      expect(await expectOk(store.list(taken.owner))).toEqual([taken]);
    },
  },
];

const conditions: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "a write with the current etag succeeds, and changes the etag",
    run: async (subject) => {
      const store = storeOf(subject);
      const stored = await written(subject, fresh(subject));
      const changed = await expectOk(store.write({ ...stored, status: "active" }, stored));
      expect(changed).toEqual({ ...stored, status: "active", etag: expect.any(String) });
      expect(changed.etag).not.toBe(stored.etag);
      expect(await expectOk(store.find(stored.domain))).toEqual(changed);
    },
  },
  {
    name: "a write fails with conflict if the domain exists, has a different etag or was removed",
    run: async (subject) => {
      const store = storeOf(subject);
      const first = await written(subject, fresh(subject));
      const theirs = fresh(subject, { domain: first.domain });
      expect((await expectError(store.write(theirs, "absent"))).kind).toBe("conflict");
      const second = await expectOk(store.write({ ...first, status: "active" }, first));
      expect((await expectError(store.write(theirs, first))).kind).toBe("conflict");
      expect(await expectOk(store.find(first.domain))).toEqual(second);
      await expectOk(store.remove(first.domain, second));
      expect((await expectError(store.write(theirs, second))).kind).toBe("conflict");
      expect(await expectOk(store.find(first.domain))).toBeNull();
    },
  },
  {
    name: "a removal fails with conflict if the domain has a different etag or was removed",
    run: async (subject) => {
      const store = storeOf(subject);
      const first = await written(subject, fresh(subject));
      const second = await expectOk(store.write({ ...first, status: "active" }, first));
      expect((await expectError(store.remove(first.domain, first))).kind).toBe("conflict");
      expect(await expectOk(store.find(first.domain))).toEqual(second);
      await expectOk(store.remove(first.domain, second));
      expect((await expectError(store.remove(first.domain, second))).kind).toBe("conflict");
    },
  },
  {
    name: "of several accounts that write a domain concurrently, exactly one succeeds",
    run: async (subject) => {
      const domain = domainIn(subject);
      const claims = Array.from({ length: 5 }, () => fresh(subject, { domain }));
      const results = await Promise.all(claims.map((claim) => storeOf(subject).write(claim, "absent")));
      const won = results.flatMap((result) => (result.isOk() ? [result.value] : []));
      expect(won).toHaveLength(1);
      expect(await expectOk(storeOf(subject).find(domain))).toEqual(won[0]);
    },
  },
];

const proofs: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "a proof is the same in every call, and fits into a TXT record",
    run: async (subject) => {
      const [owner, domain] = [subject.account(), domainIn(subject)];
      const proof = await expectOk(storeOf(subject).proof(owner, domain));
      expect(await expectOk(storeOf(subject).proof(owner, domain))).toBe(proof);
      expect(proof).toMatch(/^[!-~]{20,255}$/);
    },
  },
  {
    name: "a proof differs for another account and for another domain, and names neither",
    run: async (subject) => {
      const [owner, other] = [subject.account(), subject.account()];
      const [domain, second] = [domainIn(subject), domainIn(subject)];
      const store = storeOf(subject);
      const all = [
        await expectOk(store.proof(owner, domain)),
        await expectOk(store.proof(other, domain)),
        await expectOk(store.proof(owner, second)),
        await expectOk(store.proof(owner, `sub.${domain}` as DomainName)),
      ];
      expect(new Set(all).size).toBe(4);
      for (const proof of all) {
        expect(proof).not.toContain(owner);
        expect(proof).not.toContain(domain);
      }
    },
  },
  {
    name: "a proof cannot be computed from the account and the domain alone",
    run: async (subject) => {
      const [owner, domain] = [subject.account(), domainIn(subject)];
      const proof = await expectOk(storeOf(subject).proof(owner, domain));
      const [, digest = proof] = /([\w-]{43})$/.exec(proof) ?? [];
      for (const text of [owner + domain, domain + owner, `${owner}:${domain}`, JSON.stringify([owner, domain])]) {
        const plain = Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
        expect(digest).not.toBe(plain.toString("base64url"));
      }
    },
  },
];

const targets: readonly Omit<Case, "group" | "when">[] = [
  {
    name: "requests can reach the platform, by a host name or by addresses",
    run: async (subject) => {
      const { host, addresses } = portsOf(subject).target;
      expect(host !== null || addresses.length > 0).toBe(true);
    },
  },
  {
    name: "a public suffix has no registered domain, and any other domain has one",
    run: async (subject) => {
      const { registeredDomain } = portsOf(subject);
      const of = (domain: string) => registeredDomain(domain as DomainName);
      for (const suffix of ["co.uk", "github.io"]) expect(of(suffix), suffix).toBeUndefined();
      expect(of("a.b.example.co.uk")).toBe("example.co.uk");
      expect(of("example.com")).toBe("example.com");
      expect(of("a.acme.github.io")).toBe("acme.github.io");
    },
  },
];

const inGroup = (group: string, cases: readonly Omit<Case, "group" | "when">[]): Case[] =>
  cases.map((one) => ({ group, when: ({ domains }) => domains.supported, ...one }));

/** The cases of `DomainStore`. They run only on providers with the capability. */
export const domainStoreCases: readonly Case[] = [
  ...inGroup("stored domains", storing),
  ...inGroup("conditional writes of domains", conditions),
  ...inGroup("proofs of ownership", proofs),
  ...inGroup("targets of domains", targets),
];

/** A DNS record that a case publishes. */
export interface PublishedRecord {
  readonly name: string;
  readonly type: DomainRecord["type"] | "CAA";
  readonly value: string;
}

/** A resolver under test, with the DNS that it reads. */
export interface DnsSubject {
  readonly dns: DnsResolver;
  /** Publishes records. Names are below `zone`. */
  publish(...records: readonly PublishedRecord[]): Promise<void>;
  /** Stops the DNS servers of a name. */
  silence(name: string): Promise<void>;
  /** Returns a zone that no other case uses. */
  zone(): string;
}

/** The contract suite of `DnsResolver`. */
export const dnsResolverCases: readonly ContractCase<DnsSubject>[] = [
  {
    group: "records",
    name: "returns all records of the name and the type, and no others",
    run: async ({ dns, publish, zone }) => {
      const name = `app.${zone()}`;
      await publish(
        { name, type: "A", value: "192.0.2.7" },
        { name, type: "A", value: "192.0.2.8" },
        { name, type: "AAAA", value: "2001:db8::7" },
        { name, type: "TXT", value: "text with spaces" },
        { name, type: "CAA", value: '0 issue "ca.example.net"' },
        { name: `other.${name}`, type: "A", value: "192.0.2.9" },
      );
      expect([...(await expectOk(dns.resolve(name, "A")))].sort()).toEqual(["192.0.2.7", "192.0.2.8"]);
      expect(await expectOk(dns.resolve(name, "AAAA"))).toEqual(["2001:db8::7"]);
      expect(await expectOk(dns.resolve(name, "TXT"))).toEqual(["text with spaces"]);
      expect(await expectOk(dns.resolve(name, "CAA"))).toEqual(['0 issue "ca.example.net"']);
    },
  },
  {
    group: "records",
    name: "returns an empty array for a name without records of the type, and for an unknown name",
    run: async ({ dns, publish, zone }) => {
      const name = `app.${zone()}`;
      await publish({ name, type: "A", value: "192.0.2.7" });
      expect(await expectOk(dns.resolve(name, "TXT"))).toEqual([]);
      expect(await expectOk(dns.resolve(`none.${name}`, "A"))).toEqual([]);
    },
  },
  {
    group: "aliases",
    name: "follows CNAME records, and stops at a cycle",
    run: async ({ dns, publish, zone }) => {
      const apex = zone();
      const [first, second, last] = [`a.${apex}`, `b.${apex}`, `c.${apex}`];
      await publish(
        { name: first, type: "CNAME", value: second },
        { name: second, type: "CNAME", value: last },
        { name: last, type: "A", value: "192.0.2.7" },
        { name: `x.${apex}`, type: "CNAME", value: `y.${apex}` },
        { name: `y.${apex}`, type: "CNAME", value: `x.${apex}` },
      );
      expect(await expectOk(dns.resolve(first, "A"))).toEqual(["192.0.2.7"]);
      expect(await expectOk(dns.resolve(first, "CNAME"))).toEqual([second, last]);
      expect(await expectOk(dns.resolve(last, "CNAME"))).toEqual([]);
      const cycle = await dns.resolve(`x.${apex}`, "A");
      expect(cycle.isErr() ? cycle.error.kind : cycle.value).toEqual(cycle.isErr() ? "unavailable" : []);
    },
  },
  {
    group: "silent servers",
    name: "fails with unavailable if the servers do not respond",
    run: async ({ dns, publish, silence, zone }) => {
      const name = `app.${zone()}`;
      await publish({ name, type: "A", value: "192.0.2.7" });
      await silence(name);
      expect((await expectError(dns.resolve(name, "A"))).kind).toBe("unavailable");
    },
  },
];
