/** The contract suite of `CertificateStore`. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { expect } from "vitest";
import type { AccountId } from "../../core/domain/accounts/account.ts";
import {
  type AttemptState,
  type HostCertificate,
  type RenewalPlan,
  withoutCertificate,
} from "../../core/domain/domains/certificate.ts";
import type { DomainName } from "../../core/domain/domains/domain-name.ts";
import type { CertificateOrder } from "../../core/domain/domains/order-budget.ts";
import type { Period } from "../../core/domain/domains/renewal.ts";
import { type Instant, instantOfSeconds, plusMillis } from "../../core/domain/wire/instant.ts";
import type { BegunOrder, CertificateHost, CertificateStore } from "../../core/ports/certificate-store.ts";
import type { ContractCase } from "./harness.ts";
import { expectOk } from "./support.ts";

/** A certificate store under test. */
export interface CertificateStoreSubject {
  /** The store that was opened last. */
  readonly store: CertificateStore;
  /** Returns an account that no other case uses. */
  account(): AccountId;
  /** Gives the account a host that needs a certificate and that no other case uses. */
  addHost(account: AccountId): Promise<CertificateHost>;
  /** Removes a host, so that it needs no certificate. */
  removeHost(host: CertificateHost): Promise<void>;
  /** Signs a certificate, and returns it in PEM. `key` is the private key of the host in PEM. */
  sign(host: DomainName, key: string, life: Period): string;
  /** Returns the certificate that the platform's listeners present for a host, in PEM; null if they have none. */
  presented(host: DomainName): { readonly chain: string; readonly key: string } | null;
  /** Opens the store again, as after a crash. A store in memory keeps its data. */
  reopen(): Promise<void>;
}

type Case = ContractCase<CertificateStoreSubject>;

const AUTHORITY = "ca.example";
const NOW = instantOfSeconds(1_800_000_000);
const DAY_MS = 86_400_000;

const later = (days: number): Instant => plusMillis(NOW, days * DAY_MS);

const newHost = async (subject: CertificateStoreSubject): Promise<DomainName> =>
  (await subject.addHost(subject.account())).host;

let orders = 0;

const newOrder = (): BegunOrder => ({ authority: AUTHORITY, url: `https://${AUTHORITY}/order/${++orders}` });

/** Completes the next certificate of a host. */
const complete = async ({ store, sign }: CertificateStoreSubject, host: DomainName, start = NOW) => {
  const { key } = await expectOk(store.next(host));
  const chain = sign(host, key, { start, end: plusMillis(start, 90 * DAY_MS) });
  const state = await expectOk(store.complete(host, AUTHORITY, chain));
  return { key, chain, state };
};

const failed: AttemptState = {
  failures: 2,
  orderFailures: 1,
  reason: "The host did not answer.\n",
  nextAttemptAt: later(1),
  authorityDelays: { [AUTHORITY]: plusMillis(NOW, 1), "other.example:444/dir": later(2) },
};

const plan: RenewalPlan = {
  window: { start: later(40), end: later(41) },
  askAgainAt: plusMillis(NOW, 21_600_000),
  random: 0.123_456_789,
};

const fail = ({ store }: CertificateStoreSubject, host: DomainName) =>
  expectOk(store.changeAttempt(host, () => failed));

const stateIn = async ({ store }: CertificateStoreSubject, host: DomainName): Promise<HostCertificate> => {
  const found = await expectOk(store.find(host));
  const listed = (await expectOk(store.list())).find((one) => one.host === host);
  expect(listed ?? withoutCertificate(host)).toEqual(found);
  return found;
};

const wanting: readonly Case[] = [
  {
    group: "hosts",
    name: "a host belongs to its account until it is removed",
    run: async (subject) => {
      const [account, other] = [subject.account(), subject.account()];
      const host = await subject.addHost(account);
      const theirs = await subject.addHost(other);
      expect(host.account).toBe(account);
      const { store } = subject;
      expect(await expectOk(store.hosts())).toEqual(expect.arrayContaining([host, theirs]));
      expect(await expectOk(store.accountOf(host.host))).toBe(account);
      expect(await expectOk(store.accountOf(theirs.host))).toBe(other);
      await subject.removeHost(host);
      expect(await expectOk(store.hosts())).not.toContainEqual(host);
      expect(await expectOk(store.accountOf(host.host))).toBeNull();
      expect(await expectOk(store.accountOf(theirs.host))).toBe(other);
      expect(await expectOk(store.accountOf(`sub.${theirs.host}` as DomainName))).toBeNull();
    },
  },
];

