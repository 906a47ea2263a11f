/** The port that stores certificates and the state of their orders. One control plane at a time may write to it. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { AttemptState, HostCertificate, RenewalPlan } from "../domain/domains/certificate.ts";
import type { DomainName } from "../domain/domains/domain-name.ts";
import type { CertificateOrder } from "../domain/domains/order-budget.ts";
import type { Instant } from "../domain/wire/instant.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CertificateAuthority, ChallengeResponder } from "./certificate-authority.ts";

/** A host that needs a certificate. */
export interface CertificateHost {
  readonly host: DomainName;
  /** The account of the deployment that serves the host. */
  readonly account: AccountId;
  /** True for a custom domain, false for the platform's own domain and for hosts below it. */
  readonly isOwn: boolean;
}

/** An order at an authority. */
export interface BegunOrder {
  /** The name of the authority. */
  readonly authority: string;
  readonly url: string;
}

/** The key of the next certificate, and the order that an earlier attempt has begun. */
export interface NextCertificate {
  /** PKCS #8 in PEM. */
  readonly key: string;
  /** Null until the order begins. */
  readonly order: BegunOrder | null;
}

export interface CertificateStore {
  /**
   * Returns the hosts that need a certificate, each once: custom domains that are not `pending`, and hosts of the
   * platform.
   */
  hosts(): ResultAsync<readonly CertificateHost[], Unavailable>;

  /** Returns the `account` of a host in `hosts`, or null if the host needs no certificate. Must not read all hosts. */
  accountOf(host: DomainName): ResultAsync<AccountId | null, Unavailable>;

  /** Returns the certificate of a host. If the host has no certificate, returns a state whose `life` is null. */
  find(host: DomainName): ResultAsync<HostCertificate, Unavailable>;

  /** Returns every stored certificate. */
  list(): ResultAsync<readonly HostCertificate[], Unavailable>;

  /** Returns the chain of the current certificate in PEM; null before the first one. */
  chain(host: DomainName): ResultAsync<string | null, Unavailable>;

  /**
   * Returns the key and the order of the next certificate. Stores a new key before it returns it, so that a crash
   * cannot lose the key of a certificate. Returns the same key until `complete`.
   */
  next(host: DomainName): ResultAsync<NextCertificate, Unavailable>;

  /**
   * Stores the order of the next certificate, and counts it in the budget. Must do both atomically. May delete orders
   * that are older than the period of the budget.
   * @param counted null if the budget already counts the order
   */
  startOrder(host: DomainName, order: BegunOrder, counted: CertificateOrder | null): ResultAsync<void, Unavailable>;

  /**
   * Deletes the order of the next certificate, because the authority has ended it. The budget still counts the order.
   */
  endOrder(host: DomainName): ResultAsync<void, Unavailable>;

  /**
   * Replaces the current certificate with the next one, and resets the failures. Returns after every listener of the
   * platform uses the certificate. Existing connections continue.
   * @param chain the chain in PEM, the certificate of the host first
   */
  complete(host: DomainName, authority: string, chain: string): ResultAsync<HostCertificate, Unavailable>;

  /**
   * Calls `change` with the current state, and stores the returned attempt; stores nothing if it is null. The rest of
   * the state must not change. No other write, and no change of the host's account, may happen between the read and the
   * write. Returns the result of `change`.
   *
   * @param change must not have side effects. `account` is the result of `accountOf`.
   */
  changeAttempt(
    host: DomainName,
    change: (present: HostCertificate, account: AccountId | null) => AttemptState | null,
  ): ResultAsync<AttemptState | null, Unavailable>;

  /** Stores the advice about the renewal. */
  noteRenewal(host: DomainName, plan: RenewalPlan): ResultAsync<void, Unavailable>;

  /**
   * Removes the certificate of a host, its next key and its failures. Does nothing if the host needs a certificate
   * (`accountOf`).
   */
  remove(host: DomainName): ResultAsync<void, Unavailable>;

  /** Returns all orders since an instant. May also return earlier orders. */
  orders(since: Instant): ResultAsync<readonly CertificateOrder[], Unavailable>;
}

/** The ports of a provider whose certificates Portside orders. */
export interface CertificatePorts {
  readonly store: CertificateStore;
  /** In order of preference. At least one. Names must differ. */
  readonly authorities: readonly CertificateAuthority[];
  readonly responder: ChallengeResponder;
}
