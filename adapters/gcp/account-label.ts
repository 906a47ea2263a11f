/** The label that carries the digest of the account, on whatever of Google's has labels. */
export const ACCOUNT_LABEL = "portside-account";
