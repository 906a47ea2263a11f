/** Problem documents of an authority (RFC 8555, section 6.7), and the sentences that owners of hosts read. */
import { z } from "zod";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { OrderFailed } from "../../../core/ports/certificate-authority.ts";
import { tryOr } from "../../shared/runtime/try-or.ts";
import { type AcmeResponse, retryAfterOf } from "./http.ts";

const PREFIX = "urn:ietf:params:acme:error:";

const subproblemSchema = z.object({ type: z.string().optional(), detail: z.string().optional() });

/** A problem document. */
const problemSchema = subproblemSchema.extend({
  subproblems: z.array(subproblemSchema).optional().catch(undefined),
  /** The page of a required action: section 7.3.3. */
  instance: z.string().optional().catch(undefined),
});

/**
 * The problem of an order or a challenge; undefined if it is malformed. The status already says that the order failed,
 * and Portside would retry an order that it cannot read forever.
 */
export const reportedProblem = problemSchema.optional().catch(undefined);

export type ProblemDocument = z.infer<typeof problemSchema>;

/** The authority refused a request. */
export interface AcmeProblem {
  readonly kind: "problem";
  /** The type without its prefix, such as `badNonce`; empty if the response has no problem document. */
  readonly type: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

const sentences: Readonly<Record<string, string>> = {
  caa: "A CAA record forbids this authority from issuing the certificate",
  connection: "The authority could not connect to the host",
  dns: "The authority could not resolve the host",
  externalAccountRequired: "The authority requires an external account",
  incorrectResponse: "The authority received a wrong response from the host",
  invalidContact: "The authority does not accept the e-mail address",
  invalidProfile: "The authority does not have the requested profile",
  rateLimited: "The authority limits the number of certificates",
  rejectedIdentifier: "The authority does not issue certificates for this host",
  tls: "The authority could not open a TLS connection to the host",
  unauthorized: "The authority could not validate the host",
  unsupportedContact: "The authority does not accept the e-mail address",
  userActionRequired: "The authority requires an action by the operator",
};

/** Problem types that are specific to one authority, so that another one may still issue the certificate. */
const ofThisAuthority = new Set([
  ...["caa", "externalAccountRequired", "invalidContact", "invalidProfile", "rateLimited", "rejectedIdentifier"],
  ...["unsupportedContact", "userActionRequired"],
]);

const MAX_DETAIL = 500;

/** The delay after a rate limit if the authority specifies none, in milliseconds. */
const RATE_LIMIT_DELAY_MS = 3_600_000;

const withoutPrefix = (type = ""): string => (type.startsWith(PREFIX) ? type.slice(PREFIX.length) : "");

/** Returns the type of the subproblems if the document combines problems of one type (section 6.7.1). */
const typeOf = ({ type, subproblems = [] }: ProblemDocument): string => {
  const own = withoutPrefix(type);
  const types = new Set(subproblems.map((one) => withoutPrefix(one.type)));
  const [only = ""] = own === "compound" && types.size === 1 ? types : [];
  return only === "" ? own : only;
};

/** Returns the authority's text on one line. It may quote a response from an untrusted server. */
const detailOf = (document: ProblemDocument): string =>
  [
    document.detail,
    ...(document.subproblems ?? []).map(({ detail }) => detail),
    typeOf(document) === "userActionRequired" ? document.instance : undefined,
  ]
    .filter((one) => one !== undefined)
    .join("; ")
    .replaceAll(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ")
    .slice(0, MAX_DETAIL)
    .trim();

/** Returns the problem of a document. */
export const problemOf = (document: ProblemDocument, delayMs: number | null = null): AcmeProblem => {
  const type = typeOf(document);
  const retryAfterMs = delayMs ?? (type === "rateLimited" ? RATE_LIMIT_DELAY_MS : null);
  const detail = detailOf(document);
  const sentence = sentences[type] ?? "The authority refused the order";
  return { kind: "problem", type, message: detail === "" ? `${sentence}.` : `${sentence}: ${detail}`, retryAfterMs };
};

/**
 * Returns a problem that Portside detects itself, without a response from the authority.
 * @param type the type that the authority would use
 */
export const refused = (message: string, type = ""): AcmeProblem => ({
  kind: "problem",
  type,
  message,
  retryAfterMs: null,
});

/** Returns the failure that a response reports; undefined if the response is a success. */
export const failureOf = (
  authority: string,
  response: AcmeResponse,
  now: Instant,
): AcmeProblem | Unavailable | undefined => {
  if (response.status < 300) return undefined;
  const retryAfterMs = retryAfterOf(response, now);
  const found = problemSchema.safeParse(tryOr((): unknown => JSON.parse(response.text), undefined));
  const body: ProblemDocument = found.success ? found.data : { detail: `HTTP ${response.status}` };
  // A proxy in front of the authority may limit requests without a problem document.
  const document = response.status === 429 && typeOf(body) === "" ? { ...body, type: `${PREFIX}rateLimited` } : body;
  if (response.status >= 500 || typeOf(document) === "serverInternal")
    return unavailable(
      `The certificate authority ${authority} failed with HTTP ${response.status}.`,
      Math.ceil((retryAfterMs ?? 60_000) / 1000),
      detailOf(document),
    );
  return problemOf(document, retryAfterMs);
};

/** Converts a problem to the error of the port. */
export const orderFailed = ({ type, message, retryAfterMs }: Omit<AcmeProblem, "kind">): OrderFailed => ({
  kind: "order_failed",
  message,
  retryAfterMs,
  othersMayIssue: retryAfterMs !== null || ofThisAuthority.has(type),
});
