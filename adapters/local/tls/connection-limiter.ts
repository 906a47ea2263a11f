/** Limits the handshakes of each client, because a handshake needs much more CPU than a request. */
import type { Logger } from "../../../core/ports/system.ts";

/** The maximum burst, and the maximum number of unfinished handshakes, as multiples of the connections per second. */
const BURST_SECONDS = 2;

/** The maximum number of clients in memory. A client takes about 200 bytes. */
const MAX_CLIENTS = 10_000;

/** How often the log reports refused connections. */
const REPORT_MS = 60_000;

/**
 * Returns the client of an address. The addresses of an IPv6 /64 network count as one client, because a client usually
 * owns a whole network: https://www.rfc-editor.org/rfc/rfc6177
 */
export const clientOf = (address: string): string => {
  if (!address.includes(":")) return address;
  if (address.includes(".")) return address.slice(address.lastIndexOf(":") + 1);
  const [left, right] = address.split("::").map((groups) => (groups === "" ? [] : groups.split(":"))) as [
    string[],
    string[]?,
  ];
  const zeros = right === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill("0"), ...(right ?? [])].slice(0, 4).join(":");
};

interface Client {
  /** The number of connections that the client may open now. */
  tokens: number;
  countedAt: number;
  handshakes: number;
}

export interface ConnectionLimiterDeps {
  /** The connections that each client may open per second, after a burst; 0 for no limit. */
  readonly perSecond: number;
  readonly logger: Logger;
  /** Returns a monotonic time in milliseconds. */
  readonly now?: () => number;
}

const nothing = (): void => undefined;

export class ConnectionLimiter {
  readonly #deps: ConnectionLimiterDeps;
  readonly #now: () => number;
  readonly #max: number;
  /** The client that connected last is the last entry. */
  readonly #clients = new Map<string, Client>();
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: ConnectionLimiterDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
    this.#max = deps.perSecond * BURST_SECONDS;
  }

  /** The number of clients in memory. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Admits a new connection. Returns a function that the caller must call when the handshake has ended, or undefined if
   * the client must wait.
   */
  admit(address: string): (() => void) | undefined {
    if (this.#deps.perSecond === 0) return nothing;
    const client = this.#touch(clientOf(address));
    if (client.tokens < 1 || client.handshakes >= this.#max) return this.#report(address);
    client.tokens--;
    client.handshakes++;
    let ended = false;
    return () => {
      if (!ended) client.handshakes--;
      ended = true;
    };
  }

  /**
   * Returns the client with its current tokens. If there are too many clients, forgets the one that connected least
   * recently.
   */
  #touch(key: string): Client {
    const now = this.#now();
    const client = this.#clients.get(key) ?? { tokens: this.#max, countedAt: now, handshakes: 0 };
    client.tokens = Math.min(this.#max, client.tokens + ((now - client.countedAt) / 1000) * this.#deps.perSecond);
    client.countedAt = now;
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size > MAX_CLIENTS) this.#clients.delete(this.#clients.keys().next().value as string);
    return client;
  }

  #report(address: string): undefined {
    const now = this.#now();
    if (now - this.#reportedAt < REPORT_MS) return;
    this.#reportedAt = now;
    this.#deps.logger.warn("a client opens too many TLS connections; the additional ones are closed", {
      address,
      limit: `${this.#deps.perSecond} per second`,
      next: "if the address belongs to a load balancer, raise --tls-connections-per-second",
    });
  }
}
