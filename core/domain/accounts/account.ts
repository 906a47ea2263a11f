/** Accounts, principals, and the ownership rule. */

import type { Instant } from "../wire/instant.ts";

declare const accountBrand: unique symbol;
/** An account name: `acme` for an account with API keys, `ISSUER-ALIAS:CLAIM` for a user of an identity provider. */
export type AccountId = string & { readonly [accountBrand]: true };

/**
 * `key`: an API key of the platform. `platform_token`: a token that the platform issued for a key; it becomes invalid
 * when the key is revoked. `issuer_token`: a token of another issuer.
 */
export const credentialKinds = ["key", "platform_token", "issuer_token"] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** The authenticated caller of a request. */
export interface Principal {
  readonly account: AccountId;
  /** The id of the key or token, for logs. Never the secret. */
  readonly credentialId: string;
  /** Absent for users of your application. */
  readonly credentialKind?: CredentialKind;
  /** The id of the API key that issued the token. Absent for other credentials. */
  readonly issuedBy?: string;
  /** When the token or session expires. Absent for credentials that do not expire. */
  readonly expiresAt?: Instant;
  /** The console session of the request. The fields above then describe the credential that started the session. */
  readonly sessionId?: string;
}

/**
 * Returns whether the caller may create keys and tokens. A platform token may not, because the new credentials would
 * remain valid after its key is revoked.
 */
export const mayMakeCredentials = ({ credentialKind }: Principal): boolean => credentialKind !== "platform_token";

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._@:/|+-]{0,254}$/;

/** Returns whether a value is a valid account name. `accountOf` lists the rules. */
export const isAccount = (value: unknown): value is AccountId => typeof value === "string" && SHAPE.test(value);

/** Parses an account name. Returns undefined if it is invalid. */
export const parseAccount = (text: string): AccountId | undefined => (isAccount(text) ? text : undefined);

/**
 * Converts a name, such as a user id of your application, to an account. A valid name has 1 to 255 of the characters
 * `A-Z a-z 0-9 . _ @ : / | + -` and starts with a letter or digit. Map other names to valid ids first.
 *
 * @example accountOf("user-42")
 * @throws TypeError if the name is invalid
 */
export const accountOf = (text: string): AccountId => {
  if (isAccount(text)) return text;
  throw new TypeError(
    `'${text}' is not a valid account name: use 1 to 255 characters (A-Z a-z 0-9 . _ @ : / | + -), starting with a letter or digit`,
  );
};

/**
 * Returns whether an operator may create the account with `portside keys create`. Names with a colon
 * (`ISSUER-ALIAS:CLAIM`) are reserved for users of identity providers.
 */
export const isKeyAccount = (account: AccountId): boolean => !account.includes(":");

/** The owner of a deployment name. */
export type NameHolder =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly owner: AccountId }
  /** No deployment has the name, but only `owner` may use it, for example because `owner` deleted its deployment. */
  | { readonly kind: "reserved"; readonly owner: AccountId };

/** Returns whether the account may deploy, read and delete under the name. If not, the request must fail with 403. */
export const mayUse = (account: AccountId, holder: NameHolder): boolean =>
  holder.kind === "free" || holder.owner === account;
