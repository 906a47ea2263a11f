/** The contract suite of certificate stores rejects broken ones. */
import { newPrivateKey } from "../../adapters/shared/domains/x509.ts";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { type HostCertificate, withoutCertificate } from "../../core/domain/domains/certificate.ts";
import type { CertificateStore } from "../../core/ports/certificate-store.ts";
import { okAsync } from "../../core/result.ts";
import { type CertificateStoreSubject, certificateStoreCases } from "../contracts/index.ts";
import { memoryCertificates } from "../support/domains/memory-certificates.ts";
import { type Mutants, mutantTests } from "../support/vitest/mutants.ts";

const broken = (change: (store: CertificateStore) => Partial<CertificateStore>) => (): CertificateStoreSubject => {
  const subject = memoryCertificates();
  return { ...subject, store: { ...subject.store, ...change(subject.store) } };
};

/** A store that returns changed states. */
const seen = (change: (state: HostCertificate) => HostCertificate) =>
  broken((store) => ({
    find: (host) => store.find(host).map(change),
    list: () => store.list().map((all) => all.map(change)),
  }));

/** A store with `present` in place of the subject's listeners. */
const presenting = (
  present: (
    known: NonNullable<ReturnType<CertificateStoreSubject["presented"]>>,
  ) => ReturnType<CertificateStoreSubject["presented"]>,
): CertificateStoreSubject => {
  const subject = memoryCertificates();
  return {
    ...subject,
    presented: (host) => {
      const known = subject.presented(host);
      return known === null ? null : present(known);
    },
  };
};

