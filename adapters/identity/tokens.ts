/** Short-lived tokens of the platform's own, signed with a key that only it has. */
import type { JWK } from "jose";
import { parseAccount } from "../../core/domain/account.ts";
import { millisOf, plusMillis } from "../../core/domain/instant.ts";
import { unavailable } from "../../core/errors.ts";
import type { TokenIssuer } from "../../core/ports/authenticator.ts";
import type { Clock, Ids } from "../../core/ports/system.ts";
import { ResultAsync } from "../../core/result.ts";
import type { JwtIssuer } from "./jwt.ts";

const ISSUER = "portside";
const AUDIENCE = "portside";
const LIFETIME_MS = 60 * 60_000;
const ALGORITHM = "EdDSA";

/** A new private signing key (Ed25519), to be kept where only the platform reads it. */
export const generateSigningKey = async (): Promise<JWK> => {
  const { exportJWK, generateKeyPair } = await import("jose");
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
  return exportJWK(privateKey);
};

/** Issues tokens and says how to recognise them. `loadKey` is asked at the first token, and again where that failed. */
export const createTokens = (
  loadKey: () => Promise<JWK>,
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
  const sign = async (account: string) => {
    const { importJWK, SignJWT } = await import("jose");
    const now = clock.now();
    const expiresAt = plusMillis(now, LIFETIME_MS);
    const token = await new SignJWT({})
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
        ResultAsync.fromPromise(sign(principal.account), (cause) =>
          unavailable("No token could be made; try again.", 5, cause),
        ),
    },
    trusted: {
      issuer: ISSUER,
      audience: AUDIENCE,
      algorithms: [ALGORITHM],
      accountOf: ({ sub }) => parseAccount(sub ?? ""),
      keys: async () => {
        const { importJWK } = await import("jose");
        const { d: _private, ...publicKey } = await signingKey();
        return importJWK(publicKey, ALGORITHM);
      },
    },
  };
};
