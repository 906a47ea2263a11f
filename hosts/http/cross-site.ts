/**
 * The check against cross-site request forgery for callers whom the application knows by a cookie. A browser sends
 * the cookie with every site's requests, but only it can write these two headers.
 */
import { type ControlPlaneError, forbidden } from "../../core/errors.ts";

/** A browser's word on who made the request; both absent from clients that are not current browsers. */
export interface RequestSource {
  /** `Sec-Fetch-Site`. Browsers send it to HTTPS addresses and to the loopback only. */
  readonly fetchSite: string | undefined;
  readonly origin: string | undefined;
}

/** Returns the one way in which browsers write the origin of a URL; undefined if the text has none. */
const originOf = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || url.origin === "null" ? undefined : url.origin;
};

/** Throws if an entry is not an origin as browsers write it: such an entry would never match. */
export const checkOrigins = (origins: readonly string[]): ReadonlySet<string> => {
  for (const [index, text] of origins.entries()) {
    const origin = originOf(text);
    if (origin === text && !text.includes("*")) continue;
    const hint =
      origin === undefined || origin === text
        ? "Write a scheme and a host, such as https://app.example.com"
        : `Write ${origin}`;
    throw new TypeError(`portside: origins[${index}] is not an origin: '${text}'. ${hint}.`);
  }
  return new Set(origins);
};

/**
 * Refuses requests that another site made. Sibling hosts are refused as well: deployed services run there.
 *
 * @param own the scheme and host by which the client reached the application, such as `https://app.example.com`
 * @param configured further origins, for applications behind a proxy that changes the scheme or the host
 */
export const crossSiteRefusal = (
  { fetchSite, origin }: RequestSource,
  own: string,
  configured: ReadonlySet<string>,
): ControlPlaneError | undefined => {
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none")
    return forbidden(
      `Cross-site requests are refused: Sec-Fetch-Site is '${fetchSite}'. ` +
        "Call from a page of this application, or use an API key.",
    );
  if (origin === undefined || configured.has(origin) || origin === originOf(own)) return undefined;
  return forbidden(
    `Cross-site requests are refused: Origin is '${origin}'. ` +
      "If this is the application's own page, add it to the setting 'origins' of the plugin.",
  );
};
