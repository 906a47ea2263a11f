/** A named ingress with a TLS port and an HTTP port. */
import type { TlsConfig } from "../../../adapters/local/ingress/index.ts";
import type { Certificate } from "../../../adapters/local/tls/certificates.ts";
import { ConnectionLimiter } from "../../../adapters/local/tls/connection-limiter.ts";
import { silentLogger } from "../logs/silent-logger.ts";

export interface TestTls {
  readonly config: TlsConfig;
  /** By host. A test may change them. */
  readonly certificates: Map<string, Certificate>;
  readonly challengeCertificates: Map<string, Certificate>;
  /** Key authorizations by host and token, separated by a space. */
  readonly challengeAnswers: Map<string, string>;
}

/** @param perSecond the connections that a client may open per second; 0 for no limit */
export const testTls = (
  hosts: Readonly<Record<string, Certificate>>,
  fallback?: Certificate,
  perSecond = 0,
): TestTls => {
  const certificates = new Map(Object.entries(hosts));
  const challengeCertificates = new Map<string, Certificate>();
  const challengeAnswers = new Map<string, string>();
  return {
    certificates,
    challengeCertificates,
    challengeAnswers,
    config: {
      host: "127.0.0.1",
      https: { port: 0, previous: undefined },
      http: { port: 0, previous: undefined },
      certificates: { find: (host) => certificates.get(host), fallback },
      connections: new ConnectionLimiter({ perSecond, logger: silentLogger }),
      challenges: {
        challengeCertificate: (host) => challengeCertificates.get(host),
        challengeAnswer: (host, token) => challengeAnswers.get(`${host} ${token}`),
      },
      logger: silentLogger,
      hstsSeconds: 60,
    },
  };
};
