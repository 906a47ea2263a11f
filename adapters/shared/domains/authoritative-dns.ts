/**
 * Reads DNS records from the authoritative servers of a name. A recursive resolver finds these servers; the records
 * themselves do not come from its cache, unless the option `server` names a resolver that does not know the servers.
 *
 * The owner of a domain chooses its servers, and must not be able to use Portside to scan a private network or to flood
 * other servers. Therefore, queries to these servers go only to public addresses, unless `permitsPrivate` is set. Each
 * lookup has limits on time and queries, and each registered domain has a limit on lookups. One account can use only a
 * part of that limit, because any account may add a subdomain of another account's domain. Another part is reserved for
 * certificate orders.
 */
import type { CaaRecord } from "node:dns";
import { promises as dns } from "node:dns";
import { isIP, isIPv6 } from "node:net";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type Bucket, takeToken } from "../../../core/domain/accounts/rate-limit.ts";
import { withParents } from "../../../core/domain/domains/dns-records.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { rateLimited, unavailable } from "../../../core/errors.ts";
import type { DnsResolver, DnsType, LookupOptions } from "../../../core/ports/domain-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { errAsync, ResultAsync } from "../../../core/result.ts";
import { FairSemaphore } from "../runtime/fair-semaphore.ts";
import { isPublicAddress } from "./public-address.ts";
import { registeredDomain } from "./public-suffixes.ts";

const limits = {
  /** The maximum duration of a lookup in milliseconds. */
  lookupMs: 15_000,
  /** The maximum number of CNAME records in a chain. */
  chain: 8,
  /** The maximum number of addresses of a zone's servers. */
  servers: 4,
  /**
   * The maximum number of servers without an address in a lookup. The owner of a domain can name many in the zone of
   * someone else, whose servers must then answer the queries.
   */
  unresolved: 8,
  /** The maximum number of queries of a lookup. A name has at most 10 labels. */
  queries: 100,
  /** The lookups of a registered domain per minute. A check needs at least four, or five with a host name. */
  lookupsPerMinute: 300,
  /** The lookups of a registered domain per minute that one account may request. */
  perAccount: 100,
  /** The part of `lookupsPerMinute` and of `waiting` that only reserved lookups may use. */
  reserved: 100,
  /** The maximum number of buckets in memory. */
  buckets: 10_000,
  /** The maximum number of concurrent lookups. Further ones wait. */
  concurrent: 50,
  /** The maximum number of lookups that wait. */
  waiting: 500,
} as const;

export interface AuthoritativeDnsOptions {
  /**
   * A recursive resolver to use instead of the system's, as `ADDRESS` or `ADDRESS:PORT`. If it does not know the
   * servers of a name, the lookup reads the records from it.
   */
  readonly server?: string | undefined;
  /**
   * Whether authoritative servers may have private addresses. Defaults to true if `server` has a private address,
   * because a public resolver also finds servers that an attacker has chosen.
   */
  readonly permitsPrivate?: boolean;
  /** The milliseconds after which the lookup asks the next server. Defaults to 2000. */
  readonly timeoutMs?: number;
  /** The port of authoritative servers. Defaults to 53. */
  readonly port?: number;
  readonly clock: Clock;
}

/** Thrown if a lookup reaches a limit, or finds no server with a public address. */
class LookupError extends Error {}

/** True if the servers report that there are no such records. */
const isEmpty = (error: unknown): boolean => ["ENODATA", "ENOTFOUND"].includes((error as { code?: string }).code ?? "");

const formatCaa = ({ critical, ...record }: CaaRecord): string[] =>
  Object.entries(record)
    .filter(([tag]) => tag !== "type")
    .map(([tag, value]) => `${critical} ${tag} "${String(value)}"`);

const query = async (
  resolver: dns.Resolver,
  name: string,
  type: Exclude<DnsType, "CNAME">,
): Promise<readonly string[]> => {
  switch (type) {
    case "A":
      return resolver.resolve4(name);
    case "AAAA":
      return resolver.resolve6(name);
    case "TXT":
      return (await resolver.resolveTxt(name)).map((strings) => strings.join(""));
    case "CAA":
      return (await resolver.resolveCaa(name)).flatMap(formatCaa);
  }
};

const serverOf = (address: string, port: number): string =>
  isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;

/** Returns whether a resolver has a private address. @param server `ADDRESS`, `ADDRESS:PORT` or `[ADDRESS]:PORT` */
export const isPrivateServer = (server: string): boolean => {
  const address = isIP(server) === 0 ? server.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1") : server;
  return !isPublicAddress(address);
};

/** One lookup, with its own sockets and limits. */
class Lookup {
  readonly #options: AuthoritativeDnsOptions;
  readonly #resolvers: dns.Resolver[] = [];
  readonly #recursive: dns.Resolver;
  #queries = 0;
  #unresolved = 0;
  #isCancelled = false;

  constructor(options: AuthoritativeDnsOptions) {
    this.#options = options;
    this.#recursive = this.#resolver(options.server === undefined ? undefined : [options.server]);
  }

