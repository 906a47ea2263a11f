/**
 * Bearer tokens: JWTs verified against configured issuers (OpenID Connect), asymmetric algorithms only.
 * https://www.rfc-editor.org/rfc/rfc8725 is the list of mistakes that this avoids.
 */
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { type AccountId, type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unauthenticated, type Unavailable, unauthenticated, unavailable } from "../../../core/errors.ts";
import type { Authenticator } from "../../../core/ports/authenticator.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";

const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** An issuer's clock may be ahead of ours by this much; a token that has expired has expired. */
const TOLERANCE_SECONDS = 5;

export interface JwtIssuer {
  /** Exactly the `iss` of its tokens. */
  readonly issuer: string;
  readonly audience: string;
  /** The account of a token's claims; undefined where they name none. */
  readonly accountOf: (claims: JWTPayload) => AccountId | undefined;
  /** The algorithms that it signs with; by default every asymmetric one. */
  readonly algorithms?: readonly string[];
  /** Finds the key that signed a token. */
  readonly keys: JWTVerifyGetKey;
  /** Judges a principal whose token is valid; absent: accepts it. */
  readonly admit?: (principal: Principal, claims: JWTPayload) => ResultAsync<Principal, Unauthenticated | Unavailable>;
}

/** The default alias of an issuer: its host and path, so that accounts of two issuers never meet. */
export const issuerAlias = (issuer: string): string => issuer.replace(/^[a-z]+:\/\//i, "").replace(/\/+$/, "");

const percentEncoded = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");

/**
 * `ALIAS:CLAIM`. What an account's name cannot have is percent-encoded, and so are `%` and `:`,
 * so that no claim of one issuer reads like an account of another.
 */
export const accountFromClaim =
  (alias: string, claim: string) =>
  (claims: JWTPayload): AccountId | undefined => {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value !== "string" || value === "" || !value.isWellFormed()) return undefined;
    return parseAccount(`${alias}:${value.replace(/[^A-Za-z0-9._@/|+-]+/g, percentEncoded)}`);
  };

/** The issuer's keys could not be had, which says nothing about the token. */
class KeysUnavailable extends Error {}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? "";

/** What looking for a key says about the token: that the issuer has no such key, or more than one. */
const tokenFaults = ["ERR_JWKS_NO_MATCHING_KEY", "ERR_JWKS_MULTIPLE_MATCHING_KEYS", "ERR_JOSE_NOT_SUPPORTED"];

const keysOf =
  ({ keys }: JwtIssuer): JWTVerifyGetKey =>
  async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      throw tokenFaults.includes(codeOf(cause)) ? cause : new KeysUnavailable("no keys", { cause });
    }
  };

const EXPIRED = "The token has expired; get a new one.";

const refusals: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: EXPIRED,
  ERR_JWT_CLAIM_VALIDATION_FAILED: "The token is not meant for this platform, or not valid yet.",
};

const refusal = (error: unknown): Unauthenticated | Unavailable =>
  error instanceof KeysUnavailable
    ? unavailable("The issuer's keys could not be fetched; try again.", 5, error.cause)
    : unauthenticated(refusals[codeOf(error)] ?? "The token is not valid.");

const verify = async (
  token: string,
  issuers: readonly JwtIssuer[],
  clock: Clock,
): Promise<Result<Principal, Unauthenticated | Unavailable>> => {
  const { decodeJwt, jwtVerify } = await import("jose");
  let claimed: JWTPayload;
  try {
    claimed = decodeJwt(token);
  } catch {
    return err(unauthenticated("The token is not a JWT."));
  }
  const issuer = issuers.find((one) => one.issuer === claimed.iss);
  if (issuer === undefined) return err(unauthenticated("The token's issuer is not known here."));
  try {
    const now = millisOf(clock.now());
    const { payload } = await jwtVerify(token, keysOf(issuer), {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: [...(issuer.algorithms ?? ALGORITHMS)],
      clockTolerance: TOLERANCE_SECONDS,
      requiredClaims: ["exp"],
      currentDate: new Date(now),
    });
    if ((payload.exp ?? 0) * 1000 <= now) return err(unauthenticated(EXPIRED));
    const account = issuer.accountOf(payload);
    if (account === undefined) return err(unauthenticated("The token does not name an account."));
    const principal: Principal = { account, credentialId: `jwt:${payload.jti ?? payload.sub ?? ""}` };
    return issuer.admit === undefined ? ok(principal) : await issuer.admit(principal, payload);
  } catch (error) {
    return err(refusal(error));
  }
};

export const createJwtAuthenticator = (issuers: readonly JwtIssuer[], clock: Clock): Authenticator => ({
  authenticate: ({ value }) => new ResultAsync(verify(value, issuers, clock)),
});
