/**
 * Orders the certificate of a host: checks its DNS records, reserves an order in the budget, asks the authorities, and
 * stores the certificate. A failure delays the next attempt.
 */
import {
  type AttemptFailure,
  type AttemptState,
  afterFailure,
  type HostCertificate,
  orderKindOf,
  permittingAuthorities,
} from "../../domain/domains/certificate.ts";
import { afterCheck, type CheckOutcome } from "../../domain/domains/domain-check.ts";
import type { DomainName } from "../../domain/domains/domain-name.ts";
import { abandonsOrder } from "../../domain/domains/renewal.ts";
import { type Instant, type Timestamp, timestampOf } from "../../domain/wire/instant.ts";
import { type ControlPlaneError, type Unavailable, unavailable } from "../../errors.ts";
import type { CertificateAuthority, OrderFailed } from "../../ports/certificate-authority.ts";
import type { BegunOrder, CertificateHost, CertificatePorts } from "../../ports/certificate-store.ts";
import type { DomainPorts } from "../../ports/domain-store.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, errAsync, ok, okAsync, type ResultAsync, safeTry } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { checkReachability, checkRecords } from "./check-records.ts";
import { OrderReservations, type Reservation } from "./order-reservations.ts";

export interface KeeperDeps {
  readonly context: Context;
  readonly domains: DomainPorts;
  readonly certificates: CertificatePorts;
  /** The signal stops the keeper. */
  readonly options: CallOptions;
}

/** Why a host does not get a certificate now. */
interface Refusal extends AttemptFailure {
  readonly kind: "refused";
}

type Issued =
  | { readonly kind: "issued"; readonly authority: string; readonly chain: string }
  | Refusal
  /** The account lost the host during the order. */
  | { readonly kind: "unwanted" };

/** An attempt to obtain a certificate. */
interface Attempt {
  readonly wanted: CertificateHost;
  /** The current certificate, and its chain. */
  readonly certificate: HostCertificate;
  readonly chain: string | null;
  /** The key of the next certificate. */
  readonly key: string;
  /** The order that an earlier attempt has begun. */
  readonly begun: BegunOrder | null;
  readonly reservation: Reservation;
  /** The authorities that require no delay, in order of preference. */
  readonly authorities: readonly CertificateAuthority[];
}

/** @param authorityDelaysMs undefined if the platform found the problem before it sent a request to an authority */
const refusal = (message: string, authorityDelaysMs?: Refusal["authorityDelaysMs"]): Refusal => ({
  kind: "refused",
  message,
  authorityDelaysMs: authorityDelaysMs ?? {},
  isOrder: authorityDelaysMs !== undefined,
});

/** Returns why the records of the host do not permit an order. */
const recordsRefusal = (host: DomainName, outcome: CheckOutcome): Refusal | undefined => {
  if (outcome.kind === "no_response")
    return refusal(`The DNS servers of '${host}' did not respond, or responded with an error.`);
  return outcome.problems.length === 0 ? undefined : refusal(outcome.problems.join(" "));
};

/** The outcome of a check of a host that the account has lost. */
const removed = (host: DomainName): CheckOutcome => ({ kind: "found", problems: [`'${host}' was removed.`] });

const authorityRefusal = (name: string, error: OrderFailed | Unavailable): Refusal =>
  error.kind === "unavailable"
    ? refusal(`The authority ${name} is not available: ${error.message}`, { [name]: error.retryAfterSeconds * 1000 })
    : refusal(
        `The authority ${name} issued no certificate: ${error.message}`,
        error.retryAfterMs === null ? {} : { [name]: error.retryAfterMs },
      );

/** Combines the refusals of several authorities. */
const combined = (refused: readonly Refusal[]): Refusal =>
  refusal(
    refused.map(({ message }) => message).join(" "),
    Object.assign({}, ...refused.map(({ authorityDelaysMs }) => authorityDelaysMs)),
  );

const budgetMessage = ({ isOwn }: CertificateHost, registered: DomainName): string => {
  const limit = `Authorities limit the certificates for '${registered}' per week, and the orders that the platform permits are used up.`;
  return isOwn ? limit : `${limit} Wait, or ask the operator for a wildcard certificate (--tls-cert).`;
};

const stopped = (): Unavailable => unavailable("The platform is shutting down.");

