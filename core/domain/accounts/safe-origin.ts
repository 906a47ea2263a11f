/** Origins that are safe for keys, sessions and requests to certificate authorities: HTTPS, or the same machine. */

/** Returns whether only programs on the same machine can answer for the host. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname.toLowerCase() === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);

/**
 * Returns whether a URL is safe for signing in to the console, and for requests to a certificate authority (RFC 8555,
 * section 6.1, requires HTTPS). Returns false if the text is not a URL.
 */
export const isSafeOrigin = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
};
