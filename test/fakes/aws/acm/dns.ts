/** A simulated DNS with the hosts of the fake load balancers. */
import type { DnsResolver } from "../../../../core/ports/domain-store.ts";
import { okAsync } from "../../../../core/result.ts";
import { balancerHostAt } from "../elbv2/balancer.ts";

interface FakeRecord {
  readonly type: string;
  readonly name: string;
  readonly value: string;
}

/** @param balancers the number of load balancers */
export const createFakeDns = (balancers: number) => {
  const records: FakeRecord[] = Array.from({ length: balancers }, (_, index) => ({
    type: "A",
    name: balancerHostAt(index),
    value: `192.0.2.${index + 1}`,
  }));
  const resolve = (name: string, type: string): readonly string[] => {
    const own = records.filter((one) => one.name === name);
    const alias = own.find((one) => one.type === "CNAME" || (one.type === "ALIAS" && /^A/.test(type)));
    if (alias !== undefined) return [...(type === "CNAME" ? [alias.value] : []), ...resolve(alias.value, type)];
    return own.filter((one) => one.type === type).map(({ value }) => value);
  };
  let responses = 0;
  /** Like Elastic Load Balancing, returns a different selection of 8 records in each response. */
  const selected = (values: readonly string[]): readonly string[] => {
    const first = 8 * responses++;
    return values.length <= 8 ? values : values.map((_, n) => values[(first + n) % values.length] ?? "").slice(0, 8);
  };
  const resolver: DnsResolver = { resolve: (name, type) => okAsync(selected(resolve(name, type))) };
  return {
    resolver,
    /** Adds records, such as the `records` of a domain. */
    add: (...added: readonly FakeRecord[]): void => void records.push(...added),
    /** Removes the records of a name. */
    remove: (name: string): void => {
      for (let at = records.length - 1; at >= 0; at--) if (records[at]?.name === name) records.splice(at, 1);
    },
  };
};