const keeping: readonly Case[] = [
  {
    group: "certificates",
    name: "a host without a certificate has neither a life nor a chain",
    run: async (subject) => {
      const host = await newHost(subject);
      expect(await stateIn(subject, host)).toEqual(withoutCertificate(host));
      expect(await expectOk(subject.store.chain(host))).toBeNull();
      expect(subject.presented(host)).toBeNull();
    },
  },
  {
    group: "certificates",
    name: "complete stores the certificate with its key, and the listeners present it when it returns",
    run: async (subject) => {
      const host = await newHost(subject);
      const { key, chain, state } = await complete(subject, host);
      const life = { start: NOW, end: later(90) };
      expect(state).toEqual({ ...withoutCertificate(host), life, authority: AUTHORITY });
      expect(subject.presented(host)).toEqual({ chain, key });
      await subject.reopen();
      expect(await stateIn(subject, host)).toEqual(state);
      expect(await expectOk(subject.store.chain(host))).toBe(chain);
    },
  },
  {
    group: "certificates",
    name: "complete replaces the current certificate, and leaves other hosts' certificates unchanged",
    run: async (subject) => {
      const [host, other] = [await newHost(subject), await newHost(subject)];
      const theirs = await complete(subject, other);
      const first = await complete(subject, host);
      const second = await complete(subject, host, later(60));
      expect(second.chain).not.toBe(first.chain);
      expect(await expectOk(subject.store.chain(host))).toBe(second.chain);
      expect((await stateIn(subject, host)).life).toEqual({ start: later(60), end: later(150) });
      expect(subject.presented(host)).toEqual({ chain: second.chain, key: second.key });
      expect(await expectOk(subject.store.chain(other))).toBe(theirs.chain);
      expect(subject.presented(other)).toEqual({ chain: theirs.chain, key: theirs.key });
    },
  },
  {
    group: "certificates",
    name: "complete resets the failures and the renewal advice",
    run: async (subject) => {
      const host = await newHost(subject);
      await complete(subject, host);
      await expectOk(subject.store.noteRenewal(host, plan));
      await fail(subject, host);
      const { state } = await complete(subject, host);
      expect(state).toEqual({ ...withoutCertificate(host), life: state.life, authority: AUTHORITY });
      expect(await stateIn(subject, host)).toEqual(state);
    },
  },
];

const nextOnes: readonly Case[] = [
  {
    group: "the next certificate",
    name: "next returns the same key until complete, even after a crash",
    run: async (subject) => {
      const [host, other] = [await newHost(subject), await newHost(subject)];
      const first = await expectOk(subject.store.next(host));
      expect(createPrivateKey(first.key).asymmetricKeyType).toBeDefined();
      expect(first.key).toContain("BEGIN PRIVATE KEY");
      expect(first.order).toBeNull();
      expect((await expectOk(subject.store.next(other))).key).not.toBe(first.key);
      await subject.reopen();
      await fail(subject, host);
      expect(await expectOk(subject.store.next(host))).toEqual(first);
      const { chain, key } = await complete(subject, host);
      expect(key).toBe(first.key);
      expect(new X509Certificate(chain).checkPrivateKey(createPrivateKey(first.key))).toBe(true);
      const second = await expectOk(subject.store.next(host));
      expect(second.key).not.toBe(first.key);
      expect(subject.presented(host)).toEqual({ chain, key: first.key });
    },
  },
  {
    group: "the next certificate",
    name: "the order remains until endOrder or complete, with the same key",
    run: async (subject) => {
      const host = await newHost(subject);
      const { key } = await expectOk(subject.store.next(host));
      const [first, second] = [newOrder(), newOrder()];
      await expectOk(subject.store.startOrder(host, first, null));
      await subject.reopen();
      expect(await expectOk(subject.store.next(host))).toEqual({ key, order: first });
      await expectOk(subject.store.startOrder(host, second, null));
      expect(await expectOk(subject.store.next(host))).toEqual({ key, order: second });
      await expectOk(subject.store.endOrder(host));
      expect(await expectOk(subject.store.next(host))).toEqual({ key, order: null });
      await expectOk(subject.store.startOrder(host, first, null));
      await complete(subject, host);
      expect((await expectOk(subject.store.next(host))).order).toBeNull();
    },
  },
];

const counting: readonly Case[] = [
  {
    group: "orders",
    name: "orders returns the counted orders since an instant, including those that have ended",
    run: async (subject) => {
      const [account, host] = [subject.account(), await newHost(subject)];
      const of = async (since: Instant) =>
        (await expectOk(subject.store.orders(since))).filter((one) => one.account === account && one.at >= since);
      const counted = [0, 6].map(
        (days): CertificateOrder => ({
          account,
          registeredDomain: host,
          at: later(days),
          kind: days === 0 ? "new" : "renewal",
        }),
      );
      await expectOk(subject.store.next(host));
      for (const one of counted) await expectOk(subject.store.startOrder(host, newOrder(), one));
      await expectOk(subject.store.startOrder(host, newOrder(), null));
      await expectOk(subject.store.endOrder(host));
      await complete(subject, host);
      await subject.reopen();
      expect(await of(later(-1))).toEqual(counted);
      expect(await of(later(5))).toEqual(counted.slice(1));
    },
  },
];

