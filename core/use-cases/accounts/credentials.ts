/** Use cases for authentication, API keys and tokens. */
import type { z } from "zod";
import { mayMakeCredentials, type Principal } from "../../domain/accounts/account.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { createKeyFields, revokeKeyFields } from "../../domain/wire/requests.ts";
import type { apiKeySchema, newKeySchema, tokenSchema } from "../../domain/wire/responses.ts";
import { type ControlPlaneError, type Forbidden, forbidden, unauthenticated } from "../../errors.ts";
import type { SessionSecrets } from "../../ports/sessions.ts";
import type { CallOptions } from "../../ports/system.ts";
import { err, errAsync, ok, type Result, type ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { accountUseCase, useCase } from "../pipeline/use-case.ts";
import { authenticateSession } from "./sessions.ts";

/** The parts of a request that may contain a credential. */
export interface CredentialHeaders {
  readonly apiKey?: string | undefined;
  readonly authorization?: string | undefined;
  /** The secrets of a console session. */
  readonly session?: SessionSecrets | undefined;
}

/**
 * Authenticates a request. The API key takes precedence, because a proxy in front of Portside may use `Authorization`
 * itself. A session comes last, because a browser also sends its cookie with requests that have a different credential.
 */
export const authenticate = (
  context: Context,
  headers: CredentialHeaders,
  options: CallOptions = {},
): ResultAsync<Principal, ControlPlaneError> => {
  const { authenticator } = context.ports.identity;
  if (headers.apiKey !== undefined)
    return authenticator.authenticate({ kind: "api_key", value: headers.apiKey }, options);
  if (headers.authorization === undefined && headers.session !== undefined)
    return authenticateSession(context, headers.session, options);
  if (headers.authorization === undefined)
    return errAsync(unauthenticated("The request has no credential. Send X-API-Key or Authorization: Bearer."));
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization.trim())?.[1];
  if (bearer === undefined) return errAsync(unauthenticated("Authorization must be 'Bearer TOKEN'."));
  return authenticator.authenticate({ kind: "bearer", value: bearer }, options);
};

/** A new API key with its secret. */
export type NewKey = z.output<typeof newKeySchema>;

/** An API key in a list, without its secret. */
export type ListedKey = z.output<typeof apiKeySchema>;

/** A bearer token and its expiry time. */
export type Token = z.output<typeof tokenSchema>;

const mayCreate = ({ principal }: { readonly principal: Principal }): Result<undefined, Forbidden> =>
  mayMakeCredentials(principal)
    ? ok(undefined)
    : err(forbidden("A token of this platform must not create keys or tokens. Use an API key."));

export const createKey = useCase({
  fields: createKeyFields,
  authorize: mayCreate,
  run: ({ context, principal, input, options }) =>
    context.ports.identity.keys
      .create(principal.account, input.label, options)
      .map(({ id, prefix, key }): NewKey => ({ id, prefix, key })),
});

export const listKeys = accountUseCase({
  run: ({ context, principal, options }) =>
    context.ports.identity.keys.list(principal.account, options).map((keys) =>
      keys.map(
        ({ id, prefix, label, createdAt, lastUsedAt }): ListedKey => ({
          id,
          prefix,
          label,
          created_at: createdAt,
          last_used_at: lastUsedAt,
        }),
      ),
    ),
});

export const revokeKey = useCase({
  fields: revokeKeyFields,
  run: ({ context, principal, input: { id }, options }) =>
    context.ports.identity.keys
      .revoke(principal.account, id, options)
      .map(() => ({ detail: `The key '${id}' is revoked.` })),
});

export const issueToken = accountUseCase({
  authorize: mayCreate,
  run: ({ context, principal, options }) =>
    context.ports.identity.tokens
      .issue(principal, options)
      .map(({ token, expiresAt }): Token => ({ access_token: token, expires_at: timestampOf(expiresAt) })),
});
