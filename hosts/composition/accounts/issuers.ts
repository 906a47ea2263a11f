/** The configured issuer of bearer tokens. Its keys come from `--jwt-jwks` or from OpenID Connect discovery. */
import { accountFromClaim, issuerAlias, type JwtIssuer } from "../../../adapters/jwt/index.ts";
import type { ServeSettings } from "../settings.ts";

const jwksOf = async (issuer: string, named: string | undefined): Promise<URL> => {
  if (named !== undefined) return new URL(named);
  // https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig
  const discovery = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const { jwks_uri } = (await discovery.json()) as { jwks_uri: string };
  return new URL(jwks_uri);
};

export const issuersOf = (settings: ServeSettings): JwtIssuer[] => {
  const { jwtIssuer, jwtAudience, jwtJwks, jwtAccountClaim } = settings;
  if (jwtIssuer === undefined || jwtAudience === undefined) return [];
  let keys: Promise<JwtIssuer["keys"]> | undefined;
  const load = async (): Promise<JwtIssuer["keys"]> => {
    const { createRemoteJWKSet } = await import("jose");
    return createRemoteJWKSet(await jwksOf(jwtIssuer, jwtJwks));
  };
  return [
    {
      issuer: jwtIssuer,
      audience: jwtAudience,
      accountOf: accountFromClaim(issuerAlias(jwtIssuer), jwtAccountClaim),
      keys: async (header, token) => {
        keys ??= load().catch((error: unknown) => {
          // The next token retries the discovery.
          keys = undefined;
          throw error;
        });
        return (await keys)(header, token);
      },
    },
  ];
};
