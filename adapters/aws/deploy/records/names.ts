/**
 * Names of a deployment's AWS resources. Each name contains the name of a revision, or the name's unique suffix.
 * Therefore, two replicas that deploy under one name concurrently cannot change each other's resources.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../../cloud/deploy/labels.ts";
import { SUFFIX_CHARS } from "../../../cloud/deploy/revision-id.ts";
import { accountDigest, shortAccountDigest } from "../../../shared/accounts/account-digest.ts";
import type { SharedResources } from "../../config.ts";

/** Name of the service's container; other containers of the task were added by hand. */
export const CONTAINER = "app";

/** A task definition's family: "up to 255 letters, numbers, underscores, and hyphens" (RegisterTaskDefinition). */
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

/** True if Portside created the target group. */
export const isOwnGroup = (arn: string): boolean => nameInArn(arn).startsWith(GROUP_PREFIX);

/** Returns a deployment's host name without a port, as rule conditions require. */
export const hostOf = ({ domain }: Pick<SharedResources, "domain">, name: DeploymentName): string =>
  `${name}.${domain.replace(/:\d+$/, "")}`;

export const urlOf = ({ scheme, domain }: Pick<SharedResources, "scheme" | "domain">, name: DeploymentName): string =>
  `${scheme}://${name}.${domain}`;

/**
 * Returns a host name that no client requests. A rule must reference a group before the group gets traffic, because the
 * load balancer does not check groups that no listener uses (TargetHealth, Target.NotInUse). The name contains a
 * write's random id.
 */
export const placeholderHostOf = (write: string): string => `${write}.portside.invalid`;

export interface Tagged {
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly revision: string;
}

/** Tags for the console and for cost reports. A tag's value has at most 256 characters. */
export const tagsOf = ({ owner, name, revision }: Tagged): readonly (readonly [string, string])[] => [
  [OWNER_LABEL, accountDigest(owner)],
  [SERVICE_LABEL, name],
  ["portside-revision", revision],
];
