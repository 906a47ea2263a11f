/**
 * Caches the addresses of the load balancers. Each check compares a domain with them, and the limit on lookups of their
 * registered domain applies to all accounts together. Without the cache, the checks of one account could use it up.
 */
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import type { DnsResolver, DnsType } from "../../../core/ports/domain-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { CachedCalls } from "../../shared/calls/cached-calls.ts";

/** Short, because a load balancer that scales gets new addresses. */
const CACHE_MS = 5000;

/** The types of addresses that a check reads. */
const TYPES = 2;

/** @param hosts the DNS names of the load balancers */
export const cacheHosts = (dns: DnsResolver, hosts: readonly string[], clock: Pick<Clock, "now">): DnsResolver => {
  const cached = new CachedCalls<readonly [string, DnsType], readonly string[]>({
    clock,
    textOf: ([host, type]) => `${type} ${host}`,
    read: (keys) =>
      ResultAsync.combine(
        keys.map(([host, type]) => dns.resolve(host, type).mapErr(({ message }) => unavailable(message))),
      ),
    expiryOf: (now) => plusMillis(now, CACHE_MS),
    maxSize: TYPES * hosts.length,
  });
  return {
    resolve: (name, type, options) =>
      hosts.includes(name) ? cached.get([name, type], options) : dns.resolve(name, type, options),
  };
};
