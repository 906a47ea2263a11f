/**
 * The domain that contains the services' host names. Clients reach it through a proxy, or directly on the shared port
 * or the TLS port.
 */

export type Scheme = "http" | "https";

export interface Domain {
  /** Lower case, without a port. */
  readonly name: string;
  /** The scheme and port of the proxy's URLs; undefined without a proxy. */
  readonly proxy: { readonly scheme: Scheme; readonly port: string } | undefined;
}

/** The last label must start with a letter, so that the name is not an IP address. */
const HOST_NAME = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/;

/**
 * @param text `apps.example.com`, or `https://apps.example.com` if a proxy serves the domain
 * @returns undefined if the text is invalid
 */
export const readDomain = (text: string): Domain | undefined => {
  if (!/^https?:\/\//i.test(text)) {
    const name = text.toLowerCase();
    return HOST_NAME.test(name) ? { name, proxy: undefined } : undefined;
  }
  const url = URL.parse(text);
  if (url === null || !HOST_NAME.test(url.hostname)) return undefined;
  // The URL must not contain a path, a query or a user.
  if (url.href !== `${url.protocol}//${url.host}/`) return undefined;
  return { name: url.hostname, proxy: { scheme: url.protocol === "https:" ? "https" : "http", port: url.port } };
};

/** The ports at which clients reach services by host name. */
export interface PublicPorts {
  readonly shared: number;
  /** Undefined if Portside does not terminate TLS. */
  readonly tls?: number | undefined;
}

/** Returns the origin of an HTTPS URL. */
export const httpsOrigin = (host: string, port: number): string => `https://${host}${port === 443 ? "" : `:${port}`}`;

/** Returns the public URL of a host name below the domain. `label` is a service's name or a name of the platform. */
export const serviceUrl = ({ name, proxy }: Domain, label: string, { shared, tls }: PublicPorts): string => {
  if (proxy === undefined)
    return tls === undefined ? `http://${label}.${name}:${shared}` : httpsOrigin(`${label}.${name}`, tls);
  return `${proxy.scheme}://${label}.${name}${proxy.port === "" ? "" : `:${proxy.port}`}`;
};

/**
 * Returns true if a service can reach URLs below the domain on its loopback address.
 * @param opened ports of this machine that services reach on their loopback address, in addition to the shared port
 */
export const answersOnLoopback = ({ proxy }: Domain, opened: readonly number[]): boolean =>
  proxy === undefined || opened.includes(Number(proxy.port || (proxy.scheme === "https" ? 443 : 80)));

/** Normalizes a `Host` header: lower case, without the port and the trailing dot. */
export const plainHost = (host: string): string => host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");

/**
 * Returns the service's name from a host name below the domain or below `localhost`. The domain is checked first
 * because it may itself end in `localhost`.
 */
export const serviceOfHost = (host: string, domain: Domain | undefined): string | undefined => {
  const name = plainHost(host);
  const suffix = [domain?.name, "localhost"].find((one) => one !== undefined && name.endsWith(`.${one}`));
  return suffix === undefined ? undefined : name.slice(0, -suffix.length - 1);
};

/**
 * Returns the scheme of the client's request, which is https if Portside or a proxy terminated TLS.
 * @param isEncrypted whether Portside terminated TLS
 */
export const requestScheme = (host: string | undefined, domain: Domain | undefined, isEncrypted: boolean): Scheme => {
  if (isEncrypted) return "https";
  if (domain?.proxy?.scheme !== "https" || host === undefined) return "http";
  return plainHost(host).endsWith(`.${domain.name}`) ? "https" : "http";
};
