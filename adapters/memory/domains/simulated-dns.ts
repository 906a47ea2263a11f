/** A simulated DNS: the records that a test or an embedder adds. */
import type { DomainTarget } from "../../../core/domain/domains/dns-records.ts";
import { unavailable } from "../../../core/errors.ts";
import type { DnsResolver } from "../../../core/ports/domain-store.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import type { SimulatedRecord, World } from "../world.ts";

/** The simulated platform. The addresses are reserved for documentation (RFC 5737, RFC 3849). */
export const memoryTarget: DomainTarget = {
  host: "ingress.memory.invalid",
  addresses: ["192.0.2.1", "2001:db8::1"],
  platformDomains: ["memory.invalid"],
  authorities: ["ca.memory.invalid"],
};

/** Controls the simulated DNS. */
export interface SimulatedDns {
  /** Adds records, such as the `records` of a domain. */
  add(...records: readonly SimulatedRecord[]): void;
  /** Removes the records of a name. */
  remove(name: string): void;
  /** Sets whether the servers of a name respond. They respond by default. */
  respond(name: string, isResponding: boolean): void;
}

/** The maximum number of CNAME records in a chain. */
const MAX_CHAIN = 8;

const targetRecords: readonly SimulatedRecord[] = memoryTarget.addresses.map((value) => ({
  name: memoryTarget.host ?? "",
  type: value.includes(":") ? "AAAA" : "A",
  value,
}));

export const createSimulatedDns = (world: World): { readonly dns: DnsResolver; readonly controls: SimulatedDns } => {
  const recordsOf = (name: string): readonly SimulatedRecord[] =>
    name === memoryTarget.host ? targetRecords : (world.dnsRecords.get(name) ?? []);
  const resolve = (name: string, type: string, chain = 0): readonly string[] => {
    const records = recordsOf(name);
    const alias = records.find((one) => one.type === "CNAME" || (one.type === "ALIAS" && /^A/.test(type)));
    if (alias !== undefined) {
      const found = chain < MAX_CHAIN ? resolve(alias.value, type, chain + 1) : [];
      return type === "CNAME" ? [alias.value, ...found] : found;
    }
    return records.filter((one) => one.type === type).map(({ value }) => value);
  };
  return {
    dns: {
      resolve: (name, type) =>
        world.silentNames.has(name)
          ? errAsync(unavailable(`The DNS servers of '${name}' did not respond.`))
          : okAsync(resolve(name, type)),
    },
    controls: {
      add: (...records) => {
        for (const record of records) world.dnsRecords.set(record.name, [...recordsOf(record.name), record]);
      },
      remove: (name) => void world.dnsRecords.delete(name),
      respond: (name, isResponding) => {
        if (isResponding) world.silentNames.delete(name);
        else world.silentNames.add(name);
      },
    },
  };
};
