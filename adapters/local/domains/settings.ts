/** The settings of custom domains and certificates, and the capability and the target that follow from them. */

import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { z } from "zod";
import { isSafeOrigin } from "../../../core/domain/accounts/safe-origin.ts";
import type { DomainTarget } from "../../../core/domain/domains/dns-records.ts";
import { type Feature, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { Challenge } from "../../../core/ports/certificate-authority.ts";
import { authorityName } from "../../acme/domains/authority-name.ts";
import { isPublicAddress } from "../../shared/domains/public-address.ts";
import { type Domain, readDomain } from "../ingress/domain.ts";

const LETS_ENCRYPT = "https://acme-v02.api.letsencrypt.org/directory";

/** `ADDRESS` or `ADDRESS:PORT`, with brackets around an IPv6 address that has a port. */
const isServer = (text: string): boolean => {
  const [, v6, v4] = /^(?:\[([^\]]+)\]|([\d.]+)):\d{1,5}$/.exec(text) ?? [];
  return isIP(v6 ?? v4 ?? text) !== 0;
};

const text = z.string().min(1).optional();

export const domainSettings = {
  acmeEmail: z
    .email({ error: "must be an e-mail address, such as ops@example.com" })
    .optional()
    .describe(
      "Get certificates for custom domains through ACME, and for the hosts of --domain unless --tls-cert or a reverse proxy provides them. The certificate authority sends messages about the account to this address. By setting it, you accept the authority's terms of service. Requires --tls-port",
    ),
  acmeDirectory: z
    .array(z.string().refine(isSafeOrigin, "must be an HTTPS URL, such as https://acme.example.com/directory"))
    .min(1)
    .default([LETS_ENCRYPT])
    .describe(
      "Directory URL of a certificate authority. If one is not available, Portside uses the next one (repeatable)",
    ),
  acmeCa: text.describe("File with the root certificates of private certificate authorities, in PEM"),
  acmeProfile: text.describe("Profile of the certificates, if the authority offers profiles"),
  acmeEabKid: text.describe("Key ID of an external account, if the authority requires one"),
  acmeEabKeyFile: text.describe("File with the key of the external account, as base64url"),
  publicAddress: z
    .array(z.string().refine((address) => isIP(address) !== 0, "must be an IP address"))
    .default([])
    .describe(
      "Public IP address of this machine, to which custom domains point (repeatable; default: the public addresses of the machine's network interfaces)",
    ),
  dnsServer: z
    .string()
    .refine(isServer, "must be an IP address, such as 192.0.2.53, or an address with a port, such as 192.0.2.53:5353")
    .optional()
    .describe(
      "Recursive DNS server for checks of custom domains, in place of the system's. If its address is private, Portside also accepts authoritative servers at private addresses",
    ),
} as const;

export type DomainSettings = z.output<z.ZodObject<typeof domainSettings>>;

/** The names of well-known authorities in CAA records, by the host of their directory. */
const caaNames: Readonly<Record<string, string>> = {
  "acme-v02.api.letsencrypt.org": "letsencrypt.org",
  "acme-staging-v02.api.letsencrypt.org": "letsencrypt.org",
  "acme.zerossl.com": "sectigo.com",
  "dv.acme-v02.api.pki.goog": "pki.goog",
  "api.buypass.com": "buypass.com",
};

/** Returns the authorities' names for CAA checks. Empty, which skips the checks, if one of the names is unknown. */
const authoritiesOf = (directories: readonly string[]): readonly string[] => {
  const names = directories.map((directory) => caaNames[new URL(directory).hostname]);
  const known = names.filter((name) => name !== undefined);
  return known.length === names.length ? [...new Set(known)] : [];
};

export type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the public addresses of the machine at which clients reach a port on `host`. If `host` is a loopback address,
 * a program may forward both IPv4 and IPv6 connections to it.
 */
const ownAddresses = (host: string, interfaces: Interfaces): readonly string[] => {
  const found = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
    .filter(isPublicAddress);
  if (found.includes(host)) return [host];
  return host === "0.0.0.0" ? found.filter((address) => isIP(address) === 4) : found;
};

