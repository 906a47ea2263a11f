/** Who calls, and how an account manages its own keys and tokens. */
import type { z } from "zod";
import { mayMakeCredentials, type Principal } from "../../domain/accounts/account.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { createKeyFields, revokeKeyFields } from "../../domain/wire/requests.ts";
import type { apiKeySchema, newKeySchema, tokenSchema } from "../../domain/wire/responses.ts";
import { type ControlPlaneError, forbidden, invalidInput, unauthenticated } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import { errAsync, type ResultAsync } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";

/** The two headers of a request that may carry a credential. */
export interface CredentialHeaders {
  readonly apiKey?: string | undefined;
  readonly authorization?: string | undefined;
}

/** Where both headers are sent, the API key decides: a proxy in front may own `Authorization`. */
export const authenticate = (
  context: Context,
  headers: CredentialHeaders,
  options: CallOptions = {},
): ResultAsync<Principal, ControlPlaneError> => {
  const { authenticator } = context.ports.identity;
  if (headers.apiKey !== undefined)
    return authenticator.authenticate({ kind: "api_key", value: headers.apiKey }, options);
  if (headers.authorization === undefined)
    return errAsync(unauthenticated("A credential is needed: send X-API-Key or Authorization: Bearer."));
  const bearer = /^Bearer +(\S+)$/i.exec(headers.authorization.trim())?.[1];
  if (bearer === undefined) return errAsync(unauthenticated("Authorization must be 'Bearer TOKEN'."));
  return authenticator.authenticate({ kind: "bearer", value: bearer }, options);
};

export type NewKey = z.output<typeof newKeySchema>;
export type ListedKey = z.output<typeof apiKeySchema>;
export type Token = z.output<typeof tokenSchema>;

const NEEDS_KEY = forbidden("A token of this platform must not make keys or tokens. Call with an API key.");

export const createKey = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<NewKey, ControlPlaneError> => {
  const { values, issues } = parseFields(createKeyFields, raw);
  if (issues.length > 0) return errAsync(invalidInput(issues));
  if (!mayMakeCredentials(principal)) return errAsync(NEEDS_KEY);
  return context.ports.identity.keys
    .create(principal.account, values.label as string, options)
    .map(({ id, prefix, key }) => ({ id, prefix, key }));
};

export const listKeys = (
  context: Context,
  principal: Principal,
  options: CallOptions = {},
): ResultAsync<readonly ListedKey[], ControlPlaneError> =>
  context.ports.identity.keys.list(principal.account, options).map((keys) =>
    keys.map(({ id, prefix, label, createdAt, lastUsedAt }) => ({
      id,
      prefix,
      label,
      created_at: createdAt,
      last_used_at: lastUsedAt,
    })),
  );

export const revokeKey = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<{ detail: string }, ControlPlaneError> => {
  const { values, issues } = parseFields(revokeKeyFields, raw);
  if (issues.length > 0) return errAsync(invalidInput(issues));
  const id = values.id as string;
  return context.ports.identity.keys
    .revoke(principal.account, id, options)
    .map(() => ({ detail: `The key '${id}' is revoked.` }));
};

export const issueToken = (
  context: Context,
  principal: Principal,
  options: CallOptions = {},
): ResultAsync<Token, ControlPlaneError> =>
  mayMakeCredentials(principal)
    ? context.ports.identity.tokens
        .issue(principal, options)
        .map(({ token, expiresAt }) => ({ access_token: token, expires_at: timestampOf(expiresAt) }))
    : errAsync(NEEDS_KEY);
