/**
 * Log streams are named `PREFIX/CONTAINER/TASK`. Portside sets the prefix, by which it finds a deployment's lines.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html (awslogs-stream-prefix)
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/** Ends with a slash, so that `app` does not match `app-2`. The revision follows. */
export const streamPrefixOf = (owner: AccountId, name: DeploymentName): string => `${accountDigest(owner)}/${name}/`;
