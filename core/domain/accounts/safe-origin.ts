/** Where a browser may send a key or a session: over TLS, or without leaving its machine. */

/** Returns whether only programs on the machine of the browser can answer for the host. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname.toLowerCase() === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(hostname);

/** Returns whether users may sign in to the console at a URL. Returns false if the text is not a URL. */
export const isSafeOrigin = (url: string): boolean => {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
};
