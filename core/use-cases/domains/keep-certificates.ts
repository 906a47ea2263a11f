/** Orders and renews the certificates of all hosts, for as long as the host of the control plane runs. */
import {
  afterAdvice,
  afterFailure,
  type HostCertificate,
  isValid,
  orderDueAt,
} from "../../domain/domains/certificate.ts";
import { afterCheck, type CheckOutcome } from "../../domain/domains/domain-check.ts";
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { type CertificateOrder, orderLimits, orderPermittedAt } from "../../domain/domains/order-budget.ts";
import { renewableAt } from "../../domain/domains/renewal.ts";
import { type Instant, plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import { type ControlPlaneError, type Unavailable, unavailable } from "../../errors.ts";
import type { CertificateAuthority, OrderFailed } from "../../ports/certificate-authority.ts";
import type { CertificateHost, CertificatePorts, NextCertificate } from "../../ports/certificate-store.ts";
import type { DomainPorts } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, errAsync, ok, okAsync, type ResultAsync, safeTry } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import { checkReachability, checkRecords } from "./check-records.ts";

/** The default pause between looks for hosts that need a certificate, in milliseconds. */
const LOOK_MS = 5000;

/** The maximum number of concurrent orders and requests for advice. */
const MAX_CONCURRENT = 20;

/** How long a host waits after a failure of the platform itself, in milliseconds. */
const HOLD_MS = 60_000;

/** When to ask again for advice that the authority could not give, or does not give, in milliseconds. */
const ADVICE_RETRY_MS = 6 * 60 * 60_000;

const STOPPED = "The platform stops.";

/** Why a host gets no certificate now. */
interface Refusal {
  readonly message: string;
  /** The milliseconds after which the authority permits another order; null if it does not say. */
  readonly retryAfterMs: number | null;
}

const refusal = (message: string, retryAfterMs: number | null = null): Refusal => ({ message, retryAfterMs });

/** Returns why the records of the host do not permit an order. */
const recordsRefusal = (host: DomainName, outcome: CheckOutcome): Refusal | undefined => {
  if (outcome.kind === "no_response") return refusal(`The DNS servers of '${host}' did not respond.`);
  return outcome.problems.length === 0 ? undefined : refusal(outcome.problems.join(" "));
};

const budgetMessage = (registered: string): string =>
  `Authorities limit the certificates for '${registered}' per week, and the platform has used its part of the limit.`;

export interface KeepOptions {
  readonly signal: AbortSignal;
  /** How often to look for hosts that need a certificate, in milliseconds. Defaults to 5 seconds. */
  readonly lookMs?: number;
}

/** What an authority needs for an order. */
interface AuthorityOrder {
  readonly host: DomainName;
  readonly key: string;
  readonly order: string | undefined;
  readonly replaces: string | null;
}

/** The part of the budget that an attempt may use: one order. */
interface BudgetReservation {
  readonly certificate: HostCertificate;
  readonly registered: DomainName;
  order: CertificateOrder;
}

type Started = (order: string) => ResultAsync<void, Unavailable>;

/** Keeps the certificates of one control plane. */
class CertificateKeeper {
  readonly #context: Context;
  readonly #domains: DomainPorts;
  readonly #ports: CertificatePorts;
  readonly #options: CallOptions;
  /** The hosts with a running task. A host has at most one order at a time. */
  readonly #running = new Map<DomainName, Promise<void>>();
  /** The orders that are permitted, but not recorded yet. */
  readonly #reserved = new Set<CertificateOrder>();
  /** When to ask for advice again, by host, if the last request gave none. */
  readonly #adviceAt = new Map<DomainName, Instant>();
  /** The hosts whose last task failed because of the platform itself. */
  readonly #heldUntil = new Map<DomainName, Instant>();
  /** No renewal begins earlier, by host. */
  readonly #renewableAt = new Map<DomainName, Instant>();

  constructor(context: Context, domains: DomainPorts, ports: CertificatePorts, options: CallOptions) {
    this.#context = context;
    this.#domains = domains;
    this.#ports = ports;
    this.#options = options;
  }

