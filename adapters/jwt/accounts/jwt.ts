/**
 * Bearer tokens: JWTs verified against configured issuers (OpenID Connect), with asymmetric algorithms only. Follows
 * https://www.rfc-editor.org/rfc/rfc8725.
 */
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { type AccountId, type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import { instantOfSeconds, millisOf } from "../../../core/domain/wire/instant.ts";
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
/** Seconds by which an issuer's clock may be ahead. Does not extend the expiry of a token. */
const TOLERANCE_SECONDS = 5;

/** A trusted issuer of tokens. */
export interface JwtIssuer {
  /** The exact `iss` claim of its tokens. */
  readonly issuer: string;
  readonly audience: string;
  /** Returns the account that a token's claims name, or undefined if they name no account. See `accountFromClaim`. */
  readonly accountOf: (claims: JWTPayload) => AccountId | undefined;
  /** The permitted algorithms. Defaults to RSA, ECDSA with the NIST curves, and EdDSA. */
  readonly algorithms?: readonly string[];
  /** Finds the key that signed a token. jose's `createRemoteJWKSet` returns such a function. */
  readonly keys: JWTVerifyGetKey;
  /** Checks a principal whose token is valid, and may replace or reject it. Defaults to accepting every principal. */
  readonly admit?: (principal: Principal, claims: JWTPayload) => ResultAsync<Principal, Unauthenticated | Unavailable>;
}

/** Returns the default alias of an issuer: its host and path, so that accounts of different issuers do not collide. */
export const issuerAlias = (issuer: string): string => issuer.replace(/^[a-z]+:\/\//i, "").replace(/\/+$/, "");

const percentEncoded = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => `%${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("");

/**
 * Returns a function that maps claims to the account `ALIAS:CLAIM`. Percent-encodes `%`, `:` and characters that are
 * invalid in an account name, so that accounts of issuers with different aliases do not collide.
 *
 * @param alias the prefix of the issuer's accounts
 * @param claim the claim that identifies the user, such as `sub`
 */
export const accountFromClaim =
  (alias: string, claim: string) =>
  (claims: JWTPayload): AccountId | undefined => {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (typeof value !== "string" || value === "" || !value.isWellFormed()) return undefined;
    return parseAccount(`${alias}:${value.replace(/[^A-Za-z0-9._@/|+-]+/g, percentEncoded)}`);
  };

/** Thrown if the issuer's keys cannot be fetched. The token may still be valid. */
class KeysUnavailable extends Error {}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? "";

/** Error codes of the key lookup for invalid tokens: no key or several keys match, or the algorithm is unsupported. */
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

const EXPIRED = "The token has expired. Get a new one.";

const refusals: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: EXPIRED,
  ERR_JWT_CLAIM_VALIDATION_FAILED:
    "The token is for a different audience, is not valid yet, or never expires. Check its aud, nbf and exp claims.",
};

const refusal = (error: unknown): Unauthenticated | Unavailable =>
  error instanceof KeysUnavailable
    ? unavailable("The issuer's keys could not be fetched. Try again.", 5, error.cause)
    : unauthenticated(refusals[codeOf(error)] ?? "The token is not valid. Get a new one.");

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
  if (issuer === undefined)
    return err(unauthenticated("The platform does not trust the token's issuer. Check its iss claim."));
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
    if (account === undefined) return err(unauthenticated("The token's claims do not name an account."));
    const credentialId = `jwt:${payload.jti ?? payload.sub ?? ""}`;
    const expiresAt = instantOfSeconds(Math.floor(payload.exp ?? 0));
    const principal: Principal = { account, credentialId, credentialKind: "issuer_token", expiresAt };
    return issuer.admit === undefined ? ok(principal) : await issuer.admit(principal, payload);
  } catch (error) {
    return err(refusal(error));
  }
};

export const createJwtAuthenticator = (issuers: readonly JwtIssuer[], clock: Clock): Authenticator => ({
  authenticate: ({ value }) => new ResultAsync(verify(value, issuers, clock)),
});
