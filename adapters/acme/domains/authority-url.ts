/** The URLs that an authority may have. This file imports no HTTP client, because the command line loads it for its help. */

const loopbacks = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether an authority may have this URL: HTTPS, or HTTP on the loopback. RFC 8555, section 6.1, requires HTTPS. */
export const isAuthorityUrl = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && loopbacks.has(hostname));
};
