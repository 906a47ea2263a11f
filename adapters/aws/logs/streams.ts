/**
 * The log stream of a task is named `PREFIX/CONTAINER/TASK`. Portside sets the prefix and uses it to find a
 * deployment's lines.
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html (awslogs-stream-prefix)
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/** The prefix of all streams of an account. */
export const accountPrefixOf = (owner: AccountId): string => `${accountDigest(owner)}/`;

/**
 * The prefix of a deployment's streams. It ends with a slash, so that the prefix of `app` does not match `app-2`.
 */
export const streamPrefixOf = (owner: AccountId, name: DeploymentName): string => `${accountPrefixOf(owner)}${name}/`;

/** Returns a function that finds the scope to which a stream belongs. */
export const scopeFinder = (scopes: readonly LogScope[]): ((stream: string) => LogScope | undefined) => {
  const byPrefix = new Map(scopes.map((scope) => [streamPrefixOf(scope.owner, scope.service), scope]));
  return (stream) => byPrefix.get(`${stream.split("/", 2).join("/")}/`);
};
