/**
 * Collects the addresses of the load balancers. Each check compares a domain with them, and one response may contain
 * only some of them. The cache has a second purpose: the limit on lookups of a load balancer's registered domain applies
 * to all accounts together, and without the cache, the checks of one account could use it up.
 */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import type { DnsResolver, DnsType } from "../../../core/ports/domain-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { CachedCalls } from "../../shared/calls/cached-calls.ts";

/** Short, because a load balancer that scales gets new addresses. */
const CACHE_MS = 5000;

/** The types of addresses that a check reads. */
const TYPES = 2;

/**
 * The maximum number of addresses in a response. A load balancer with more nodes returns a different selection in each response, and
 * an ALIAS record returns yet another one.
 */
const ADDRESSES_PER_RESPONSE = 8;

/** The maximum number of lookups to collect the addresses of a load balancer. */
const MAX_LOOKUPS = 20;

/** The addresses are complete after this number of consecutive lookups without a new one. */
const LOOKUPS_WITHOUT_NEW = 3;

/**
 * How long an address counts after its last response. DNS providers that flatten CNAME records cache it, and a node
 * serves requests for a while after its removal from DNS.
 */
const KEPT_MS = 10 * 60_000;

/** The addresses of one type that a load balancer returned recently, with the time of their last response. */
class RecentAddresses {
  readonly #clock: Pick<Clock, "now">;
  readonly #seen = new Map<string, Instant>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  get all(): readonly string[] {
    const now = this.#clock.now();
    for (const [address, at] of this.#seen) if (plusMillis(at, KEPT_MS) <= now) this.#seen.delete(address);
    return [...this.#seen.keys()];
  }

  /** Adds the addresses of a response. Returns whether one of them is new. */
  add(response: readonly string[]): boolean {
    const hasNew = response.some((address) => !this.#seen.has(address));
    for (const address of response) this.#seen.set(address, this.#clock.now());
    return hasNew;
  }
}

/** Looks up a load balancer until the responses contain no new addresses. Fails only if the first lookup fails. */
const collect = (
  recent: RecentAddresses,
  lookUp: () => ReturnType<DnsResolver["resolve"]>,
): ReturnType<DnsResolver["resolve"]> =>
  safeTry(async function* () {
    let response = yield* await lookUp();
    let withoutNew = recent.add(response) ? 0 : 1;
    for (let lookups = 1; lookups < MAX_LOOKUPS && withoutNew < LOOKUPS_WITHOUT_NEW; lookups++) {
      if (response.length < ADDRESSES_PER_RESPONSE) break;
      const next = await lookUp();
      if (next.isErr()) break;
      response = next.value;
      withoutNew = recent.add(response) ? 0 : withoutNew + 1;
    }
    return ok(recent.all);
  });

/** @param hosts the DNS names of the load balancers */
export const cacheHosts = (dns: DnsResolver, hosts: readonly string[], clock: Pick<Clock, "now">): DnsResolver => {
  const recent = new Map<string, RecentAddresses>();
  const read = (host: string, type: DnsType) => {
    const key = `${type} ${host}`;
    const known = recent.get(key) ?? new RecentAddresses(clock);
    recent.set(key, known);
    return collect(known, () => dns.resolve(host, type));
  };
  const cached = new CachedCalls<readonly [string, DnsType], readonly string[]>({
    clock,
    textOf: ([host, type]) => `${type} ${host}`,
    read: (keys) =>
      ResultAsync.combine(keys.map(([host, type]) => read(host, type).mapErr(({ message }) => unavailable(message)))),
    expiryOf: (now) => plusMillis(now, CACHE_MS),
    maxSize: TYPES * hosts.length,
  });
  return {
    resolve: (name, type, options) =>
      hosts.includes(name) ? cached.get([name, type], options) : dns.resolve(name, type, options),
  };
};
