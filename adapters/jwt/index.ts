/** The default identity, with API keys and bearer tokens, for applications without an identity provider. */
import type { JWK } from "jose";
import type { Authenticator } from "../../core/ports/authenticator.ts";
import type { Identity } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { createApiKeys } from "../shared/accounts/api-keys.ts";
import type { KeyRecords } from "../shared/accounts/key-record.ts";
import type { SessionRecords } from "../shared/accounts/session-record.ts";
import { createSessions } from "../shared/accounts/sessions.ts";
import { createJwtAuthenticator, type JwtIssuer } from "./accounts/jwt.ts";
import { createTokens } from "./accounts/tokens.ts";

/** Options of `createIdentity`. */
export interface IdentityConfig {
  readonly records: KeyRecords;
  /** Stores the sessions of the console. If absent, the identity has no sessions. */
  readonly sessionRecords?: SessionRecords;
  /** Loads the key that signs the platform's tokens. Create it once with `generateSigningKey` and store it. */
  readonly loadSigningKey: () => Promise<JWK>;
  /** Additional trusted token issuers. Defaults to an empty list. */
  readonly issuers?: readonly JwtIssuer[];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** Creates an identity that accepts API keys, tokens of this platform, and tokens of the configured issuers. */
export const createIdentity = (config: IdentityConfig): Identity => {
  const keys = createApiKeys(config);
  const { issuer, trusted } = createTokens(config.loadSigningKey, keys, config.clock, config.ids);
  const bearer = createJwtAuthenticator([trusted, ...(config.issuers ?? [])], config.clock);
  const authenticator: Authenticator = {
    authenticate: (credential, options) =>
      credential.kind === "api_key" ? keys.authenticate(credential, options) : bearer.authenticate(credential, options),
  };
  const { sessionRecords: records } = config;
  return {
    authenticator,
    keys,
    tokens: issuer,
    ...(records === undefined ? {} : { sessions: createSessions({ ...config, records, keys }) }),
  };
};

export { accountFromClaim, issuerAlias, type JwtIssuer } from "./accounts/jwt.ts";
export { generateSigningKey } from "./accounts/tokens.ts";
