/** The local CertificateStore. The state stores the certificates, with encrypted private keys. */
import { X509Certificate } from "node:crypto";
import { type AccountId, accountOf } from "../../../core/domain/accounts/account.ts";
import type {
  AttemptState,
  AuthorityDelays,
  HostCertificate,
  RenewalPlan,
} from "../../../core/domain/domains/certificate.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { CertificateOrder } from "../../../core/domain/domains/order-budget.ts";
import {
  type Instant,
  instantOfMillis,
  parseInstant,
  type Timestamp,
  timestampOf,
} from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Challenge, ChallengeResponder } from "../../../core/ports/certificate-authority.ts";
import type {
  BegunOrder,
  CertificateHost,
  CertificateStore,
  NextCertificate,
} from "../../../core/ports/certificate-store.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { newPrivateKey } from "../../shared/domains/x509.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import type { Engine } from "../engine/engine.ts";
import type { SecretCipher } from "../secrets/secret-cipher.ts";
import {
  type CertificateRows,
  type CertificateState,
  noAttempts,
  noCertificate,
  noNext,
} from "../state/certificates.ts";
import { guardState } from "../state/database.ts";
import type { DomainRows } from "../state/domains.ts";
import type { ServiceRows } from "../state/services.ts";

export interface CertificateStoreDeps {
  readonly rows: CertificateRows;
  readonly domains: Pick<DomainRows, "route" | "routes">;
  readonly services: Pick<ServiceRows, "all" | "get">;
  readonly engine: Pick<Engine, "apply">;
  readonly cipher: SecretCipher;
  /** The platform's domain, if each deployment below it and the host of signed URLs have their own certificates. */
  readonly hostsBelow: string | undefined;
  /** True if the domain itself also has a certificate, because the TLS port serves the API at it. */
  readonly servesApi: boolean;
  /** The types of challenges that the listeners answer. */
  readonly challengeTypes: ChallengeResponder["types"];
}

/** The account that the order limits use for the platform's own hosts. */
const PLATFORM = accountOf("portside:platform");

/** The label of the host of signed URLs. */
const STORAGE = "storage";

const keyId = (host: DomainName) => ({ kind: "host", name: host }) as const;

const instantIn = (text: Timestamp): Instant => parseInstant(text) as Instant;

const renderDelays = (delays: AuthorityDelays): string =>
  JSON.stringify(Object.fromEntries(Object.entries(delays).map(([name, until]) => [name, timestampOf(until)])));

const parseDelays = (text: string): AuthorityDelays => {
  const delays = JSON.parse(text) as Readonly<Record<string, Timestamp>>;
  return Object.fromEntries(Object.entries(delays).map(([name, until]) => [name, instantIn(until)]));
};

interface StoredPlan {
  /** Null if the authority suggests no window. */
  readonly start: Timestamp | null;
  readonly end: Timestamp | null;
  readonly askAgainAt: Timestamp;
  readonly random: number;
}

const renderPlan = ({ window, askAgainAt, random }: RenewalPlan): string => {
  const [start, end] = window === null ? [null, null] : [timestampOf(window.start), timestampOf(window.end)];
  return JSON.stringify({ start, end, askAgainAt: timestampOf(askAgainAt), random } satisfies StoredPlan);
};

const parsePlan = (text: string): RenewalPlan => {
  const { start, end, askAgainAt, random } = JSON.parse(text) as StoredPlan;
  const window = start === null || end === null ? null : { start: instantIn(start), end: instantIn(end) };
  return { window, askAgainAt: instantIn(askAgainAt), random };
};

const certificateOf = (row: CertificateState): HostCertificate => ({
  host: row.host,
  life:
    row.notBefore === null || row.notAfter === null
      ? null
      : { start: instantIn(row.notBefore), end: instantIn(row.notAfter) },
  authority: row.authority,
  renewal: row.renewal === null ? null : parsePlan(row.renewal),
  failures: row.failures,
  orderFailures: row.orderFailures,
  reason: row.reason,
  nextAttemptAt: row.nextAttemptAt === null ? null : instantIn(row.nextAttemptAt),
  authorityDelays: parseDelays(row.authorityDelays),
});

