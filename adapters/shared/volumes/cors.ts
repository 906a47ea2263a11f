/**
 * The CORS rule of every storage: pages of any origin may use signed URLs. A page needs no cookies, because the URL
 * itself grants access. Without credentials, a browser accepts `*` for any origin.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export const storageCors = {
  origin: "*",
  /** A page completes an upload in parts with POST. */
  methods: ["GET", "HEAD", "POST", "PUT"],
  requestHeaders: ["Content-Type", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "Range"],
  exposedHeaders: ["ETag", "Content-Range"],
  /** How long a browser may cache a preflight. Chromium's maximum. */
  maxAgeSeconds: 7200,
} as const;
