/** What a revision needs before it is made: whoever it runs as, with its rights on what it mounts, and where that is mounted from. */
import type { AccountId } from "../../../core/domain/account.ts";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { ServiceTemplate } from "../../../core/domain/service-template.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { failureOfUnavailable } from "../failures.ts";
import { folderKey, type MountedFrom } from "../files/access-point.ts";
import type { NewRevision } from "./revision.ts";

/** Who an account's services run as: one task role for each account, with rights on its own buckets and nothing else. */
export interface TaskRoles {
  /** The account's role, made where there is none: its ARN. */
  ensure(owner: AccountId, options?: CallOptions): Promise<Result<string, Unavailable>>;
  /** Gives a role its rights on a bucket of its account. `false`: there is no such bucket. */
  allow(bucket: string, role: string, options?: CallOptions): Promise<Result<boolean, Unavailable>>;
}

/** Where a bucket is mounted from, or the folder `subPath` in it; undefined: there is no such bucket. */
export type Mountable = (
  bucket: string,
  options?: CallOptions & { readonly subPath?: string },
) => Promise<Result<MountedFrom | undefined, Unavailable>>;

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
  const fileSystems = new Map<string, MountedFrom>();
  for (const { bucket, volume, subPath } of mounts) {
    const allowed = await identities.allow(bucket, role.value, options);
    if (allowed.isErr()) return err(failureOfUnavailable(allowed.error));
    const mounted = await mountable(bucket, subPath === undefined ? options : { ...options, subPath });
    if (mounted.isErr()) return err(failureOfUnavailable(mounted.error));
    if (!allowed.value || mounted.value === undefined)
      return err({ reason: "volume_unavailable", message: `The volume '${volume}' is gone.` });
    fileSystems.set(folderKey(bucket, subPath), mounted.value);
  }
  return ok({ taskRole: role.value, fileSystems });
};
