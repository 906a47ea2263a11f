/** The memory store of certificates, with hosts that a test adds and removes. */
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { createMemoryCertificates, type MemoryCertificates } from "../../../adapters/memory/index.ts";
import { signCertificate } from "../../../adapters/shared/domains/x509.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { CertificateHost } from "../../../core/ports/certificate-store.ts";
import type { CertificateStoreSubject } from "../../contracts/index.ts";

const issuer = generateKeyPairSync("ec", { namedCurve: "P-256" });

/** Signs certificates for the contract suite. */
export const signForSuite: CertificateStoreSubject["sign"] = (host, key, { start, end }) =>
  signCertificate({
    issuer: "ca.example",
    issuerKey: issuer.privateKey,
    publicKey: createPublicKey(key),
    hosts: [host],
    from: start,
    until: end,
  });

let created = 0;

export const memoryCertificates = (): CertificateStoreSubject & { readonly store: MemoryCertificates } => {
  const hosts: CertificateHost[] = [];
  const store = createMemoryCertificates(() => hosts);
  return {
    store,
    account: () => `account-${++created}` as AccountId,
    addHost: async (account) => {
      const host = { host: `host-${++created}.example.com` as DomainName, account, isOwn: true };
      hosts.push(host);
      return host;
    },
    removeHost: async (host) => void hosts.splice(hosts.indexOf(host), 1),
    sign: signForSuite,
    presented: store.presented,
    reopen: async () => undefined,
  };
};
