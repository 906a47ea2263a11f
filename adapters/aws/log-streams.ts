/** Where a deployment's log streams are: `ACCOUNT-DIGEST/NAME/...`, so that a prefix is one deployment of one account. */
import type { AccountId } from "../../core/domain/account.ts";
import type { DeploymentName } from "../../core/domain/names.ts";
import { accountDigest } from "../shared/account-digest.ts";

/** Ends with a slash: `app` is no prefix of `app-2` then. */
export const streamPrefixOf = (owner: AccountId, name: DeploymentName): string => `${accountDigest(owner)}/${name}/`;
