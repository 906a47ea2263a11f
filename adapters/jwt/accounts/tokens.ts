/** Short-lived tokens of the platform, signed with its private key. */
import type { JWK } from "jose";
import { type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import { millisOf, plusMillis } from "../../../core/domain/wire/instant.ts";
import { unauthenticated } from "../../../core/errors.ts";
import type { TokenIssuer } from "../../../core/ports/authenticator.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import { errAsync, okAsync, ResultAsync } from "../../../core/result.ts";
import type { LiveKeys } from "../../shared/accounts/api-keys.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import type { JwtIssuer } from "./jwt.ts";

const ISSUER = "portside";
const AUDIENCE = "portside";
const LIFETIME_MS = 60 * 60_000;
const ALGORITHM = "EdDSA";
/** The claim with the id of the API key that created the token; null if another credential created it. */
const KEY_CLAIM = "portside_key";
const ENDED = unauthenticated("The token has been revoked. Create another with 'portside token'.");

/** Generates a private signing key (Ed25519). Store it where only the platform can read it. */
export const generateSigningKey = async (): Promise<JWK> => {
  const { exportJWK, generateKeyPair } = await import("jose");
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
  return exportJWK(privateKey);
};

/**
 * Returns a token issuer, and the trust settings for its tokens. Calls `loadKey` for the first token, and again after a
 * failure.
 */
export const createTokens = (
  loadKey: () => Promise<JWK>,
  { isLive }: LiveKeys,
  clock: Clock,
  ids: Ids,
): { readonly issuer: TokenIssuer; readonly trusted: JwtIssuer } => {
  let key: Promise<JWK> | undefined;
  const signingKey = () => {
    key ??= loadKey().catch((error: unknown) => {
      key = undefined;
      throw error;
    });
    return key;
  };
  const sign = async ({ account, credentialId, credentialKind }: Principal) => {
    const { importJWK, SignJWT } = await import("jose");
    const now = clock.now();
    const expiresAt = plusMillis(now, LIFETIME_MS);
    const token = await new SignJWT({ [KEY_CLAIM]: credentialKind === "key" ? credentialId : null })
      .setProtectedHeader({ alg: ALGORITHM })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(account)
      .setJti(ids.id())
      .setIssuedAt(Math.floor(millisOf(now) / 1000))
      .setExpirationTime(Math.floor(millisOf(expiresAt) / 1000))
      .sign(await importJWK(await signingKey(), ALGORITHM));
    return { token, expiresAt };
  };
  return {
    issuer: {
      issue: (principal) =>
        ResultAsync.fromPromise(sign(principal), (cause) =>
          storeUnavailable("The token could not be created. Try again.", cause),
        ),
    },
    trusted: {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: [ALGORITHM],
      accountOf: ({ sub }) => parseAccount(sub ?? ""),
      admit: (holder, { [KEY_CLAIM]: key }) => {
        const principal: Principal = { ...holder, credentialKind: "platform_token" };
        if (key === null) return okAsync(principal);
        // Rejects tokens of earlier versions, which cannot be revoked because they do not name their key.
        if (typeof key !== "string") return errAsync(ENDED);
        return isLive(principal.account, key).andThen((there) =>
          there ? okAsync({ ...principal, issuedBy: key }) : errAsync(ENDED),
        );
      },
      keys: async () => {
        const { importJWK } = await import("jose");
        const { d: _private, ...publicKey } = await signingKey();
        return importJWK(publicKey, ALGORITHM);
      },
    },
  };
};