  async run({ signal, lookMs = LOOK_MS }: KeepOptions): Promise<void> {
    const { clock, logger } = this.#context.ports;
    while (!signal.aborted) {
      const looked = await catchBugs(() => this.#look());
      if (looked.isErr()) logger.error("could not look for certificates to order", { cause: looked.error });
      // A task that ends makes room for another one.
      const woken = new AbortController();
      const pause = clock.sleep(lookMs, AbortSignal.any([signal, woken.signal]));
      await Promise.race([pause, ...(this.#running.size < MAX_CONCURRENT ? [] : this.#running.values())]);
      woken.abort();
    }
    await Promise.all(this.#running.values());
  }

  get #now(): Instant {
    return this.#context.ports.clock.now();
  }

  /** Starts the tasks that are due. */
  #look(): ResultAsync<void, ControlPlaneError> {
    const { store } = this.#ports;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const hosts = yield* await store.hosts();
        const known = new Map((yield* await store.list()).map((one) => [one.host, one]));
        for (const wanted of hosts) {
          const certificate = known.get(wanted.host) ?? (yield* await store.find(wanted.host));
          known.delete(wanted.host);
          this.#startDue(wanted, certificate);
        }
        // An unused certificate stays until it expires, so that a domain that returns needs no order.
        for (const { host, ...rest } of known.values())
          if (!isValid(rest, this.#now) && !this.#running.has(host)) yield* await store.remove(host);
        return ok(undefined);
      }.bind(this),
    );
  }

  #startDue(wanted: CertificateHost, certificate: HostCertificate): void {
    const { host } = wanted;
    if (this.#running.has(host) || this.#running.size >= MAX_CONCURRENT) return;
    if ((this.#heldUntil.get(host) ?? this.#now) > this.#now) return;
    const isHeld = isValid(certificate, this.#now) && (this.#renewableAt.get(host) ?? this.#now) > this.#now;
    if (!isHeld && orderDueAt(certificate, this.#now) <= this.#now)
      return this.#start(host, () => this.#order(wanted, certificate));
    const askAt = this.#adviceAt.get(host) ?? certificate.renewal?.askAgainAt;
    if (isValid(certificate, this.#now) && (askAt === undefined || askAt <= this.#now))
      this.#start(host, () => this.#askForAdvice(certificate));
  }

  #start(host: DomainName, task: () => ResultAsync<void, ControlPlaneError>): void {
    const { logger } = this.#context.ports;
    const run = async () => {
      const done = await catchBugs(task);
      this.#heldUntil.delete(host);
      if (done.isErr() && this.#options.signal?.aborted !== true) {
        this.#heldUntil.set(host, plusMillis(this.#now, HOLD_MS));
        logger.error("could not keep the certificate of a host", { host, cause: done.error });
      }
      this.#running.delete(host);
    };
    this.#running.set(host, run());
  }

  #order(wanted: CertificateHost, certificate: HostCertificate): ResultAsync<void, ControlPlaneError> {
    const { host } = wanted;
    const { logger } = this.#context.ports;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const found = recordsRefusal(host, yield* await this.#checkDns(wanted));
        if (found !== undefined) return this.#fail(certificate, found);
        const next = yield* await this.#ports.store.next(host);
        const replaces = yield* await this.#ports.store.chain(host);
        const registered = this.#domains.registeredDomain(host) ?? host;
        const continues = this.#ports.authorities.some(({ name }) => name === next.order?.authority);
        const reserved = yield* await this.#reserve(wanted, certificate, registered, continues);
        if (!("account" in reserved)) {
          logger.warn("no certificate was ordered, because the budget of orders is used up", { host });
          return this.#ports.store.noteAttempt(host, {
            failures: certificate.failures,
            reason: budgetMessage(registered),
            nextAttemptAt: reserved.permittedAt,
          });
        }
        const reservation = { certificate, registered, order: reserved };
        try {
          const issued = yield* await this.#askAuthorities(wanted, { ...next, replaces }, reservation);
          if (issued !== undefined && "message" in issued) return this.#fail(certificate, issued);
          if (issued === undefined || !(yield* await this.#isWanted(wanted))) {
            logger.info("ended an order, because the account no longer has the host", { host });
            return ok(undefined);
          }
          const completed = yield* await this.#ports.store.complete(host, issued.authority, issued.chain);
          this.#adviceAt.delete(host);
          if (completed.life !== null) this.#renewableAt.set(host, renewableAt(completed.life, this.#now));
          logger.info("got a certificate", {
            ...{ host, authority: issued.authority },
            notAfter: completed.life === null ? undefined : timestampOf(completed.life.end),
          });
          return ok(undefined);
        } finally {
          this.#reserved.delete(reservation.order);
        }
      }.bind(this),
    );
  }

  /** Returns whether the account still has the host. Another account may have taken the domain over during an order. */
  #isWanted({ host, account }: CertificateHost): ResultAsync<boolean, Unavailable> {
    return this.#ports.store.hosts().map((hosts) => hosts.some((one) => one.host === host && one.account === account));
  }

  /** Checks the records again, also before a renewal. Stores the result of an own domain. */
  #checkDns({ host, account, isOwn }: CertificateHost): ResultAsync<CheckOutcome, ControlPlaneError> {
    if (!isOwn) return checkReachability(this.#domains, host, this.#options);
    const { store } = this.#domains;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const beganAt = timestampOf(this.#now);
        const stored = yield* await store.find(host, this.#options);
        if (stored?.owner !== account) return ok<CheckOutcome>({ kind: "found", problems: [`'${host}' was removed.`] });
        const outcome = yield* await checkRecords(this.#domains, stored, this.#options);
        // Cancelled lookups say nothing about the domain.
        if (this.#options.signal?.aborted === true) return err(unavailable(STOPPED));
        const written = await store.write(afterCheck(stored, outcome, beganAt), stored, this.#options);
        // After a concurrent change, the owner may be another account. The next attempt checks the records again.
        if (written.isErr() && written.error.kind === "conflict")
          return ok<CheckOutcome>({ kind: "found", problems: [written.error.message] });
        return written.map(() => outcome);
      }.bind(this),
    );
  }

  /** Reserves an order in the budget. An order that continues needs no reservation. */
  #reserve(
    { account }: CertificateHost,
    certificate: HostCertificate,
    registeredDomain: DomainName,
    continues: boolean,
  ): ResultAsync<CertificateOrder | { readonly permittedAt: Instant }, ControlPlaneError> {
    const at = this.#now;
    const kind = isValid(certificate, at) ? "renewal" : "new";
    const order: CertificateOrder = { account, registeredDomain, kind, at };
    if (continues) return okAsync(order);
    return this.#ports.store.orders(plusMillis(at, -orderLimits.windowMs)).map((earlier) => {
      const permittedAt = orderPermittedAt(order, [...earlier, ...this.#reserved]);
      if (permittedAt !== undefined) return { permittedAt };
      this.#reserved.add(order);
      return order;
    });
  }

  /** Returns the authorities in the order of preference. The one whose order can continue is the first. */
  #authoritiesFor(order: NextCertificate["order"]): readonly CertificateAuthority[] {
    const continues = ({ name }: CertificateAuthority) => Number(name === order?.authority);
    return this.#ports.authorities.toSorted((one, other) => continues(other) - continues(one));
  }

  /**
   * Asks the authorities, until one issues a certificate or refuses the host. Returns undefined if the account loses
   * the host meanwhile.
   */
  #askAuthorities(
    wanted: CertificateHost,
    next: NextCertificate & { readonly replaces: string | null },
    reservation: BudgetReservation,
  ): ResultAsync<{ readonly authority: string; readonly chain: string } | Refusal | undefined, ControlPlaneError> {
    const { host } = wanted;
    return safeTry(
      async function* (this: CertificateKeeper) {
        const refused: Refusal[] = [];
        for (const authority of this.#authoritiesFor(next.order)) {
          if (!(yield* await this.#isWanted(wanted))) return ok(undefined);
          const begun = next.order?.authority === authority.name ? next.order.url : undefined;
          if (begun === undefined && !(yield* await this.#ensureReservation(wanted, reservation))) {
            refused.push(refusal(budgetMessage(reservation.registered)));
            break;
          }
          const issued = await this.#orderFrom(authority, { host, ...next, order: begun }, reservation.order);
          if (issued.isOk()) return ok({ authority: authority.name, chain: issued.value });
          refused.push(this.#refusalOf(authority, issued.error));
          if (yield* await this.#endsAttempt(wanted, authority, issued.error)) break;
        }
        const waits = refused.map(({ retryAfterMs }) => retryAfterMs ?? 0);
        return ok(refusal(refused.map(({ message }) => message).join(" "), Math.min(...waits)));
      }.bind(this),
    );
  }

  /**
   * Returns whether no other authority may be asked after a failure. Forgets the order if the authority has ended it, but
   * keeps that of another authority. Fails if the keeper stops.
   */
  #endsAttempt(
    { host }: CertificateHost,
    { name }: CertificateAuthority,
    error: OrderFailed | Unavailable,
  ): ResultAsync<boolean, Unavailable> {
    const { store } = this.#ports;
    if (this.#options.signal?.aborted === true) return errAsync(unavailable(STOPPED));
    if (error.kind === "unavailable") return okAsync(false);
    return (
      store
        .next(host)
        .andThen(({ order }) => (order?.authority === name ? store.noteOrder(host, null) : okAsync(undefined)))
        // Another authority would find the same problem, unless this one limits the platform.
        .map(() => error.retryAfterMs === null)
    );
  }

  /** Orders from one authority. @param order the order that an earlier attempt has begun there */
  #orderFrom(
    authority: CertificateAuthority,
    { host, key, order, replaces }: AuthorityOrder,
    reserved: CertificateOrder,
  ): ResultAsync<string, OrderFailed | Unavailable> {
    const { responder } = this.#ports;
    const started: Started = (url) => this.#noteStarted(host, { authority: authority.name, url }, order, reserved);
    return authority
      .order({ host, key, responder, started, order, replaces: replaces ?? undefined }, this.#options)
      .mapErr((error) => {
        this.#context.ports.logger.warn("an authority issued no certificate", {
          ...{ host, authority: authority.name, reason: error.message },
        });
        return error;
      });
  }

  /**
   * Reserves another order in the budget if an authority has used the reservation, or if the attempt continued an order
   * without a reservation. Returns false if the budget permits no further order.
   */
  #ensureReservation(wanted: CertificateHost, reservation: BudgetReservation): ResultAsync<boolean, ControlPlaneError> {
    if (this.#reserved.has(reservation.order)) return okAsync(true);
    return this.#reserve(wanted, reservation.certificate, reservation.registered, false).map((again) => {
      if (!("account" in again)) return false;
      reservation.order = again;
      return true;
    });
  }

  #refusalOf({ name }: CertificateAuthority, error: OrderFailed | Unavailable): Refusal {
    return error.kind === "unavailable"
      ? refusal(`The authority ${name} is not available: ${error.message}`)
      : refusal(`The authority ${name} issued no certificate: ${error.message}`, error.retryAfterMs);
  }

  /** @param begun the order that an earlier attempt has begun, which is already recorded */
  #noteStarted(
    host: DomainName,
    order: { readonly authority: string; readonly url: string },
    begun: string | undefined,
    reserved: CertificateOrder,
  ): ResultAsync<void, Unavailable> {
    const { store } = this.#ports;
    return store.noteOrder(host, order).andThen(() => {
      this.#reserved.delete(reserved);
      const since = plusMillis(reserved.at, -orderLimits.windowMs);
      return order.url === begun ? okAsync(undefined) : store.addOrder(reserved, since);
    });
  }

  #fail(certificate: HostCertificate, { message, retryAfterMs }: Refusal): ResultAsync<void, ControlPlaneError> {
    const { host } = certificate;
    const attempt = afterFailure(certificate, message, retryAfterMs, this.#now);
    this.#context.ports.logger.warn("could not get a certificate", {
      ...{ host, failures: attempt.failures, reason: message },
      nextAttemptAt: attempt.nextAttemptAt === null ? undefined : timestampOf(attempt.nextAttemptAt),
    });
    return this.#ports.store.noteAttempt(host, attempt);
  }

  #askForAdvice(certificate: HostCertificate): ResultAsync<void, ControlPlaneError> {
    const { host } = certificate;
    const { store, authorities } = this.#ports;
    const later = () => this.#adviceAt.set(host, plusMillis(this.#now, ADVICE_RETRY_MS));
    return safeTry(
      async function* (this: CertificateKeeper) {
        const authority = authorities.find(({ name }) => name === certificate.authority);
        const present = yield* await store.chain(host);
        later();
        if (authority === undefined || present === null) return ok(undefined);
        const advice = yield* await authority.advice(present, this.#options);
        if (advice === null) return ok(undefined);
        this.#adviceAt.delete(host);
        return store.noteRenewal(host, afterAdvice(certificate.renewal, advice, Math.random(), this.#now));
      }.bind(this),
    );
  }
}

/** Keeps the certificates until the signal aborts. Does nothing if the provider gets no certificates. */
export const keepCertificates = async (context: Context, options: KeepOptions): Promise<void> => {
  const { domains } = context.ports.provider;
  if (domains?.certificates === undefined) return;
  await new CertificateKeeper(context, domains, domains.certificates, options).run(options);
};
