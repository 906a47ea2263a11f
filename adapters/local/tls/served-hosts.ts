/** The custom domains, certificates and challenges of the state, as the listeners of the engine use them. */
import { X509Certificate } from "node:crypto";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Challenge } from "../../../core/ports/certificate-authority.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { createChallengeCertificate } from "../../shared/domains/challenge-certificate.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import type { ServedCertificate } from "../state/certificates.ts";
import type { ServedHosts as StoredHosts } from "../state/stored-state.ts";
import type { Certificate, CertificateSource } from "./certificates.ts";

export interface ServedHostsDeps {
  /** Decrypts the private key of a host. Returns undefined if the secrets key cannot decrypt it. */
  readonly openKey: (host: string, sealed: Uint8Array) => string | undefined;
  /** Returns the operator's certificate, if there is one. */
  readonly fallback: () => Certificate | undefined;
  readonly clock: Clock;
}

interface KnownCertificate extends Certificate {
  readonly sealed: Uint8Array;
  /** In milliseconds since 1970; 0 if the chain is damaged. Read on first use. */
  expiresAt?: number;
}

interface KnownChallenge extends Challenge {
  /** Created on first use. */
  certificate?: Certificate;
}

const leafOf = (chain: string): X509Certificate | undefined => tryOr(() => new X509Certificate(chain), undefined);

const keyOf = ({ type, host, token }: Challenge): string => `${type} ${host} ${token}`;

export class ServedHosts implements CertificateSource {
  readonly #deps: ServedHostsDeps;
  #services: ReadonlyMap<string, string> = new Map();
  #certificates: ReadonlyMap<string, KnownCertificate> = new Map();
  #challenges: ReadonlyMap<string, KnownChallenge> = new Map();

  constructor(deps: ServedHostsDeps) {
    this.#deps = deps;
  }

  /** Replaces everything. A certificate that has not changed stays the same object. */
  apply({ routes, certificates, challenges }: StoredHosts): void {
    this.#services = new Map(routes.map(({ domain, name }) => [domain, name]));
    this.#certificates = new Map(certificates.map((stored) => [stored.host, this.#certificate(stored)]));
    this.#challenges = new Map(
      challenges.map((challenge) => {
        const known = this.#challenges.get(keyOf(challenge));
        return [keyOf(challenge), known?.keyAuthorization === challenge.keyAuthorization ? known : { ...challenge }];
      }),
    );
  }

  #certificate({ host, chain, key: sealed }: ServedCertificate): KnownCertificate {
    const known = this.#certificates.get(host);
    if (known?.chain === chain && Buffer.compare(known.sealed, sealed) === 0) return known;
    const key = () => {
      const opened = this.#deps.openKey(host, sealed);
      if (opened === undefined) throw new Error("the private key cannot be decrypted");
      return opened;
    };
    return { chain, key, sealed };
  }

  /** Returns the service of a custom domain, or undefined if the host is not a custom domain. */
  serviceOf(host: string): string | undefined {
    return this.#services.get(host);
  }

  /** Prefers the operator's certificate to an expired one, which stays stored if the operator has turned ACME off. */
  find(host: string): Certificate | undefined {
    const own = this.#certificates.get(host);
    return own !== undefined && this.#hasExpired(own) && this.#isInFallback(host) ? undefined : own;
  }

  #hasExpired(certificate: KnownCertificate): boolean {
    certificate.expiresAt ??= leafOf(certificate.chain)?.validToDate.getTime() ?? 0;
    return certificate.expiresAt <= millisOf(this.#deps.clock.now());
  }

  #isInFallback(host: string): boolean {
    return this.fallback !== undefined && leafOf(this.fallback.chain)?.checkHost(host) !== undefined;
  }

  get fallback(): Certificate | undefined {
    return this.#deps.fallback();
  }

  /** Returns the certificate that answers a pending validation by `tls-alpn-01`. The latest one counts. */
  challengeCertificate(host: string): Certificate | undefined {
    const challenge = [...this.#challenges.values()].findLast((one) => one.type === "tls-alpn-01" && one.host === host);
    if (challenge === undefined) return undefined;
    if (challenge.certificate === undefined) {
      const { certificate: chain, key } = createChallengeCertificate(
        host,
        challenge.keyAuthorization,
        this.#deps.clock.now(),
      );
      challenge.certificate = { chain, key: () => key };
    }
    return challenge.certificate;
  }

  /** Returns the key authorization of a pending validation by `http-01`. */
  challengeAnswer(host: string, token: string): string | undefined {
    return this.#challenges.get(`http-01 ${host} ${token}`)?.keyAuthorization;
  }
}