/**
 * Removes the private keys that the cipher cannot open, and their certificates. After the loss of the secrets key, the
 * server orders new certificates.
 */
export const discardLostKeys = (rows: CertificateRows, cipher: SecretCipher, logger: Logger): void => {
  const warn = (of: Readonly<Record<string, unknown>>) =>
    logger.warn("discarded a private key that the secrets key cannot decrypt; the server creates a new one", of);
  for (const { host, key, nextKey } of rows.all()) {
    const isLost = (sealed: Uint8Array | null) =>
      sealed !== null && cipher.openPrivateKey(keyId(host), sealed) === undefined;
    const lost = { ...(isLost(key) ? noCertificate : {}), ...(isLost(nextKey) ? noNext : {}) };
    if (Object.keys(lost).length === 0) continue;
    rows.change(host, lost);
    warn({ host });
  }
  for (const { directory, key } of rows.accounts()) {
    if (cipher.openPrivateKey({ kind: "authority", name: directory }, key) !== undefined) continue;
    rows.removeAccount(directory);
    warn({ directory });
  }
};

export class LocalCertificates implements CertificateStore, ChallengeResponder {
  readonly types: ChallengeResponder["types"];
  readonly #deps: CertificateStoreDeps;

  /** Withdraws the challenges of an earlier process. */
  constructor(deps: CertificateStoreDeps) {
    this.#deps = deps;
    this.types = deps.challengeTypes;
    deps.rows.withdrawAll();
  }

  hosts(): ResultAsync<readonly CertificateHost[], Unavailable> {
    return guardState(() => {
      const { domains, services, hostsBelow, servesApi } = this.#deps;
      const own = domains.routes().map(({ domain, owner }) => ({ host: domain, account: owner, isOwn: true }));
      if (hostsBelow === undefined) return own;
      const serving = services.all().filter((service) => service.serving !== null);
      const below = serving.map(({ name, owner }) => ({
        host: `${name}.${hostsBelow}` as DomainName,
        account: owner,
        isOwn: false,
      }));
      const platforms = [`${STORAGE}.${hostsBelow}`, ...(servesApi ? [hostsBelow] : [])].map((host) => ({
        host: host as DomainName,
        account: PLATFORM,
        isOwn: false,
      }));
      // A custom domain may be older than the platform's domain above it.
      const taken = new Set(own.map(({ host }) => host));
      return [...own, ...[...below, ...platforms].filter(({ host }) => !taken.has(host))];
    });
  }

  accountOf(host: DomainName): ResultAsync<AccountId | null, Unavailable> {
    return guardState(() => this.#accountOf(host));
  }

  #accountOf(host: DomainName): AccountId | null {
    const { domains, services, hostsBelow, servesApi } = this.#deps;
    const own = domains.route(host);
    if (own !== undefined) return own.owner;
    if (servesApi && host === hostsBelow) return PLATFORM;
    if (hostsBelow === undefined || !host.endsWith(`.${hostsBelow}`)) return null;
    const name = host.slice(0, -hostsBelow.length - 1);
    if (name === STORAGE) return PLATFORM;
    const service = services.get(name as DeploymentName);
    return service === undefined || service.serving === null ? null : service.owner;
  }

