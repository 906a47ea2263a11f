/**
 * Verifies V4 signatures: https://cloud.google.com/storage/docs/authentication/signatures and
 * .../authentication/canonical-requests.
 */
import { createHash, type KeyObject, verify } from "node:crypto";
import { failure } from "./failure.ts";

export interface SignedRequest {
  readonly verb: string;
  /** Decoded: `/BUCKET/OBJECT`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Escapes every byte except `A-Z a-z 0-9 - . _ ~`; in paths, slashes stay too. */
const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

const LONGEST_S = 7 * 86_400;

const momentOf = (date: string): number => {
  const [, y, m, d, h, min, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  return Date.parse(`${y}-${m}-${d}T${h}:${min}:${s}Z`);
};

const denied = (message: string) => failure(403, "SignatureDoesNotMatch", message);

/** Google Cloud's hosts have no port, so clients sign only the host name. */
const headerValue = (headers: SignedRequest["headers"], name: string): string => {
  const value = (headers[name] ?? "").trim().replaceAll(/\s{2,}/g, " ");
  return name === "host" ? value.replace(/:\d+$/, "") : value;
};

const canonical = ({ path, query, headers }: SignedRequest, verb: string, signed: readonly string[]): string =>
  [
    verb,
    path.split("/").map(escaped).join("/"),
    [...query]
      .filter(([name]) => name !== "X-Goog-Signature")
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .sort((a, b) => (a < b ? -1 : 1))
      .join("&"),
    ...signed.map((name) => `${name}:${headerValue(headers, name)}`),
    "",
    signed.join(";"),
    headers["x-goog-content-sha256"] ?? "UNSIGNED-PAYLOAD",
  ].join("\n");

/**
 * Throws if the signature does not allow the request.
 *
 * @param keyOf returns a service account's public key; undefined if the account does not exist
 */
export const checkSignature = (
  request: SignedRequest,
  now: number,
  keyOf: (email: string) => KeyObject | undefined,
): void => {
  const { query, headers } = request;
  const value = (name: string): string => query.get(`X-Goog-${name}`) ?? "";
  if (value("Signature") === "") throw failure(403, "AccessDenied", "Anonymous caller does not have access.");
  const [email = "", ...scope] = value("Credential").split("/");
  const key = keyOf(email);
  const date = value("Date");
  const isScope = scope.join("/") === `${date.slice(0, 8)}/auto/storage/goog4_request`;
  const seconds = Number(value("Expires"));
  if (value("Algorithm") !== "GOOG4-RSA-SHA256" || key === undefined || !isScope || Number.isNaN(momentOf(date)))
    throw failure(400, "AuthenticationRequired", "The request's query has no valid credential.");
  if (!(Number.isInteger(seconds) && seconds >= 1 && seconds <= LONGEST_S))
    throw failure(400, "InvalidArgument", "X-Goog-Expires is from 1 to 604800");
  const signed = value("SignedHeaders").split(";");
  // "Any x-goog- headers that the request has must be signed."
  const unsigned = Object.keys(headers).find((name) => name.startsWith("x-goog-") && !signed.includes(name));
  if (!signed.includes("host") || unsigned !== undefined) throw denied(`Header '${unsigned ?? "host"}' is not signed.`);
  // A HEAD may use a GET's signature, as anywhere in HTTP (RFC 9110, 9.3.2): see the record of assumptions.
  const verbs = request.verb === "HEAD" ? ["HEAD", "GET"] : [request.verb];
  const isGood = verbs.some((verb) => {
    const hash = createHash("sha256")
      .update(canonical(request, verb, signed))
      .digest("hex");
    const text = ["GOOG4-RSA-SHA256", date, scope.join("/"), hash].join("\n");
    return verify("RSA-SHA256", Buffer.from(text), key, Buffer.from(value("Signature"), "hex"));
  });
  if (!isGood) throw denied("Access denied: the signature is not that of this request.");
  if (now >= momentOf(date) + seconds * 1000) throw failure(400, "ExpiredToken", "The signature has expired.");
  if (now < momentOf(date) - 15 * 60_000) throw failure(403, "AccessDenied", "The signature is not valid yet.");
};
