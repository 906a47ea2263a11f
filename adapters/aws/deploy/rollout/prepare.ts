/**
 * Creates a revision's prerequisites: the account's roles with their permissions, and the mount sources of its volumes.
 * Finds its secrets, and protects its image from clean-ups.
 */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result, safeTry } from "../../../../core/result.ts";
import { secretMissing } from "../../../cloud/deploy/pinned-secrets.ts";
import type { Identities } from "../../accounts/identities.ts";
import { failureOfUnavailable, type Step } from "../../failures.ts";
import type { RolloutSecrets } from "../../secrets/secret-store.ts";
import { folderKey, type MountSource } from "../../volumes/files/access-point.ts";
import type { HeldImages } from "../images/held-images.ts";
import type { EcsLocation } from "../records/service.ts";
import type { NewRevision } from "./create-revision.ts";

/** Returns the mount source of a bucket or of its folder `subPath`. Returns undefined if the bucket does not exist. */
export type Mountable = (
  bucket: string,
  options?: CallOptions & { readonly subPath?: string },
) => Promise<Result<MountSource | undefined, Unavailable>>;

export interface PrepareDeps {
  readonly images: Pick<HeldImages, "hold">;
  readonly identities: Identities;
  readonly mountable: Mountable;
  readonly secrets: RolloutSecrets;
  /** Names the role that starts services without secrets (`executionRoleArn`). */
  readonly location: EcsLocation;
}

export type Prepared = Pick<NewRevision, "taskRole" | "executionRole" | "secrets" | "fileSystems">;

/** Returns the ARNs of the pinned secrets, and the role that may read them. */
const prepareSecrets = (
  { identities, secrets, location }: PrepareDeps,
  { owner, secrets: pins = {} }: Pick<ServiceTemplate, "owner" | "secrets">,
  options: CallOptions,
): Step<Pick<Prepared, "executionRole" | "secrets">> =>
  safeTry(async function* () {
    if (Object.keys(pins).length === 0)
      return ok({ executionRole: location.shared.executionRoleArn, secrets: new Map() });
    const arns = yield* await secrets.arns(owner, pins, options).mapErr(failureOfUnavailable);
    const [, missing] = Object.entries(pins).find(([variable]) => !arns.has(variable)) ?? [];
    if (missing !== undefined) return err<never, DeployFailure>(secretMissing(missing));
    const executionRole = yield* (await identities.ensureExecution(owner, options)).mapErr(failureOfUnavailable);
    return ok({ executionRole, secrets: arns });
  });

export const prepare = (
  deps: PrepareDeps,
  template: Pick<ServiceTemplate, "owner" | "image" | "mounts" | "secrets">,
  options: CallOptions,
): Step<Prepared> =>
  safeTry(async function* () {
    const { images, identities, mountable } = deps;
    const { owner, image, mounts } = template;
    if (!(yield* await images.hold(owner, image, options).mapErr(failureOfUnavailable)))
      return err<never, DeployFailure>({
        reason: "image_not_found",
        message: "The image was removed from the repository. Deploy its source again.",
      });
    const taskRole = yield* (await identities.ensure(owner, options)).mapErr(failureOfUnavailable);
    const fileSystems = new Map<string, MountSource>();
    for (const { bucket, volume, subPath } of mounts) {
      const allowed = yield* (await identities.allow(bucket, taskRole, options)).mapErr(failureOfUnavailable);
      const folder = subPath === undefined ? options : { ...options, subPath };
      const mounted = yield* (await mountable(bucket, folder)).mapErr(failureOfUnavailable);
      if (!allowed || mounted === undefined)
        return err<never, DeployFailure>({
          reason: "volume_unavailable",
          message: `The volume '${volume}' does not exist. Restore it, or deploy again to create an empty volume.`,
        });
      fileSystems.set(folderKey(bucket, subPath), mounted);
    }
    return ok({ taskRole, fileSystems, ...(yield* await prepareSecrets(deps, template, options)) });
  });