const mutants: Mutants<CertificateStoreSubject> = {
  hosts: {
    "store that forgets the hosts": broken(() => ({ hosts: () => okAsync([]) })),
    "store with one account for all hosts": broken(() => ({ accountOf: () => okAsync("one" as AccountId) })),
    "store that knows no account": broken(() => ({ accountOf: () => okAsync(null) })),
    "store that keeps removed hosts": () => ({ ...memoryCertificates(), removeHost: async () => undefined }),
    "store whose hosts have subdomains": broken((store) => ({
      accountOf: (name) => store.hosts().map((hosts) => hosts.find(({ host }) => name.endsWith(host))?.account ?? null),
    })),
  },
  certificates: {
    "store that keeps the failures": broken((store) => ({
      complete: (host, ...rest) =>
        store
          .find(host)
          .andThen(({ failures, orderFailures, reason, nextAttemptAt, authorityDelays }) =>
            store
              .complete(host, ...rest)
              .andThen((state) =>
                store
                  .changeAttempt(host, () => ({ failures, orderFailures, reason, nextAttemptAt, authorityDelays }))
                  .map(() => state),
              ),
          ),
    })),
    "store that keeps the advice": broken((store) => ({
      complete: (host, ...rest) =>
        store
          .find(host)
          .andThen(({ renewal }) =>
            store
              .complete(host, ...rest)
              .andThen((state) =>
                renewal === null ? okAsync(state) : store.noteRenewal(host, renewal).map(() => ({ ...state, renewal })),
              ),
          ),
    })),
    "store that forgets the authority": seen((state) => ({ ...state, authority: null })),
    "store that keeps the first certificate": broken((store) => ({
      complete: (host, authority, chain) =>
        store.chain(host).andThen((first) => store.complete(host, authority, first ?? chain)),
    })),
    "store that lists nothing": broken(() => ({ list: () => okAsync([]) })),
    "store that invents a chain": broken((store) => ({ chain: (host) => store.chain(host).map((one) => one ?? "") })),
    "store whose listeners present nothing": () => presenting(() => null),
    "store whose listeners present a different key": () => presenting(({ chain }) => ({ chain, key: newPrivateKey() })),
    "store with one chain for all hosts": broken((store) => {
      let last: string | null = null;
      return {
        complete: (host, authority, chain) => {
          last = chain;
          return store.complete(host, authority, chain);
        },
        chain: () => okAsync(last),
      };
    }),
  },
  "the next certificate": {
    "store that creates a key in each call": broken((store) => ({
      next: (host) => store.next(host).map((next) => ({ ...next, key: newPrivateKey() })),
    })),
    "store with one key for all hosts": broken((store) => {
      const key = newPrivateKey();
      return { next: (host) => store.next(host).map((next) => ({ ...next, key })) };
    }),
    "store that forgets the order": broken(() => ({ startOrder: () => okAsync(undefined) })),
    "store that keeps the first order": broken((store) => ({
      startOrder: (host, order, counted) =>
        store.next(host).andThen((next) => store.startOrder(host, next.order ?? order, counted)),
    })),
    "store that keeps an ended order": broken(() => ({ endOrder: () => okAsync(undefined) })),
    "store that loses the key at a crash": () => {
      let opened = memoryCertificates();
      const { account, sign } = opened;
      return {
        account,
        sign,
        addHost: opened.addHost,
        removeHost: opened.removeHost,
        get store() {
          return opened.store;
        },
        presented: (host) => opened.presented(host),
        reopen: async () => {
          opened = memoryCertificates();
        },
      };
    },
  },
  orders: {
    "store that counts no order": broken((store) => ({
      startOrder: (host, order) => store.startOrder(host, order, null),
    })),
    "store that counts each order twice": broken((store) => ({
      startOrder: (host, order, counted) =>
        store.startOrder(host, order, counted).andThen(() => store.startOrder(host, order, counted)),
    })),
    "store that forgets the kind": broken((store) => ({
      orders: (since) => store.orders(since).map((all) => all.map((one) => ({ ...one, kind: "new" }))),
    })),
    "store that returns only the last order": broken((store) => ({
      orders: (since) => store.orders(since).map((all) => all.slice(-1)),
    })),
  },
  attempts: {
    "store that forgets the reason": seen((state) => ({ ...state, reason: null })),
    "store that forgets the delay of the authority": seen((state) => ({ ...state, authorityDelays: {} })),
    "store that forgets the failed orders": seen((state) => ({ ...state, orderFailures: 0 })),
    "store that changes the attempt in two steps": broken((store) => ({
      changeAttempt: (host, change) =>
        store.find(host).andThen((found) => store.changeAttempt(host, (_, account) => change(found, account))),
    })),
    "store that passes no state": broken((store) => ({
      changeAttempt: (host, change) =>
        store.changeAttempt(host, (_, account) => change(withoutCertificate(host), account)),
    })),
    "store that passes no account": broken((store) => ({
      changeAttempt: (host, change) => store.changeAttempt(host, (present) => change(present, null)),
    })),
    "store that writes without a change": broken((store) => ({
      changeAttempt: (host, change) =>
        store
          .changeAttempt(host, (present, account) => change(present, account) ?? present)
          .map((attempt) => (attempt?.failures === 0 ? null : attempt)),
    })),
    "store that ends the order with the attempt": broken((store) => ({
      changeAttempt: (host, change) => store.changeAttempt(host, change).andTee(() => store.endOrder(host)),
    })),
    "store that rounds the random point": seen((state) => ({
      ...state,
      renewal: state.renewal && { ...state.renewal, random: Math.round(state.renewal.random) },
    })),
  },
  removals: {
    "store that removes nothing": broken(() => ({ remove: () => okAsync(undefined) })),
    "store that removes a host of an account": () => {
      const { store, ...subject } = memoryCertificates();
      const removed = new Set<string>();
      return {
        ...subject,
        store: {
          ...store,
          find: (host) => (removed.has(host) ? okAsync(withoutCertificate(host)) : store.find(host)),
          remove: (host) => {
            removed.add(host);
            return store.remove(host);
          },
        },
      };
    },
  },
};

mutantTests("certificate stores", certificateStoreCases, mutants);
