/** The domain of the services' host names, which clients reach at the shared port or through a proxy. */

export type Scheme = "http" | "https";

export interface Domain {
  /** Lower case, without a port. */
  readonly name: string;
  /** Scheme and port of URLs if a proxy serves the domain; undefined if clients reach the shared port directly. */
  readonly proxy: { readonly scheme: Scheme; readonly port: string } | undefined;
}

/** The last label must start with a letter, so that the name is not an IP address. */
const HOST_NAME = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/;

/**
 * @param text `apps.example.com`, or `https://apps.example.com` if a proxy serves the domain
 * @returns undefined if the text is neither
 */
export const readDomain = (text: string): Domain | undefined => {
  if (!/^https?:\/\//i.test(text)) {
    const name = text.toLowerCase();
    return HOST_NAME.test(name) ? { name, proxy: undefined } : undefined;
  }
  const url = URL.parse(text);
  if (url === null || !HOST_NAME.test(url.hostname)) return undefined;
  // Only a host and its port are allowed: no path, query or user.
  if (url.href !== `${url.protocol}//${url.host}/`) return undefined;
  return { name: url.hostname, proxy: { scheme: url.protocol === "https:" ? "https" : "http", port: url.port } };
};

/** The public URL of a service or other name below the domain. */
export const serviceUrl = ({ name, proxy }: Domain, label: string, sharedPort: number): string => {
  if (proxy === undefined) return `http://${label}.${name}:${sharedPort}`;
  return `${proxy.scheme}://${label}.${name}${proxy.port === "" ? "" : `:${proxy.port}`}`;
};

/** Whether a service reaches URLs below the domain on the loopback address, where the shared and the `opened` ports listen. */
export const answersOnLoopback = ({ proxy }: Domain, opened: readonly number[]): boolean =>
  proxy === undefined || opened.includes(Number(proxy.port || (proxy.scheme === "https" ? 443 : 80)));

/** Normalizes a `Host` header: lower case, without the port and the trailing dot. */
const plain = (host: string): string => host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");

/** Returns the service that a host name below the domain or below `localhost` names. The domain may end in `localhost`. */
export const serviceOfHost = (host: string, domain: Domain | undefined): string | undefined => {
  const name = plain(host);
  const suffix = [domain?.name, "localhost"].find((one) => one !== undefined && name.endsWith(`.${one}`));
  return suffix === undefined ? undefined : name.slice(0, -suffix.length - 1);
};

/** Returns the scheme of the client's request. It is https if a proxy terminated TLS. */
export const requestScheme = (host: string | undefined, domain: Domain | undefined): Scheme => {
  if (domain?.proxy?.scheme !== "https" || host === undefined) return "http";
  return plain(host).endsWith(`.${domain.name}`) ? "https" : "http";
};
