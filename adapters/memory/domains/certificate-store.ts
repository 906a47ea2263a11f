/** Stores certificates, their keys and the state of their orders in memory. */
import { X509Certificate } from "node:crypto";
import { type HostCertificate, noFailures, withoutCertificate } from "../../../core/domain/domains/certificate.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { CertificateOrder } from "../../../core/domain/domains/order-budget.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { CertificateHost, CertificateStore, NextCertificate } from "../../../core/ports/certificate-store.ts";
import { okAsync } from "../../../core/result.ts";
import { newPrivateKey } from "../../shared/domains/x509.ts";

/** A certificate as a listener presents it. */
export interface PresentedCertificate {
  /** The chain in PEM, the certificate of the host first. */
  readonly chain: string;
  /** The private key in PEM. */
  readonly key: string;
}

/** A certificate store with access to the private keys. */
export interface MemoryCertificates extends CertificateStore {
  /** Returns the current certificate of a host, or null before the first one. */
  presented(host: string): PresentedCertificate | null;
}

interface StoredCertificate {
  readonly state: HostCertificate;
  readonly presented: PresentedCertificate | null;
  readonly next: NextCertificate | null;
}

/**
 * Creates an empty store.
 * @param hosts returns the hosts that need a certificate
 */
export const createMemoryCertificates = (hosts: () => readonly CertificateHost[]): MemoryCertificates => {
  const stored = new Map<string, StoredCertificate>();
  const orders: CertificateOrder[] = [];
  const recordOf = (host: DomainName): StoredCertificate =>
    stored.get(host) ?? { state: withoutCertificate(host), presented: null, next: null };
  const change = (host: DomainName, changed: Partial<StoredCertificate>): StoredCertificate => {
    const record = { ...recordOf(host), ...changed };
    stored.set(host, record);
    return record;
  };
  const nextOf = (host: DomainName): NextCertificate => {
    const next = recordOf(host).next ?? { key: newPrivateKey(), order: null };
    change(host, { next });
    return next;
  };
  const accountOf = (name: DomainName) => hosts().find(({ host }) => host === name)?.account ?? null;
  return {
    hosts: () => okAsync(hosts()),
    accountOf: (host) => okAsync(accountOf(host)),
    find: (host) => okAsync(recordOf(host).state),
    list: () => okAsync([...stored.values()].map(({ state }) => state)),
    chain: (host) => okAsync(recordOf(host).presented?.chain ?? null),
    next: (host) => okAsync(nextOf(host)),

    startOrder: (host, order, counted) => {
      change(host, { next: { ...nextOf(host), order } });
      if (counted !== null) orders.push(counted);
      return okAsync(undefined);
    },

    endOrder: (host) => {
      change(host, { next: { ...nextOf(host), order: null } });
      return okAsync(undefined);
    },

    complete: (host, authority, chain) => {
      const { validFromDate, validToDate } = new X509Certificate(chain);
      const [start, end] = [instantOfMillis(validFromDate.getTime()), instantOfMillis(validToDate.getTime())];
      const { state } = change(host, {
        state: { host, life: { start, end }, authority, renewal: null, ...noFailures },
        presented: { chain, key: nextOf(host).key },
        next: null,
      });
      return okAsync(state);
    },

    changeAttempt: (host, changeState) => {
      const { state } = recordOf(host);
      const attempt = changeState(state, accountOf(host));
      if (attempt !== null) change(host, { state: { ...state, ...attempt } });
      return okAsync(attempt);
    },

    noteRenewal: (host, renewal) => {
      change(host, { state: { ...recordOf(host).state, renewal } });
      return okAsync(undefined);
    },

    remove: (host) => {
      if (accountOf(host) === null) stored.delete(host);
      return okAsync(undefined);
    },

    orders: () => okAsync([...orders]),
    presented: (host) => stored.get(host)?.presented ?? null,
  };
};
