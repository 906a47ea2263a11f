/**
 * Names of log streams, by which a deployment's lines are found: `PREFIX/CONTAINER/TASK`, where the prefix is ours.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html (awslogs-stream-prefix)
 */
import type { AccountId } from "../../core/domain/account.ts";
import type { DeploymentName } from "../../core/domain/names.ts";
import { accountDigest } from "../shared/account-digest.ts";

/** Ends with a slash: `app` is no prefix of `app-2` then. The revision comes after it. */
export const streamPrefixOf = (owner: AccountId, name: DeploymentName): string => `${accountDigest(owner)}/${name}/`;
