/** The certificates of the TLS port, and the TLS server of each. */
import { constants, X509Certificate } from "node:crypto";
import type { SecureContextOptions, Server } from "node:tls";
import type { Logger } from "../../../core/ports/system.ts";

/** A certificate with its private key. The chain and the key are PEM, with the host's certificate first. */
export interface Certificate {
  readonly chain: string;
  /** Returns the private key. */
  readonly key: () => string;
}

export interface CertificateSource {
  /**
   * Returns the certificate for a host name in lower case, or undefined if the host has no certificate. Must return the
   * same object until the certificate changes.
   */
  find(host: string): Certificate | undefined;
  /**
   * The certificate for hosts that it contains and `find` does not know, for services without a certificate, and for
   * clients that send no host name.
   */
  readonly fallback: Certificate | undefined;
}

/**
 * Mozilla's intermediate profile: https://wiki.mozilla.org/Security/Server_Side_TLS. The profile's DHE suites are left
 * out: they need a large computation per handshake, and every client of the profile supports ECDHE. Clients choose
 * among the suites, because phones without AES instructions prefer ChaCha20.
 */
export const handshakeSettings = {
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.3",
  ciphers: [
    ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
    ...["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"],
    ...["ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"],
    ...["ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"],
  ].join(":"),
  ecdhCurve: "X25519:prime256v1:secp384r1",
  honorCipherOrder: false,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const satisfies SecureContextOptions;

/** A server with an EC key takes about 30 KiB. The bound limits the memory of machines with many domains. */
const MAX_SERVERS = 2000;

/** A host name that a certificate can contain: https://www.rfc-editor.org/rfc/rfc6066#section-3 */
const HOST_NAME = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** Returns the host name in lower case and without the trailing dot, or undefined if it is not a host name. */
export const hostOf = (serverName: string): string | undefined => {
  if (serverName.length > 254) return undefined;
  const host = serverName.toLowerCase().replace(/\.$/, "");
  return HOST_NAME.test(host) && host.length <= 253 ? host : undefined;
};

export interface CertificatesDeps {
  readonly source: CertificateSource;
  readonly logger: Logger;
  /** Creates a server that presents the certificate. Throws if the certificate cannot be used. */
  readonly createServer: (certificate: Certificate) => Server;
  readonly max?: number;
}

/** Creates the servers of certificates on first use, and caches the most recently used ones. */
export class Certificates {
  readonly #deps: CertificatesDeps;
  readonly #max: number;
  /** By host; the host that was used last is the last entry. Null if the certificate cannot be used. */
  readonly #servers = new Map<string, { readonly of: Certificate; readonly server: Server | null }>();
  #fallback: { readonly of: Certificate; readonly server: Server; readonly leaf: X509Certificate } | undefined;

  constructor(deps: CertificatesDeps) {
    this.#deps = deps;
    this.#max = deps.max ?? MAX_SERVERS;
  }

  /** The number of servers in memory, without the fallback's. */
  get size(): number {
    return this.#servers.size;
  }

  /**
   * Returns the server for the host name that a client sent, or undefined if no certificate contains the host name. A
   * client that sent no host name gets the fallback.
   */
  find(serverName: string | undefined): Server | undefined {
    if (serverName === undefined) return this.#general()?.server;
    const host = hostOf(serverName);
    return host === undefined ? undefined : (this.#own(host) ?? this.#generalFor(host));
  }

  /** Removes all servers, so that each certificate gets a new one. */
  clear(): void {
    this.#servers.clear();
    this.#fallback = undefined;
  }

  /** Returns true if a usable certificate contains the host. It may have expired. */
  covers(name: string): boolean {
    const host = hostOf(name);
    if (host === undefined) return false;
    return this.#own(host) !== undefined || this.#generalFor(host) !== undefined;
  }

  /** Returns the server of the fallback if its certificate contains the host. */
  #generalFor(host: string): Server | undefined {
    const general = this.#general();
    return general?.leaf.checkHost(host) === undefined ? undefined : general.server;
  }

  #own(host: string): Server | undefined {
    const certificate = this.#deps.source.find(host);
    const known = this.#servers.get(host);
    if (known !== undefined) this.#servers.delete(host);
    if (certificate === undefined) return undefined;
    const entry = known?.of === certificate ? known : { of: certificate, server: this.#create(host, certificate) };
    this.#servers.set(host, entry);
    if (this.#servers.size > this.#max) this.#servers.delete(this.#servers.keys().next().value as string);
    return entry.server ?? undefined;
  }

  #create(host: string, certificate: Certificate): Server | null {
    try {
      return this.#deps.createServer(certificate);
    } catch (cause) {
      this.#deps.logger.error("a certificate cannot be used", { host, cause });
      return null;
    }
  }

  #general() {
    const { source, createServer } = this.#deps;
    const of = source.fallback;
    if (of === undefined) return undefined;
    if (this.#fallback?.of !== of)
      this.#fallback = { of, server: createServer(of), leaf: new X509Certificate(of.chain) };
    return this.#fallback;
  }
}
