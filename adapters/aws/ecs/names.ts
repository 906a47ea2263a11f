/**
 * Names of what a deployment is made of at Amazon. Everything of a revision carries the revision's own name, so that of
 * two replicas that race on one deployment neither can touch what the other made.
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import { accountDigest, shortAccountDigest } from "../../shared/account-digest.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../shared/labels.ts";
import { SUFFIX_CHARS } from "../../shared/revision-id.ts";
import type { SharedParts } from "../config.ts";

/** The container that is the service; others beside it were put there by hand. */
export const CONTAINER = "app";

/** A task definition's family: "up to 255 letters, numbers, underscores, and hyphens" (RegisterTaskDefinition). */
export const familyOf = (owner: AccountId, revision: string): string =>
  `portside-${shortAccountDigest(owner)}-${revision}`;

const GROUP_PREFIX = "portside-";

/** A target group's name: 32 characters at most, so only the part of the revision that is its own (CreateTargetGroup). */
export const targetGroupNameOf = (revision: string): string => `${GROUP_PREFIX}${revision.slice(-SUFFIX_CHARS)}`;

/** The name in a target group's ARN, `...:targetgroup/NAME/ID`. */
export const nameInArn = (arn: string): string => arn.split("/").at(-2) ?? "";

/** Whether a target group is one of Portside's. */
export const isOwnGroup = (arn: string): boolean => nameInArn(arn).startsWith(GROUP_PREFIX);

/** The host name of a deployment, as a rule's condition has it: without a port. */
export const hostOf = ({ domain }: Pick<SharedParts, "domain">, name: DeploymentName): string =>
  `${name}.${domain.replace(/:\d+$/, "")}`;

export const urlOf = ({ scheme, domain }: Pick<SharedParts, "scheme" | "domain">, name: DeploymentName): string =>
  `${scheme}://${name}.${domain}`;

/**
 * A host name that nobody asks for: a revision that gets no traffic yet must be named by some rule, because the targets
 * of a group that no listener uses are not checked (TargetHealth, Target.NotInUse). Made of the secret part of a write.
 */
export const heldHostOf = (write: string): string => `${write}.portside.invalid`;

export interface Tagged {
  readonly owner: AccountId;
  readonly name: DeploymentName;
  readonly revision: string;
}

/** Tags by which things are found in the console and in bills; a tag's value has at most 256 characters. */
export const tagsOf = ({ owner, name, revision }: Tagged): readonly (readonly [string, string])[] => [
  [OWNER_LABEL, accountDigest(owner)],
  [SERVICE_LABEL, name],
  ["portside-revision", revision],
];