  cancel(): void {
    this.#isCancelled = true;
    for (const resolver of this.#resolvers) resolver.cancel();
  }

  async records(name: string, type: DnsType): Promise<readonly string[]> {
    const aliases: string[] = [];
    while (aliases.length <= limits.chain) {
      const current = aliases.at(-1) ?? name;
      const resolver = await this.#authoritative(current);
      const found = type === "CNAME" ? [] : await this.#ask(() => query(resolver, current, type));
      if (found.length > 0) return found;
      const [alias] = await this.#ask(() => resolver.resolveCname(current));
      if (alias === undefined) return type === "CNAME" ? aliases : [];
      aliases.push(alias.toLowerCase());
    }
    throw new LookupError(`has more than ${limits.chain} CNAME records in a chain`);
  }

  /** Returns a resolver that asks the authoritative servers of a name. */
  async #authoritative(name: string): Promise<dns.Resolver> {
    const { server, port = 53 } = this.#options;
    const { permitsPrivate = server !== undefined && isPrivateServer(server) } = this.#options;
    const names = await this.#nameServers(name);
    if (names.length === 0 && server !== undefined) return this.#recursive;
    const addresses: string[] = [];
    for (const host of names) {
      if (addresses.length >= limits.servers || this.#unresolved >= limits.unresolved) break;
      const found = addresses.length;
      for (const type of ["A", "AAAA"] as const)
        addresses.push(...(await this.#ask(() => query(this.#recursive, host, type)).catch(() => [])));
      if (addresses.length === found) this.#unresolved++;
    }
    const usable = addresses.filter((address) => permitsPrivate || isPublicAddress(address));
    if (usable.length === 0) throw new LookupError("has no DNS server with a public address");
    return this.#resolver(usable.slice(0, limits.servers).map((address) => serverOf(address, port)));
  }

  /**
   * Returns the names of the servers of the zone that contains the name, or an empty array if no parent is a zone.
   * Without the option `server`, the zone may be the top-level domain, whose servers know which names do not exist.
   */
  async #nameServers(name: string): Promise<readonly string[]> {
    const topLevel = this.#options.server === undefined ? [name.slice(name.lastIndexOf(".") + 1)] : [];
    for (const parent of [...withParents(name), ...topLevel]) {
      // For an alias, the response would contain the servers of a different zone. An alias cannot be the apex of a
      // zone.
      if ((await this.#ask(() => this.#recursive.resolveCname(parent))).length > 0) continue;
      const servers = await this.#ask(() => this.#recursive.resolveNs(parent));
      if (servers.length > 0) return servers;
    }
    return [];
  }

  /** Returns an empty array if the servers report that there are no records. */
  async #ask(ask: () => Promise<readonly string[]>): Promise<readonly string[]> {
    if (this.#isCancelled) throw new LookupError("did not respond in time");
    if (++this.#queries > limits.queries) throw new LookupError(`needs more than ${limits.queries} queries`);
    try {
      return await ask();
    } catch (error) {
      if (isEmpty(error)) return [];
      throw error;
    }
  }

  #resolver(servers?: readonly string[]): dns.Resolver {
    const resolver = new dns.Resolver({ timeout: this.#options.timeoutMs ?? 2000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    this.#resolvers.push(resolver);
    return resolver;
  }
}

/** Returns a resolver that asks the authoritative servers of each name. */
export const createAuthoritativeDns = (options: AuthoritativeDnsOptions): DnsResolver => {
  /** By registered domain, and by registered domain and account; sorted by their latest lookups. */
  const buckets = new Map<string, Bucket>();
  /** By registered domain, so that slow servers of one domain do not delay the others. */
  const lookups = new FairSemaphore(limits.concurrent, limits.concurrent);

  /** Takes a token from a bucket. Returns the seconds to wait if it has too few. */
  const take = (key: string, perMinute: number, reserve = 0): number | undefined => {
    const now = options.clock.now();
    const { bucket, retryAfterSeconds } = takeToken(buckets.get(key), perMinute, now, reserve);
    buckets.delete(key);
    buckets.set(key, bucket);
    for (const oldest of buckets.keys()) {
      if (buckets.size <= limits.buckets) break;
      buckets.delete(oldest);
    }
    return retryAfterSeconds;
  };

  /**
   * Counts a lookup. Returns the seconds to wait if the registered domain has too many, or the account for this domain.
   */
  const count = (domain: string, account: AccountId | undefined, reserve: number): number | undefined =>
    (account === undefined ? undefined : take(`${domain} ${account}`, limits.perAccount)) ??
    take(domain, limits.lookupsPerMinute, reserve);

  const lookUp = async (name: string, type: DnsType, signal: AbortSignal | undefined): Promise<readonly string[]> => {
    const lookup = new Lookup(options);
    const cancel = () => lookup.cancel();
    const timer = setTimeout(cancel, limits.lookupMs);
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      if (signal?.aborted) cancel();
      return await lookup.records(name, type);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  };

  return {
    resolve: (name, type, { signal, isReserved = false, account }: LookupOptions = {}) => {
      const reserve = isReserved ? 0 : limits.reserved;
      const domain = registeredDomain(name as DomainName) ?? name;
      const wait = lookups.waiting >= limits.waiting - reserve ? 1 : count(domain, account, reserve);
      if (wait !== undefined)
        return errAsync(rateLimited(`Too many DNS lookups of '${name}'. Try again in ${wait} s.`, wait));
      // `lookUp` reports an abort, so the semaphore does not get the signal.
      const found = lookups.take(domain, undefined, () => lookUp(name.toLowerCase(), type, signal));
      return ResultAsync.fromPromise(found, (cause) =>
        unavailable(
          cause instanceof LookupError
            ? `The DNS lookup of '${name}' failed: it ${cause.message}.`
            : `The DNS servers of '${name}' did not respond, or responded with an error.`,
        ),
      );
    },
  };
};
