/** The DNS records that an owner must create satisfy the check, and every wrong record has a message. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addressRecords,
  type DomainTarget,
  type ExpectedRecords,
  type FoundRecords,
  ownershipRecord,
  platformDomainsOf,
  recordProblems,
  withParents,
} from "../../../../core/domain/domains/dns-records.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { domainName } from "../../../arbitraries/domains.ts";

const DOMAIN = "app.example.com" as DomainName;
const target: DomainTarget = {
  host: "ingress.example.net",
  addresses: ["203.0.113.10", "2001:db8::1"],
  platformDomains: [],
  authorities: ["ca.example.net"],
};
const { host, addresses, authorities } = target;
const expected: ExpectedRecords = { proof: "proof", host, addresses, authorities };
const correct: FoundRecords = { ownership: ["proof"], addresses, aliases: [], caa: [] };
const problems = (found: Partial<FoundRecords>, over: Partial<ExpectedRecords> = {}) =>
  recordProblems(DOMAIN, { ...correct, ...found }, { ...expected, ...over });

const typesOf = (domain: string, isApex: boolean, over: Partial<DomainTarget> = {}) =>
  addressRecords(domain as DomainName, isApex, { ...target, ...over }).map(({ type, value }) => `${type} ${value}`);

describe("the records to create", () => {
  test("are a CNAME record for a subdomain, and address records for an apex", () => {
    expect(typesOf("app.example.com", false)).toEqual(["CNAME ingress.example.net"]);
    expect(typesOf("example.com", true)).toEqual(["A 203.0.113.10", "AAAA 2001:db8::1"]);
  });

  test("are address records if the platform has no host name", () => {
    expect(typesOf("app.example.com", false, { host: null })).toEqual(["A 203.0.113.10", "AAAA 2001:db8::1"]);
  });

  test("are an ALIAS record for an apex if the platform has only a host name", () => {
    expect(typesOf("example.com", true, { addresses: [] })).toEqual(["ALIAS ingress.example.net"]);
  });

  test("satisfy the check, for any domain", () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(domainName(), fc.array(address, { minLength: 1 }), fc.string(), (domain, addresses, proof) => {
        const created = addressRecords(domain, true, { ...target, addresses }).map(({ value }) => value);
        const { name, value } = ownershipRecord(domain, proof);
        expect(name).toBe(`_portside.${domain}`);
        const found = { ...correct, ownership: [value], addresses: created };
        expect(recordProblems(domain, found, { ...expected, proof, addresses })).toEqual([]);
      }),
    );
  });
});

test("the host name of the platform is one of its domains", () => {
  expect(platformDomainsOf({ ...target, platformDomains: ["apps.example.com"] })).toEqual([
    "apps.example.com",
    "ingress.example.net",
  ]);
  expect(platformDomainsOf({ ...target, host: null, platformDomains: ["apps.example.com"] })).toEqual([
    "apps.example.com",
  ]);
});

describe("the check", () => {
  test("accepts other TXT records, and one address of several", () => {
    expect(problems({ ownership: ["other", "proof"] })).toEqual([]);
    expect(problems({ addresses: ["203.0.113.10"] })).toEqual([]);
  });

  test("accepts any spelling of an IPv6 address", () => {
    expect(problems({ addresses: ["2001:0DB8:0:0::0001"] })).toEqual([]);
    expect(problems({}, { addresses: ["203.0.113.10", "2001:db8:0::1"] })).toEqual([]);
  });

  test("reports a missing and a wrong proof with the record to create", () => {
    const create = "Create the TXT record '_portside.app.example.com' with the value 'proof'.";
    expect(problems({ ownership: [] })).toEqual([`The TXT record that proves ownership does not exist. ${create}`]);
    expect(problems({ ownership: ["proof2", "PROOF"] })).toEqual([
      `The TXT record '_portside.app.example.com' has a different value. ${create}`,
    ]);
  });

  test("reports a missing address", () => {
    expect(problems({ addresses: [] })).toEqual(["'app.example.com' has no address. Create the address records."]);
  });

  test("reports every address that is not the platform's, even if another one is correct", () => {
    const [message] = problems({ addresses: ["203.0.113.10", "198.51.100.7", "2001:db8::2"] });
    expect(message).toContain("points to '198.51.100.7', '2001:db8::2',");
    expect(message).toContain("but must point only to '203.0.113.10', '2001:db8::1'. Correct the address records");
  });

  test("reports thousands of wrong addresses in a short message", () => {
    const addresses = Array.from({ length: 4000 }, (_, index) => `198.51.${index >> 8}.${index & 255}`);
    const [message = ""] = problems({ addresses });
    expect(message).toContain("'198.51.0.4' and 3995 more, but must point only to");
    expect(message.length).toBeLessThan(500);
  });

  test("accepts unknown addresses only at the end of a chain of CNAME records through the platform's host", () => {
    const addresses = ["198.51.100.7"];
    expect(problems({ addresses, aliases: ["www.example.org", "ingress.example.net"] })).toEqual([]);
    expect(problems({ addresses, aliases: ["ingress.example.net.example.org"] })).toHaveLength(1);
    expect(problems({ addresses: [], aliases: ["ingress.example.net"] })).toHaveLength(1);
    expect(problems({ addresses, aliases: ["other.example.net"] }, { host: null })).toHaveLength(1);
  });

  test("reports all problems of one check", () => {
    const caa = ['0 issue "other.example"'];
    expect(recordProblems(DOMAIN, { ...correct, ownership: [], addresses: [], caa }, expected)).toHaveLength(3);
  });

  test.each<[string, string[], boolean]>([
    ["no CAA record", [], true],
    ["the authority", ['0 issue "ca.example.net"'], true],
    ["the authority with parameters", ['0 issue "CA.example.net; validationmethods=http-01"'], true],
    ["the authority and another one", ['0 issue "other.example"', "128 issue ca.example.net"], true],
    ["only other tags", ['0 iodef "mailto:a@example.com"', '0 issuewild ";"'], true],
    ["another authority", ['0 issue "other.example"'], false],
    ["a subdomain of the authority", ['0 issue "x.ca.example.net"'], false],
    ["another authority with quoted parameters", ['0 issue "other.example; policy=\\"a b\\""'], false],
    ["the authority with quoted parameters", ['0 issue "ca.example.net; policy=\\"a b\\""'], true],
    ["no authority", ['0 issue ";"'], false],
    ["no value", ["0 issue"], false],
  ])("with CAA records that name %s: %j", (_what, caa, isPermitted) => {
    const found = problems({ caa });
    if (isPermitted) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringContaining(`Add the CAA record '0 issue "ca.example.net"'`)]);
  });

  test("ignores CAA records if the platform gets no certificates", () => {
    expect(problems({ caa: ['0 issue ";"'] }, { authorities: [] })).toEqual([]);
  });
});

test("the parents of a domain are nearest first, without the top-level domain", () => {
  expect(withParents("a.b.example.com")).toEqual(["a.b.example.com", "b.example.com", "example.com"]);
});
