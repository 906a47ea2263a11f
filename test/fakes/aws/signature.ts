/**
 * Checks Signature Version 4, in headers and in signed URLs:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html and .../sigv4-query-string-auth.html.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { AwsError, type AwsRequest } from "./server.ts";

export interface FakeCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Only for temporary credentials. */
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export interface SignatureRules {
  readonly region: string;
  readonly service: string;
  /** Milliseconds since 1970; decides when signed URLs expire. */
  readonly now: () => number;
  readonly credentials: () => readonly FakeCredentials[];
}

interface Presented {
  readonly credential: string;
  readonly date: string;
  readonly signed: readonly string[];
  readonly signature: string;
  readonly token: string | undefined;
  readonly payload: string;
  /** Seconds from `date` until a signed URL expires; undefined for a signature in headers. */
  readonly expires?: number;
}

const LONGEST_S = 604_800;
const SKEW_MS = 15 * 60_000;

const refused = (status: number, code: string, message: string) => new AwsError(code, message, status);

const momentOf = (date: string): number => {
  const [, y, m, d, h, min, s] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  return Date.parse(`${y}-${m}-${d}T${h}:${min}:${s}Z`);
};

const escaped = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest();

const inQuery = ({ query }: AwsRequest): Presented => ({
  credential: query.get("X-Amz-Credential") ?? "",
  date: query.get("X-Amz-Date") ?? "",
  signed: (query.get("X-Amz-SignedHeaders") ?? "").split(";"),
  signature: query.get("X-Amz-Signature") ?? "",
  token: query.get("X-Amz-Security-Token") ?? undefined,
  payload: "UNSIGNED-PAYLOAD",
  expires: Number(query.get("X-Amz-Expires") ?? Number.NaN),
});

const inHeaders = ({ headers, body }: AwsRequest): Presented => {
  const header = headers["authorization"] ?? "";
  const part = (name: string): string => new RegExp(`${name}=([^,\\s]+)`).exec(header)?.[1] ?? "";
  const payload = headers["x-amz-content-sha256"] ?? sha256(body);
  if (/^[0-9a-f]{64}$/.test(payload) && payload !== sha256(body))
    throw refused(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match.");
  return {
    credential: part("Credential"),
    date: headers["x-amz-date"] ?? "",
    signed: part("SignedHeaders").split(";"),
    signature: part("Signature"),
    token: headers["x-amz-security-token"],
    payload,
  };
};

const canonical = ({ verb, path, query, headers }: AwsRequest, { signed, payload }: Presented): string =>
  [
    verb,
    path,
    [...query]
      .filter(([name]) => name !== "X-Amz-Signature")
      .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
      .sort((a, b) => (a < b ? -1 : 1))
      .join("&"),
    ...signed.map((name) => `${name}:${(headers[name] ?? "").trim().replaceAll(/\s+/g, " ")}`),
    "",
    signed.join(";"),
    payload,
  ].join("\n");

const checkTime = ({ date, expires }: Presented, now: number): void => {
  const begun = momentOf(date);
  if (expires === undefined) {
    // Clients sign requests with the machine's clock, even if a test has its own.
    if (Math.abs(Date.now() - begun) > SKEW_MS)
      throw refused(
        403,
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
      );
    return;
  }
  if (!(Number.isInteger(expires) && expires >= 1 && expires <= LONGEST_S))
    throw refused(400, "AuthorizationQueryParametersError", "X-Amz-Expires must be from 1 to 604800 seconds");
  if (now >= begun + expires * 1000) throw refused(403, "AccessDenied", "Request has expired");
  if (now < begun - SKEW_MS) throw refused(403, "AccessDenied", "Request is not valid yet");
};

/** Throws if the signature does not authorize the request. */
export const checkSignature = (request: AwsRequest, { region, service, now, credentials }: SignatureRules): void => {
  const isQuery = request.query.has("X-Amz-Signature");
  if (!isQuery && request.headers["authorization"] === undefined)
    throw refused(403, "AccessDenied", "Access Denied: anonymous.");
  const presented = isQuery ? inQuery(request) : inHeaders(request);
  const { credential, date, signed, signature, token } = presented;
  const [accessKeyId = "", ...scope] = credential.split("/");
  const known = credentials().find((one) => one.accessKeyId === accessKeyId);
  if (known === undefined)
    throw refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.");
  if (known.sessionToken !== token)
    throw refused(400, "InvalidToken", "The provided token is malformed or otherwise invalid.");
  if (known.expiration !== undefined && known.expiration.getTime() <= now())
    throw refused(400, "ExpiredToken", "The provided token has expired.");
  const day = date.slice(0, 8);
  if (scope.join("/") !== `${day}/${region}/${service}/aws4_request` || Number.isNaN(momentOf(date)))
    throw refused(400, "AuthorizationHeaderMalformed", `The scope '${scope.join("/")}' is wrong.`);
  // ".. the host header and any x-amz-* headers must be signed"
  const unsigned = Object.keys(request.headers).find((name) => name.startsWith("x-amz-") && !signed.includes(name));
  if (!signed.includes("host") || unsigned !== undefined)
    throw refused(403, "AccessDenied", `There were headers present in the request which were not signed: ${unsigned}`);
  const key = ["aws4_request"].reduce(hmac, hmac(hmac(hmac(`AWS4${known.secretAccessKey}`, day), region), service));
  const text = ["AWS4-HMAC-SHA256", date, scope.join("/"), sha256(canonical(request, presented))].join("\n");
  const wanted = hmac(key, text);
  const given = Buffer.from(signature, "hex");
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
    throw refused(
      403,
      "SignatureDoesNotMatch",
      "The request signature we calculated does not match the one you provided.",
    );
  checkTime(presented, now());
};
