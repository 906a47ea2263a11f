/** The simulated DNS of the memory provider, as a subject of the contract suite. */
import type { MemoryProvider } from "../../../adapters/memory/index.ts";
import { type DnsSubject, freshNames } from "../../contracts/index.ts";

export const memoryDns = ({ provider, dns }: MemoryProvider): DnsSubject => {
  if (provider.domains === undefined) throw new Error("the memory provider has no ports for domains");
  const { name } = freshNames("zone");
  return {
    dns: provider.domains.dns,
    publish: async (...records) => dns.add(...records),
    silence: async (silent) => dns.respond(silent, false),
    zone: () => `${name()}.example.com`,
  };
};
