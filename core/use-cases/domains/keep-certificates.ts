/** Orders and renews the certificates of all hosts while the host of the control plane runs. */
import {
  afterAdvice,
  afterStart,
  compareUrgency,
  type HostCertificate,
  isAdviceDue,
  isDiscardable,
  orderDueAt,
  withoutCertificate,
} from "../../domain/domains/certificate.ts";
import { isFromFastClock } from "../../domain/domains/clock-correction.ts";
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type Instant, plusMillis } from "../../domain/wire/instant.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { CertificateHost } from "../../ports/certificate-store.ts";
import { ok, type ResultAsync, safeTry } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import { CertificateOrders, type KeeperDeps } from "./order-certificate.ts";

/** The default interval between searches for hosts that need a certificate, in milliseconds. */
const LOOK_MS = 5000;

/** The maximum number of concurrent orders and requests for advice. */
const MAX_CONCURRENT = 20;

/** How long a host waits after a failure of the platform itself, in milliseconds. */
const HOLD_MS = 60_000;

export interface KeepOptions {
  readonly signal: AbortSignal;
  /** How often to look for hosts that need a certificate, in milliseconds. Defaults to 5 seconds. */
  readonly lookMs?: number;
}

/** Decides when each host needs an order or advice, and starts it. */
class CertificateKeeper {
  readonly #deps: KeeperDeps;
  readonly #orders: CertificateOrders;
  /** The hosts with a running task. A host has at most one order at a time. */
  readonly #running = new Map<DomainName, Promise<void>>();
  /**
   * The hosts whose last task failed because of the platform itself. In memory only, because a restart may retry them.
   */
  readonly #heldUntil = new Map<DomainName, Instant>();

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#orders = new CertificateOrders(deps);
  }

  async run({ signal, lookMs = LOOK_MS }: KeepOptions): Promise<void> {
    const { clock, logger } = this.#deps.context.ports;
    const started = await catchBugs(() => this.#endPauses());
    if (started.isErr()) logger.error("could not end the pauses of failed orders", { cause: started.error });
    while (!signal.aborted) {
      const looked = await catchBugs(() => this.#look());
      if (looked.isErr()) logger.error("could not look for certificates to order", { cause: looked.error });
      // At the limit, also wake up when a task ends, because another one can then start.
      const woken = new AbortController();
      const pause = clock.sleep(lookMs, AbortSignal.any([signal, woken.signal]));
      await Promise.race([pause, ...(this.#running.size < MAX_CONCURRENT ? [] : this.#running.values())]);
      woken.abort();
    }
    await Promise.all(this.#running.values());
  }

  get #now(): Instant {
    return this.#deps.context.ports.clock.now();
  }

  /** Ends or shortens the pauses of the platform's own hosts, whose records the operator may have corrected. */
  #endPauses(): ResultAsync<void, ControlPlaneError> {
    const { store } = this.#deps.certificates;
    return safeTry(async function* () {
      const failed = new Set(
        (yield* await store.list()).filter(({ failures }) => failures > 0).map(({ host }) => host),
      );
      for (const { host, isOwn } of yield* await store.hosts())
        if (!isOwn && failed.has(host))
          yield* await store.changeAttempt(host, (present, owner) => (owner === null ? null : afterStart(present)));
      return ok(undefined);
    });
  }

  /** Starts the tasks that are due. */
  #look(): ResultAsync<void, ControlPlaneError> {
    const { store } = this.#deps.certificates;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const hosts = yield* await store.hosts();
        const known = new Map((yield* await store.list()).map((one) => [one.host, one]));
        for (const [host, until] of this.#heldUntil)
          if (until <= this.#now || isFromFastClock(until, HOLD_MS, this.#now)) this.#heldUntil.delete(host);
        const needed = hosts.map((wanted) => {
          const certificate = known.get(wanted.host) ?? withoutCertificate(wanted.host);
          known.delete(wanted.host);
          return { wanted, certificate };
        });
        needed.sort((one, other) => compareUrgency(one.certificate, other.certificate));
        for (const { wanted, certificate } of needed) this.#startDue(wanted, certificate);
        for (const unused of known.values())
          if (isDiscardable(unused, this.#now) && !this.#running.has(unused.host))
            yield* await store.remove(unused.host);
        return ok(undefined);
      }.bind(this),
    );
  }

  #startDue(wanted: CertificateHost, certificate: HostCertificate): void {
    const { host } = wanted;
    if (this.#running.has(host) || this.#running.size >= MAX_CONCURRENT || this.#heldUntil.has(host)) return;
    const authorities = this.#deps.certificates.authorities.map(({ name }) => name);
    if (orderDueAt(certificate, authorities, this.#now) <= this.#now)
      this.#start(host, () => this.#orders.order(wanted, certificate));
    else if (isAdviceDue(certificate, authorities, this.#now)) this.#start(host, () => this.#askForAdvice(certificate));
  }

  #start(host: DomainName, task: () => ResultAsync<void, ControlPlaneError>): void {
    const { context, options } = this.#deps;
    const run = async () => {
      const done = await catchBugs(task);
      if (done.isErr() && options.signal?.aborted !== true) {
        this.#heldUntil.set(host, plusMillis(this.#now, HOLD_MS));
        context.ports.logger.error("could not order or renew the certificate of a host", { host, cause: done.error });
      }
      this.#running.delete(host);
    };
    this.#running.set(host, run());
  }

  /**
   * Stores when to ask again even if the authority gives no advice. Otherwise, each restart would ask for all hosts.
   */
  #askForAdvice({ host, authority: name, renewal }: HostCertificate): ResultAsync<void, ControlPlaneError> {
    const { certificates, options } = this.#deps;
    const { store, authorities } = certificates;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const authority = authorities.find((one) => one.name === name);
        const present = yield* await store.chain(host);
        if (authority === undefined || present === null) return ok(undefined);
        const advice = await authority.advice(present, options);
        if (advice.isErr() && options.signal?.aborted === true) return ok(undefined);
        yield* await store.noteRenewal(host, afterAdvice(renewal, advice.unwrapOr(null), Math.random(), this.#now));
        return advice.map(() => undefined);
      }.bind(this),
    );
  }
}

/**
 * Orders and renews certificates until the signal aborts. Does nothing if Portside does not order the provider's
 * certificates.
 */
export const keepCertificates = async (context: Context, keep: KeepOptions): Promise<void> => {
  const { domains } = context.ports.provider;
  if (domains?.certificates === undefined) return;
  const options = { signal: keep.signal };
  await new CertificateKeeper({ context, domains, certificates: domains.certificates, options }).run(keep);
};
