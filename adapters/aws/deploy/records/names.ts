/**
 * Names, host names and tags of a deployment's AWS resources. Names of task definitions and target groups contain the
 * unique suffix of a revision. Therefore, two replicas that deploy the same service concurrently cannot change each
 * other's resources.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../../cloud/deploy/labels.ts";
import { SUFFIX_CHARS } from "../../../cloud/deploy/revision-id.ts";
import { accountDigest, shortAccountDigest } from "../../../shared/accounts/account-digest.ts";
import type { SharedResources } from "../../config.ts";

/** Name of the service's container. Operators may have added other containers to the task. */
export const CONTAINER = "app";

/** A task definition's family: at most 255 letters, numbers, underscores and hyphens (RegisterTaskDefinition). */
export const familyOf = (owner: AccountId, revision: string): string =>
  `portside-${shortAccountDigest(owner)}-${revision}`;

const GROUP_PREFIX = "portside-";

/**
 * Returns a target group's name. It contains only the revision's unique suffix, because a name has at most 32
 * characters (CreateTargetGroup).
 */
export const targetGroupNameOf = (revision: string): string => `${GROUP_PREFIX}${revision.slice(-SUFFIX_CHARS)}`;

/** The target group's name in its ARN, `...:targetgroup/NAME/ID`. */
export const nameInArn = (arn: string): string => arn.split("/").at(-2) ?? "";

/** True if the target group's name shows that Portside created it. */
export const isOwnGroup = (arn: string): boolean => nameInArn(arn).startsWith(GROUP_PREFIX);

/** Returns a deployment's host name without a port, as rule conditions require. */
export const hostOf = ({ domain }: Pick<SharedResources, "domain">, name: DeploymentName): string =>
  `${name}.${domain.replace(/:\d+$/, "")}`;

export const urlOf = ({ scheme, domain }: Pick<SharedResources, "scheme" | "domain">, name: DeploymentName): string =>
  `${scheme}://${name}.${domain}`;

/**
 * Returns a host name that no client requests, for a rule that references a target group before the group gets traffic.
 * Without the rule, the load balancer would not check the group's targets (TargetHealth, Target.NotInUse).
 *
 * @param write the random id of the rollout's first write
 */
export const placeholderHostOf = (write: string): string => `${write}.portside.invalid`;

export interface Tagged {
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly revision: string;
}

/** Returns tags for the AWS console and cost reports. A tag's value may have at most 256 characters. */
export const tagsOf = ({ owner, name, revision }: Tagged): readonly (readonly [string, string])[] => [
  [OWNER_LABEL, accountDigest(owner)],
  [SERVICE_LABEL, name],
  ["portside-revision", revision],
];
