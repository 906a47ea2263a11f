/** Who calls, and the one rule about what they may touch. */

declare const accountBrand: unique symbol;
/** An account, as the authenticator names it: `acme` for key accounts, `ISSUER-ALIAS:CLAIM` for tokens. */
export type AccountId = string & { readonly [accountBrand]: true };

export interface Principal {
  readonly account: AccountId;
  /** The id of the key or the token, for logs. Never the secret. */
  readonly credentialId: string;
  /**
   * `key`: an API key of the platform. `platform_token`: a token that the platform issued, which ends with the key that made
   * it. Absent for other callers, such as users of the application or tokens of another issuer.
   */
  readonly credentialKind?: "key" | "platform_token";
}

/** A token that the platform issued must not make keys or tokens: they would outlive its key. */
export const mayMakeCredentials = ({ credentialKind }: Principal): boolean => credentialKind !== "platform_token";

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._@:/|+-]{0,254}$/;

/** True for an account name: 1 to 255 printable characters without spaces, starting with a letter or digit. */
export const isAccount = (value: unknown): value is AccountId => typeof value === "string" && SHAPE.test(value);

/** Reads an account name; undefined where it is none. */
export const parseAccount = (text: string): AccountId | undefined => (isAccount(text) ? text : undefined);

/**
 * The account of a name that is known to be one, such as a user's id of the application's own.
 * @throws TypeError where it is none: a name with spaces or letters beyond ASCII has to be mapped to an id before
 */
export const accountOf = (text: string): AccountId => {
  if (isAccount(text)) return text;
  throw new TypeError(
    `'${text}' is no account: 1 to 255 of A-Z a-z 0-9 . _ @ : / | + -, beginning with a letter or digit`,
  );
};

/**
 * Accounts made by hand (`portside keys create`) have no colon, so that no identity provider's user,
 * whose account is `ISSUER-ALIAS:CLAIM`, can take one.
 */
export const isKeyAccount = (account: AccountId): boolean => !account.includes(":");

/** What stands under a deployment name, as far as ownership is concerned. */
export type NameHolder =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly owner: AccountId }
  /** Freed lately; only the former owner may take it again. */
  | { readonly kind: "reserved"; readonly owner: AccountId };

/** May this account deploy under the name, read it, remove it? 403 where not. */
export const mayUse = (account: AccountId, holder: NameHolder): boolean =>
  holder.kind === "free" || holder.owner === account;
