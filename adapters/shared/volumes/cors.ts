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

/** A CORS rule of a bucket, in terms that both clouds share. */
export interface CorsRule {
  /** `*` allows any origin. */
  readonly origins: readonly string[];
  /** `*` allows any method. */
  readonly methods: readonly string[];
  /** Headers that a page may send. `*` matches any characters. */
  readonly requestHeaders: readonly string[];
  /** Headers of a response that a page may read. */
  readonly exposedHeaders: readonly string[];
}

/** Header names are case-insensitive: https://www.rfc-editor.org/rfc/rfc9110#section-5.1 */
const headerMatches = (pattern: string, header: string): boolean => {
  const [start = "", end] = pattern.toLowerCase().split("*");
  const name = header.toLowerCase();
  if (end === undefined) return name === start;
  return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end);
};

const allowsHeaders = (patterns: readonly string[], headers: readonly string[]): boolean =>
  headers.every((header) => patterns.some((pattern) => headerMatches(pattern, header)));

/**
 * Returns whether the rules let pages of any origin use signed URLs. For each method, one rule must allow all headers,
 * because the clouds apply one rule to a request. Ignores the order of the rules: if an earlier rule of the operator
 * applies to an origin, that is the operator's decision.
 */
export const covers = (rules: readonly CorsRule[]): boolean =>
  storageCors.methods.every((method) =>
    rules.some(
      ({ origins, methods, requestHeaders, exposedHeaders }) =>
        origins.includes("*") &&
        (methods.includes("*") || methods.includes(method)) &&
        allowsHeaders(requestHeaders, storageCors.requestHeaders) &&
        allowsHeaders(exposedHeaders, storageCors.exposedHeaders),
    ),
  );