export class CertificateOrders {
  readonly #deps: KeeperDeps;
  readonly #reservations: OrderReservations;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#reservations = new OrderReservations(deps.certificates.store, deps.context.ports.clock);
  }

  /** Makes one attempt, and stores its result. Fails only if the platform itself has a problem or stops. */
  order(wanted: CertificateHost, certificate: HostCertificate): ResultAsync<void, ControlPlaneError> {
    const { host } = wanted;
    const { store } = this.#deps.certificates;
    return safeTry(
      async function* (this: CertificateOrders) {
        const problem = recordsRefusal(host, yield* await this.#checkDns(wanted));
        if (problem !== undefined) return this.#fail(wanted, problem);
        const authorities = this.#permitting(certificate);
        // A correction of the clock may have prolonged the delays.
        if (authorities.length === 0) return ok(undefined);
        const { key, order: begun } = yield* await store.next(host);
        const chain = yield* await store.chain(host);
        const reservation = this.#newReservation(wanted, certificate);
        const permittedAt = this.#continues(begun) ? undefined : yield* await this.#reservations.reserve(reservation);
        if (permittedAt !== undefined) return this.#postpone(wanted, reservation, permittedAt);
        const attempt = { wanted, certificate, chain, key, begun, reservation, authorities };
        const issued = yield* await this.#reservations.releaseAfter(reservation, () => this.#askAuthorities(attempt));
        return issued.kind === "refused" ? this.#fail(wanted, issued) : this.#complete(wanted, issued);
      }.bind(this),
    );
  }

  get #now(): Instant {
    return this.#deps.context.ports.clock.now();
  }

  #isStopped(): boolean {
    return this.#deps.options.signal?.aborted === true;
  }

  /** Checks the records again, even before a renewal. Stores the result of a custom domain. */
  #checkDns(wanted: CertificateHost): ResultAsync<CheckOutcome, ControlPlaneError> {
    const { domains, options } = this.#deps;
    const reserved = { ...options, isReserved: true };
    return safeTry(
      async function* (this: CertificateOrders) {
        const beganAt = timestampOf(this.#now);
        const { host, account, isOwn } = wanted;
        const stored = isOwn ? yield* await domains.store.find(host, options) : null;
        if (isOwn && stored?.owner !== account) return ok(removed(host));
        const outcome = yield* await (stored === null
          ? checkReachability(domains, host, reserved)
          : checkRecords(domains, stored, reserved));
        // Cancelled lookups say nothing about the domain.
        if (this.#isStopped()) return err(stopped());
        return stored === null ? ok(outcome) : this.#storeCheck(wanted, outcome, beganAt);
      }.bind(this),
    );
  }

  /** Stores the result of a check. After a concurrent change, reads the domain again, because its owner may differ. */
  #storeCheck(
    { host, account }: CertificateHost,
    outcome: CheckOutcome,
    beganAt: Timestamp,
  ): ResultAsync<CheckOutcome, ControlPlaneError> {
    const { domains, options } = this.#deps;
    return safeTry(async function* () {
      for (;;) {
        const stored = yield* await domains.store.find(host, options);
        if (stored?.owner !== account) return ok(removed(host));
        const written = await domains.store.write(afterCheck(stored, outcome, beganAt), stored, options);
        if (written.isOk() || written.error.kind !== "conflict") return written.map(() => outcome);
      }
    });
  }

  #newReservation({ host, account }: CertificateHost, certificate: HostCertificate): Reservation {
    const registeredDomain = this.#deps.domains.registeredDomain(host) ?? host;
    return { order: { account, registeredDomain, kind: orderKindOf(certificate) } };
  }

  #permitting(certificate: HostCertificate): readonly CertificateAuthority[] {
    const { authorities } = this.#deps.certificates;
    const names = authorities.map(({ name }) => name);
    const permitting = permittingAuthorities(certificate, names, this.#now);
    return authorities.filter(({ name }) => permitting.includes(name));
  }

  /** Returns whether an authority can continue the order, which the budget already counts. */
  #continues(begun: BegunOrder | null): boolean {
    return this.#deps.certificates.authorities.some(({ name }) => name === begun?.authority);
  }

  #postpone(
    wanted: CertificateHost,
    { order }: Reservation,
    permittedAt: Instant,
  ): ResultAsync<void, ControlPlaneError> {
    const { host } = wanted;
    this.#deps.context.ports.logger.warn("no certificate was ordered, because the budget of orders is used up", {
      host,
    });
    const reason = budgetMessage(wanted, order.registeredDomain);
    return this.#changeAttempt(wanted, ({ failures, orderFailures, authorityDelays }) => ({
      failures,
      orderFailures,
      reason,
      authorityDelays,
      nextAttemptAt: permittedAt,
    })).map(() => undefined);
  }

  /**
   * Stores the end of an attempt. Returns null and stores nothing if the account has lost the host. Uses the stored
   * state, because a check by the owner may have reset the failures during the attempt.
   */
  #changeAttempt(
    { host, account }: CertificateHost,
    change: (present: HostCertificate) => AttemptState,
  ): ResultAsync<AttemptState | null, ControlPlaneError> {
    const { store } = this.#deps.certificates;
    return store.changeAttempt(host, (present, owner) => (owner === account ? change(present) : null));
  }

  /**
   * Asks the authorities in order of preference, until one issues a certificate or finds a problem with the host.
   * Starts with the authority whose order can continue.
   */
  #askAuthorities(attempt: Attempt): ResultAsync<Issued, ControlPlaneError> {
    const { wanted, begun, reservation, authorities } = attempt;
    const continues = ({ name }: CertificateAuthority) => Number(name === begun?.authority);
    return safeTry(
      async function* (this: CertificateOrders) {
        const refused: Refusal[] = [];
        for (const authority of authorities.toSorted((one, other) => continues(other) - continues(one))) {
          if (!(yield* await this.#isWanted(wanted))) return ok<Issued>({ kind: "unwanted" });
          if (!continues(authority) && (yield* await this.#reservations.reserve(reservation)) !== undefined) {
            refused.push(refusal(budgetMessage(wanted, reservation.order.registeredDomain), {}));
            break;
          }
          const chain = await this.#orderFrom(authority, attempt);
          if (chain.isOk()) return ok<Issued>({ kind: "issued", authority: authority.name, chain: chain.value });
          refused.push(authorityRefusal(authority.name, chain.error));
          if (yield* await this.#endsAttempt(wanted, authority, chain.error)) break;
        }
        return ok<Issued>(combined(refused));
      }.bind(this),
    );
  }

  /** Returns whether the account still has the host. Another account may have taken over the domain during an order. */
  #isWanted({ host, account }: CertificateHost): ResultAsync<boolean, Unavailable> {
    return this.#deps.certificates.store.accountOf(host).map((owner) => owner === account);
  }

  #orderFrom(authority: CertificateAuthority, attempt: Attempt): ResultAsync<string, OrderFailed | Unavailable> {
    const { context, certificates, options } = this.#deps;
    const { wanted, certificate, chain, key, begun, reservation } = attempt;
    const { host } = wanted;
    const order = begun?.authority === authority.name ? begun.url : undefined;
    const request = {
      host,
      key,
      order,
      responder: certificates.responder,
      // Only the authority that issued the certificate knows it.
      replaces: certificate.authority === authority.name ? (chain ?? undefined) : undefined,
      started: (url: string) => {
        const counted = url === order ? null : reservation;
        return this.#reservations.start(host, { authority: authority.name, url }, counted);
      },
    };
    return authority.order(request, options).mapErr((error) => {
      context.ports.logger.warn("an authority issued no certificate", {
        host,
        authority: authority.name,
        reason: error.message,
      });
      return error;
    });
  }

  /**
   * Returns true if the attempt must not continue with another authority after a failure. Deletes the stored order if
   * this authority has ended it, but keeps an order at another authority. Fails if the keeper stops.
   */
  #endsAttempt(
    { host }: CertificateHost,
    { name }: CertificateAuthority,
    error: OrderFailed | Unavailable,
  ): ResultAsync<boolean, Unavailable> {
    const { store } = this.#deps.certificates;
    if (this.#isStopped()) return errAsync(stopped());
    if (error.kind === "unavailable") return okAsync(false);
    return store
      .next(host)
      .andThen(({ order }) => (order?.authority === name ? store.endOrder(host) : okAsync(undefined)))
      .map(() => !error.othersMayIssue);
  }

  #complete(
    wanted: CertificateHost,
    issued: Exclude<Issued, { readonly kind: "refused" }>,
  ): ResultAsync<void, ControlPlaneError> {
    const { host } = wanted;
    const { context, certificates } = this.#deps;
    const { logger } = context.ports;
    return safeTry(
      async function* (this: CertificateOrders) {
        if (issued.kind === "unwanted" || !(yield* await this.#isWanted(wanted))) {
          logger.info("ended an order, because the account no longer has the host", { host });
          return ok(undefined);
        }
        const { life } = yield* await certificates.store.complete(host, issued.authority, issued.chain);
        logger.info("got a certificate", {
          host,
          authority: issued.authority,
          notAfter: life === null ? undefined : timestampOf(life.end),
        });
        return ok(undefined);
      }.bind(this),
    );
  }

  #fail(wanted: CertificateHost, refused: Refusal): ResultAsync<void, ControlPlaneError> {
    const now = this.#now;
    const change = (present: HostCertificate) => afterFailure(present, refused, now);
    return this.#changeAttempt(wanted, change).andThen((stored) => {
      if (stored === null) return okAsync(undefined);
      const { failures, orderFailures, reason, nextAttemptAt } = stored;
      this.#deps.context.ports.logger.warn("could not get a certificate", {
        host: wanted.host,
        failures,
        reason,
        nextAttemptAt: nextAttemptAt === null ? undefined : timestampOf(nextAttemptAt),
      });
      const { store } = this.#deps.certificates;
      return refused.isOrder && abandonsOrder(orderFailures) ? store.endOrder(wanted.host) : okAsync(undefined);
    });
  }
}
