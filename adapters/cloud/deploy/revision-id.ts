/** The names of revisions on clouds. */
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

export const SUFFIX_CHARS = 12;

/**
 * Returns the name of the revision that a write creates: the service's name and the last characters of the write's id.
 * On Cloud Run, the name must begin with the service's name (https://github.com/knative/serving/pull/3562) and have
 * fewer than 64 characters.
 */
export const revisionIdOf = (name: DeploymentName, write: string): string => `${name}-${write.slice(-SUFFIX_CHARS)}`;
