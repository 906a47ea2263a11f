/** The domain below which services answer, and how the world reaches it: at the shared port, or through a proxy in front. */

export type Scheme = "http" | "https";

export interface Domain {
  /** In lower case, without a port. */
  readonly name: string;
  /** What URLs have where a proxy answers for the domain; undefined: the shared port is reached itself. */
  readonly proxy: { readonly scheme: Scheme; readonly port: string } | undefined;
}

/** Labels of which the last one makes it no IP address. */
const HOST_NAME = /^(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*$/;

/**
 * @param text `apps.example.com`; with a scheme, `https://apps.example.com`, where a proxy in front answers
 * @returns undefined where it is neither
 */
export const readDomain = (text: string): Domain | undefined => {
  if (!/^https?:\/\//i.test(text)) {
    const name = text.toLowerCase();
    return HOST_NAME.test(name) ? { name, proxy: undefined } : undefined;
  }
  const url = URL.parse(text);
  if (url === null || !HOST_NAME.test(url.hostname)) return undefined;
  // Nothing but a host and its port: no path, query or user.
  if (url.href !== `${url.protocol}//${url.host}/`) return undefined;
  return { name: url.hostname, proxy: { scheme: url.protocol === "https:" ? "https" : "http", port: url.port } };
};

/** The URL by which the world reaches what has a name of its own below the domain. */
export const urlBelow = ({ name, proxy }: Domain, label: string, sharedPort: number): string => {
  if (proxy === undefined) return `http://${label}.${name}:${sharedPort}`;
  return `${proxy.scheme}://${label}.${name}${proxy.port === "" ? "" : `:${proxy.port}`}`;
};

/**
 * Whether URLs below the domain are answered on this machine's loopback, for a service that reaches the shared port there and
 * the `opened` ports.
 */
export const answersOnLoopback = ({ proxy }: Domain, opened: readonly number[]): boolean =>
  proxy === undefined || opened.includes(Number(proxy.port || (proxy.scheme === "https" ? 443 : 80)));

/** A `Host` as it is compared: in lower case, without its port and the dot of the root. */
const plain = (host: string): string => host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");

/** The service that a host names, below the domain (which may be below localhost itself) or `localhost`. */
export const serviceNamedBy = (host: string, domain: Domain | undefined): string | undefined => {
  const name = plain(host);
  const suffix = [domain?.name, "localhost"].find((one) => one !== undefined && name.endsWith(`.${one}`));
  return suffix === undefined ? undefined : name.slice(0, -suffix.length - 1);
};

/** How a client asked for the host: a proxy may have ended TLS. Services that insist on https mind it. */
export const schemeAskedFor = (host: string | undefined, domain: Domain | undefined): Scheme => {
  if (domain?.proxy?.scheme !== "https" || host === undefined) return "http";
  return plain(host).endsWith(`.${domain.name}`) ? "https" : "http";
};
