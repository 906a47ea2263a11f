/** The redeploys that a new value of a secret starts, and the records of unfinished ones. */
import type { AccountId } from "../accounts/account.ts";
import type { Service } from "../deploy/service-template.ts";
import type { DeploymentName, SecretName } from "../wire/names.ts";
import { isBehind } from "./uses.ts";

/** Records that some deployments may still need a redeploy with this version of a secret. */
export interface PendingRedeploys {
  readonly owner: AccountId;
  readonly name: SecretName;
  readonly version: number;
}

/**
 * Returns the deployments to redeploy, in the order of `services`. They follow the secret and have an older version
 * than `version`. The caller must not pass a version that was set without redeploys.
 */
export const deploymentsToRedeploy = (
  services: readonly Service[],
  { name, version }: Pick<PendingRedeploys, "name" | "version">,
): readonly DeploymentName[] =>
  services.filter((service) => isBehind(service, name, version)).map((service) => service.name);

/** Returns the version to record: the newer one, because its redeploys include the others. */
export const pendingAfterBegin = (recorded: number | undefined, begun: number): number =>
  Math.max(recorded ?? begun, begun);

/** Returns the version that stays recorded when the redeploys for `ended` have ended; undefined if no version does. */
export const pendingAfterEnd = (recorded: number | undefined, ended: number): number | undefined =>
  recorded !== undefined && recorded > ended ? recorded : undefined;
