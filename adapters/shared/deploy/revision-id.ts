/** Names of revisions. */
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

export const SUFFIX_CHARS = 12;

/**
 * The name of the revision that a write makes: the service's, and a part of the write's own id. On Cloud Run it must begin
 * with the service's name (https://github.com/knative/serving/pull/3562) and have less than 64 characters.
 */
export const revisionIdOf = (name: DeploymentName, write: string): string => `${name}-${write.slice(-SUFFIX_CHARS)}`;