const attempts: readonly Case[] = [
  {
    group: "attempts",
    name: "changeAttempt stores the attempt, and returns it",
    run: async (subject) => {
      const host = await newHost(subject);
      expect(await fail(subject, host)).toEqual(failed);
      await subject.reopen();
      expect(await stateIn(subject, host)).toEqual({ ...withoutCertificate(host), ...failed });
    },
  },
  {
    group: "attempts",
    name: "changeAttempt and noteRenewal keep everything else",
    run: async (subject) => {
      const host = await newHost(subject);
      const { chain, state } = await complete(subject, host);
      const { key } = await expectOk(subject.store.next(host));
      const order = newOrder();
      await expectOk(subject.store.startOrder(host, order, null));
      await expectOk(subject.store.noteRenewal(host, plan));
      expect(await stateIn(subject, host)).toEqual({ ...state, renewal: plan });
      await fail(subject, host);
      expect(await stateIn(subject, host)).toEqual({ ...state, ...failed, renewal: plan });
      const withoutWindow = { ...plan, window: null };
      await expectOk(subject.store.noteRenewal(host, withoutWindow));
      await subject.reopen();
      expect(await stateIn(subject, host)).toEqual({ ...state, ...failed, renewal: withoutWindow });
      expect(await expectOk(subject.store.chain(host))).toBe(chain);
      expect(await expectOk(subject.store.next(host))).toEqual({ key, order });
    },
  },
  {
    group: "attempts",
    name: "changeAttempt passes the stored state and the account, and stores nothing if the change is null",
    run: async (subject) => {
      const { host, account } = await subject.addHost(subject.account());
      await fail(subject, host);
      const before = await stateIn(subject, host);
      const seen: unknown[] = [];
      const look = async (of: DomainName) =>
        expectOk(
          subject.store.changeAttempt(of, (present, owner) => {
            seen.push([present, owner]);
            return null;
          }),
        );
      expect(await look(host)).toBeNull();
      const unknown = `unknown.${host}` as DomainName;
      expect(await look(unknown)).toBeNull();
      expect(seen).toEqual([
        [before, account],
        [withoutCertificate(unknown), null],
      ]);
      expect(await stateIn(subject, host)).toEqual(before);
      expect((await expectOk(subject.store.list())).map((one) => one.host)).not.toContain(unknown);
    },
  },
  {
    group: "attempts",
    name: "no concurrent change is lost",
    run: async (subject) => {
      const host = await newHost(subject);
      const count = () =>
        subject.store.changeAttempt(host, (present) => ({ ...failed, failures: present.failures + 1 }));
      await Promise.all([
        ...Array.from({ length: 10 }, () => expectOk(count())),
        expectOk(subject.store.noteRenewal(host, plan)),
      ]);
      expect(await stateIn(subject, host)).toMatchObject({ failures: 10, renewal: plan });
    },
  },
];

const removing: readonly Case[] = [
  {
    group: "removals",
    name: "remove deletes the certificate, the next key and the failures",
    run: async (subject) => {
      const [wanted, kept] = [await subject.addHost(subject.account()), await newHost(subject)];
      const { host } = wanted;
      const other = await complete(subject, kept);
      await complete(subject, host);
      const { key } = await expectOk(subject.store.next(host));
      await fail(subject, host);
      await subject.removeHost(wanted);
      await expectOk(subject.store.remove(host));
      expect(await stateIn(subject, host)).toEqual(withoutCertificate(host));
      expect(await expectOk(subject.store.chain(host))).toBeNull();
      expect((await expectOk(subject.store.list())).map((one) => one.host)).not.toContain(host);
      expect((await expectOk(subject.store.next(host))).key).not.toBe(key);
      expect(await expectOk(subject.store.chain(kept))).toBe(other.chain);
      expect(subject.presented(kept)).toEqual({ chain: other.chain, key: other.key });
    },
  },
  {
    group: "removals",
    name: "remove does nothing while an account has the host",
    run: async (subject) => {
      const host = await newHost(subject);
      const { chain } = await complete(subject, host);
      await fail(subject, host);
      const before = await stateIn(subject, host);
      await expectOk(subject.store.remove(host));
      expect(await stateIn(subject, host)).toEqual(before);
      expect(await expectOk(subject.store.chain(host))).toBe(chain);
    },
  },
];

/** The cases of `CertificateStore`. */
export const certificateStoreCases: readonly Case[] = [
  ...wanting,
  ...keeping,
  ...nextOnes,
  ...counting,
  ...attempts,
  ...removing,
];
