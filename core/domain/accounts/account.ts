/** Accounts, principals, and the ownership rule. */

declare const accountBrand: unique symbol;
/** An account name from the authenticator: `acme` for accounts with API keys, `ISSUER-ALIAS:CLAIM` for tokens of issuers. */
export type AccountId = string & { readonly [accountBrand]: true };

/** The authenticated caller of a request. */
export interface Principal {
  readonly account: AccountId;
  /** The id of the key or token, for logs. Never the secret. */
  readonly credentialId: string;
  /**
   * `key`: an API key of the platform. `platform_token`: a token that the platform issued, valid only while the key that
   * created it is. Absent for other callers, such as users of the application or tokens of another issuer.
   */
  readonly credentialKind?: "key" | "platform_token";
}

/** Returns false for a token of the platform: keys or tokens that it created would outlive its key. */
export const mayMakeCredentials = ({ credentialKind }: Principal): boolean => credentialKind !== "platform_token";

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._@:/|+-]{0,254}$/;

/** Returns true for an account name: 1 to 255 of `A-Z a-z 0-9 . _ @ : / | + -`, starting with a letter or digit. */
export const isAccount = (value: unknown): value is AccountId => typeof value === "string" && SHAPE.test(value);

/** Parses an account name. Returns undefined if it is invalid. */
export const parseAccount = (text: string): AccountId | undefined => (isAccount(text) ? text : undefined);

/**
 * Converts a known-good name, such as a user id of your application, to an account.
 *
 * @example accountOf("user-42")
 * @throws TypeError if the name is invalid. Map names with spaces or non-ASCII letters to an id first.
 */
export const accountOf = (text: string): AccountId => {
  if (isAccount(text)) return text;
  throw new TypeError(
    `'${text}' is not a valid account name: use 1 to 255 of A-Z a-z 0-9 . _ @ : / | + -, starting with a letter or digit`,
  );
};

/**
 * Returns true for an account that an operator may create (`portside keys create`): its name has no colon. A user of an
 * identity provider, whose account is `ISSUER-ALIAS:CLAIM`, therefore cannot take it.
 */
export const isKeyAccount = (account: AccountId): boolean => !account.includes(":");

/** The owner of a deployment name. */
export type NameHolder =
  | { readonly kind: "free" }
  | { readonly kind: "held"; readonly owner: AccountId }
  /** Recently freed. Only the former owner may take it again. */
  | { readonly kind: "reserved"; readonly owner: AccountId };

/** Returns whether the account may deploy, read and delete under the name. If not, the caller responds 403. */
export const mayUse = (account: AccountId, holder: NameHolder): boolean =>
  holder.kind === "free" || holder.owner === account;
