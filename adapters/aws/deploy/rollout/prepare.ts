/**
 * Creates a revision's prerequisites: the account's role with its permissions, and the mount sources of its volumes.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { failureOfUnavailable } from "../../failures.ts";
import { folderKey, type MountSource } from "../../volumes/files/access-point.ts";
import type { NewRevision } from "./create-revision.ts";

/** Task roles, one per account, with permissions for its own buckets only. */
export interface TaskRoles {
  /** Returns the ARN of the account's role. Creates the role if it does not exist. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Grants a role its permissions on a bucket of its account. Returns false if the bucket does not exist. */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

/** Returns the mount source of a bucket or of its folder `subPath`. Undefined if the bucket does not exist. */
export type Mountable = (
  bucket: string,
  options?: CallOptions & { readonly subPath?: string },
) => Promise<Result<MountSource | undefined, Unavailable>>;

export interface PrepareDeps {
  readonly identities: TaskRoles;
  readonly mountable: Mountable;
}

export type Prepared = Pick<NewRevision, "taskRole" | "fileSystems">;

export const prepare = async (
  { identities, mountable }: PrepareDeps,
  { owner, mounts }: Pick<ServiceTemplate, "owner" | "mounts">,
  options: CallOptions,
): Promise<Result<Prepared, DeployFailure>> => {
  const role = await identities.ensure(owner, options);
  if (role.isErr()) return err(failureOfUnavailable(role.error));
  const fileSystems = new Map<string, MountSource>();
  for (const { bucket, volume, subPath } of mounts) {
    const allowed = await identities.allow(bucket, role.value, options);
    if (allowed.isErr()) return err(failureOfUnavailable(allowed.error));
    const mounted = await mountable(bucket, subPath === undefined ? options : { ...options, subPath });
    if (mounted.isErr()) return err(failureOfUnavailable(mounted.error));
    if (!allowed.value || mounted.value === undefined)
      return err({ reason: "volume_unavailable", message: `The volume '${volume}' does not exist.` });
    fileSystems.set(folderKey(bucket, subPath), mounted.value);
  }
  return ok({ taskRole: role.value, fileSystems });
};