  find(host: DomainName): ResultAsync<HostCertificate, Unavailable> {
    return guardState(() => certificateOf(this.#deps.rows.of(host)));
  }

  list(): ResultAsync<readonly HostCertificate[], Unavailable> {
    return guardState(() => this.#deps.rows.states().map(certificateOf));
  }

  chain(host: DomainName): ResultAsync<string | null, Unavailable> {
    return guardState(() => this.#deps.rows.of(host).chain);
  }

  next(host: DomainName): ResultAsync<NextCertificate, Unavailable> {
    return guardState(() => {
      const { rows, cipher } = this.#deps;
      const { nextKey, nextOrder, nextAuthority } = rows.of(host);
      const key = nextKey === null ? undefined : cipher.openPrivateKey(keyId(host), nextKey);
      if (key !== undefined) {
        const order =
          nextOrder === null || nextAuthority === null ? null : { authority: nextAuthority, url: nextOrder };
        return { key, order };
      }
      const created = newPrivateKey();
      rows.change(host, { ...noNext, nextKey: cipher.sealPrivateKey(keyId(host), created) });
      return { key: created, order: null };
    });
  }

  startOrder(host: DomainName, order: BegunOrder, counted: CertificateOrder | null): ResultAsync<void, Unavailable> {
    return guardState(() => this.#deps.rows.startOrder(host, order, counted));
  }

  endOrder(host: DomainName): ResultAsync<void, Unavailable> {
    return guardState(() => this.#deps.rows.change(host, { nextOrder: null, nextAuthority: null }));
  }

  complete(host: DomainName, authority: string, chain: string): ResultAsync<HostCertificate, Unavailable> {
    return guardState(() => {
      const { rows } = this.#deps;
      const { validFromDate, validToDate } = new X509Certificate(chain);
      const [notBefore, notAfter] = [validFromDate, validToDate].map((date) =>
        timestampOf(instantOfMillis(date.getTime())),
      ) as [Timestamp, Timestamp];
      const life = { notBefore, notAfter, authority, renewal: null };
      const { nextKey } = rows.of(host);
      rows.change(host, { chain, key: nextKey, ...life, ...noNext, ...noAttempts });
      return certificateOf(rows.of(host));
    }).andThen((completed) => this.#applied().map(() => completed));
  }

  /** Atomic, because every statement runs in the same turn of the event loop. */
  changeAttempt(
    host: DomainName,
    change: (present: HostCertificate, account: AccountId | null) => AttemptState | null,
  ): ResultAsync<AttemptState | null, Unavailable> {
    return guardState(() => {
      const { rows } = this.#deps;
      const attempt = change(certificateOf(rows.of(host)), this.#accountOf(host));
      if (attempt === null) return null;
      const { failures, orderFailures, reason, nextAttemptAt, authorityDelays } = attempt;
      rows.change(host, {
        failures,
        orderFailures,
        reason,
        nextAttemptAt: nextAttemptAt === null ? null : timestampOf(nextAttemptAt),
        authorityDelays: renderDelays(authorityDelays),
      });
      return attempt;
    });
  }

  noteRenewal(host: DomainName, plan: RenewalPlan): ResultAsync<void, Unavailable> {
    return guardState(() => this.#deps.rows.change(host, { renewal: renderPlan(plan) }));
  }

  remove(host: DomainName): ResultAsync<void, Unavailable> {
    return guardState(() => {
      if (this.#accountOf(host) === null) this.#deps.rows.remove(host);
    });
  }

  orders(): ResultAsync<readonly CertificateOrder[], Unavailable> {
    return guardState(() => this.#deps.rows.orders());
  }

  publish(challenge: Challenge): ResultAsync<void, Unavailable> {
    return guardState(() => this.#deps.rows.publish(challenge)).andThen(() => this.#applied());
  }

  withdraw(challenge: Challenge): ResultAsync<void, Unavailable> {
    return guardState(() => this.#deps.rows.withdraw(challenge)).andThen(() => this.#applied());
  }

  /** Resolves when the listeners of the engine match the state. */
  #applied(): ResultAsync<void, Unavailable> {
    return ResultAsync.fromPromise(this.#deps.engine.apply(), (cause) =>
      storeUnavailable("The engine has not applied the change yet. Try again.", cause),
    ).map(() => undefined);
  }
}
