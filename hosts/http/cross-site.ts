/**
 * Prevents cross-site request forgery if the application identifies callers by a cookie. A browser sends the cookie
 * with requests from any site, but a page cannot forge the two headers that this module checks.
 */
import { type ControlPlaneError, forbidden } from "../../core/errors.ts";

/** The headers that identify the site that made a request. Either may be missing. */
export interface RequestSource {
  /** `Sec-Fetch-Site`. Browsers send it only to HTTPS and loopback addresses. */
  readonly fetchSite: string | undefined;
  readonly origin: string | undefined;
}

/** Returns the origin of a URL as browsers serialize it, or undefined if the text has no origin. */
const originOf = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url === undefined || url.origin === "null" ? undefined : url.origin;
};

/** Throws if an entry is not an origin in the form that browsers send, because it would never match. */
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
 * Returns an error if another site made the request. Sibling hosts count as other sites, because deployed services run
 * on them.
 *
 * @param own the scheme and host by which the client reached the application, such as `https://app.example.com`
 * @param configured further origins, for applications behind a proxy that changes the scheme or the host
 */
export const crossSiteError = (
  { fetchSite, origin }: RequestSource,
  own: string,
  configured: ReadonlySet<string>,
): ControlPlaneError | undefined => {
  if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none")
    return forbidden(
      `Cross-site requests are not allowed: Sec-Fetch-Site is '${fetchSite}'. ` +
        "Call from a page of this application, or use an API key.",
    );
  if (origin === undefined || configured.has(origin) || origin === originOf(own)) return undefined;
  return forbidden(
    `Cross-site requests are not allowed: Origin is '${origin}'. ` +
      "If this is the application's own page, add it to the setting 'origins' of the plugin (--console-origin of serve).",
  );
};

/**
 * Returns an error if a request with a session does not come from a page of the application's origins. A page always
 * sends one of the two headers, so a request without them is rejected too.
 */
export const sessionSourceError = (
  source: RequestSource,
  own: string,
  configured: ReadonlySet<string>,
): ControlPlaneError | undefined =>
  source.fetchSite === undefined && source.origin === undefined
    ? forbidden(
        "A request with a console session must have Sec-Fetch-Site or Origin, as browsers send them. " +
          "Outside of a browser, use an API key.",
      )
    : crossSiteError(source, own, configured);
