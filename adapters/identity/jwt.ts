/**
 * Bearer tokens: JWTs verified against configured issuers (OpenID Connect), asymmetric algorithms only.
 * https://www.rfc-editor.org/rfc/rfc8725 is the list of mistakes that this avoids.
 */
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { type AccountId, type Principal, parseAccount } from "../../core/domain/account.ts";
import { millisOf } from "../../core/domain/instant.ts";
import { type Unauthenticated, type Unavailable, unauthenticated, unavailable } from "../../core/errors.ts";
import type { Authenticator } from "../../core/ports/authenticator.ts";
import type { Clock } from "../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../core/result.ts";

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
/** Clocks of issuers and ours may differ by this much. */
const TOLERANCE_SECONDS = 30;

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
}

/** The default alias of an issuer: its host and path, so that accounts of two issuers never meet. */
export const issuerAlias = (issuer: string): string => issuer.replace(/^[a-z]+:\/\//i, "").replace(/\/+$/, "");

/** `ALIAS:CLAIM`, the claim percent-encoded where it needs to be (contract section 2). */
export const accountFromClaim =
  (alias: string, claim: string) =>
  (claims: JWTPayload): AccountId | undefined => {
    const value = claims[claim];
    if (typeof value !== "string" || value === "") return undefined;
    return parseAccount(`${alias}:${encodeURIComponent(value)}`);
  };

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? "";

const refusals: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: "The token has expired; get a new one.",
  ERR_JWT_CLAIM_VALIDATION_FAILED: "The token is not meant for this platform, or not valid yet.",
};

const refusal = (error: unknown): Unauthenticated | Unavailable => {
  const code = codeOf(error);
  // Only fetching the issuer's keys can fail for another reason than the token itself.
  const unreachable = error instanceof TypeError && error.cause !== undefined;
  const ours = code === "ERR_JWKS_TIMEOUT" || code === "ERR_JOSE_GENERIC" || unreachable;
  return ours
    ? unavailable("The issuer's keys could not be fetched; try again.", 5, error)
    : unauthenticated(refusals[code] ?? "The token is not valid.");
};

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
    const { payload } = await jwtVerify(token, issuer.keys, {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: [...(issuer.algorithms ?? ALGORITHMS)],
      clockTolerance: TOLERANCE_SECONDS,
      requiredClaims: ["exp"],
      currentDate: new Date(millisOf(clock.now())),
    });
    const account = issuer.accountOf(payload);
    return account === undefined
      ? err(unauthenticated("The token does not name an account."))
      : ok({ account, credentialId: `jwt:${payload.jti ?? payload.sub ?? ""}` });
  } catch (error) {
    return err(refusal(error));
  }
};

export const createJwtAuthenticator = (issuers: readonly JwtIssuer[], clock: Clock): Authenticator => ({
  authenticate: ({ value }) => new ResultAsync(verify(value, issuers, clock)),
});