/** Returns where custom domains must point. `addresses` is empty if the addresses are unknown. */
export const localTarget = (
  settings: DomainSettings & { readonly host: string; readonly tlsHost?: string | undefined },
  domain: Domain | undefined,
  interfaces: Interfaces = networkInterfaces(),
): DomainTarget => ({
  host: null,
  addresses:
    settings.publicAddress.length > 0
      ? settings.publicAddress
      : ownAddresses(settings.tlsHost ?? settings.host, interfaces),
  // Names below `localhost` select services, too.
  platformDomains: [...(domain === undefined ? [] : [domain.name]), "localhost"],
  authorities: authoritiesOf(settings.acmeDirectory),
});

/** Returns the types of challenges that the ports can answer. Without the HTTP port, an authority can use TLS only. */
export const challengeTypesOf = (httpPort: number | undefined): readonly Challenge["type"][] =>
  httpPort === undefined ? ["tls-alpn-01"] : ["http-01", "tls-alpn-01"];

/**
 * Returns the domain below which each host gets its own certificate. Returns undefined if Portside does not terminate
 * TLS, or if a proxy or `--tls-cert` provides the certificates.
 */
export const orderedBelow = (
  { tlsPort, tlsCert }: { readonly tlsPort?: number | undefined; readonly tlsCert?: string | undefined },
  domain: Domain | undefined,
): string | undefined =>
  tlsPort === undefined || tlsCert !== undefined || domain?.proxy !== undefined ? undefined : domain?.name;

/**
 * Returns true if a client of the TLS port gets a certificate for the domain itself, at which the port serves the API.
 * @param operators the certificate of `--tls-cert`
 */
export const hasApiCertificate = (
  settings: Parameters<typeof orderedBelow>[0] & Pick<DomainSettings, "acmeEmail">,
  domain: Domain | undefined,
  operators: { readonly chain: string } | undefined,
): boolean => {
  if (domain === undefined || domain.proxy !== undefined) return false;
  if (operators !== undefined) return new X509Certificate(operators.chain).checkHost(domain.name) !== undefined;
  return settings.acmeEmail !== undefined && orderedBelow(settings, domain) !== undefined;
};

/**
 * Returns the name that the certificate of `--tls-cert` lacks, so that the TLS port does not serve the API. Returns
 * undefined if the port serves the API, or if no certificate could make it do so.
 * @param servesApi the result of `hasApiCertificate`
 */
export const missingApiName = (
  { tlsCert, domain }: { readonly tlsCert?: string | undefined; readonly domain?: string | undefined },
  servesApi: boolean,
): string | undefined => {
  if (tlsCert === undefined || domain === undefined || servesApi) return undefined;
  const read = readDomain(domain);
  return read?.proxy === undefined ? read?.name : undefined;
};

/**
 * Returns the reason why Portside cannot order certificates although `--acme-email` is set; undefined if it can. The
 * machines of most clouds have only private addresses.
 */
export const addressProblem = ({ acmeEmail }: DomainSettings, { addresses }: DomainTarget): string | undefined =>
  acmeEmail === undefined || addresses.length > 0
    ? undefined
    : "this machine has no public IP address at which a certificate authority can reach its ports; start the server with --public-address ADDRESS, the address in the DNS records";

/** Returns the reason why each handshake at the TLS port fails; undefined if the port can have certificates. */
export const tlsPortProblem = ({
  tlsPort,
  tlsCert,
  acmeEmail,
}: {
  readonly tlsPort?: number | undefined;
  readonly tlsCert?: string | undefined;
  readonly acmeEmail?: string | undefined;
}): string | undefined =>
  tlsPort === undefined || tlsCert !== undefined || acmeEmail !== undefined
    ? undefined
    : "the TLS port gets no certificates; set --acme-email, or --tls-cert and --tls-key";

export const domainsFeature = (settings: DomainSettings, target: DomainTarget): Feature => {
  if (settings.acmeEmail === undefined)
    return missing(
      "the server gets no certificates; start it with --acme-email, or put a reverse proxy with a certificate in front of the ingress",
    );
  const problem = addressProblem(settings, target);
  return problem !== undefined
    ? missing(problem)
    : offered(`with certificates from ${[...new Set(settings.acmeDirectory.map(authorityName))].join(", ")}`);
};
