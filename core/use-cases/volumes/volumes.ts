/** Volumes: create, list, delete, restore. The templates of the running services are the only record of their mounts. */
import type { z } from "zod";
import type { AccountId, Principal } from "../../domain/accounts/account.ts";
import type { Service } from "../../domain/deploy/service-template.ts";
import { attachmentsOf, deletionProblem } from "../../domain/volumes/attachments.ts";
import { type createdVolumeSchema, type TrashedVolume, trashOf, type Volume } from "../../domain/volumes/volume.ts";
import type { Capabilities, Feature } from "../../domain/wire/capabilities.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { createVolumeFields, deleteVolumeFields, restoreVolumeFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import type { StoredVolume } from "../../ports/volume-store.ts";
import { err, ok, type Result } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { accountUseCase, useCase } from "../pipeline/use-case.ts";

export type CreatedVolume = z.output<typeof createdVolumeSchema>;

/** The capability that every use case of volumes needs. */
export const volumeStore = ({ volumes }: Capabilities): Feature => volumes.store;

/** Returns the account's volume of that name. Without one, fails with 403 if another account has one, otherwise with 404. */
export const findOwnVolume = async (
  { ports }: Context,
  { account }: Principal,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<StoredVolume, ControlPlaneError>> => {
  const found = await ports.provider.volumes.find(account, name, options);
  if (found.isErr()) return err(found.error);
  switch (found.value.kind) {
    case "held":
      return ok(found.value.volume);
    case "elsewhere":
      return err(forbidden(`The volume '${name}' belongs to another account.`));
    case "hidden":
      return err(conflict(`'${name}' is being deleted.`));
    case "free":
      return err(notFound(`You have no volume '${name}'.`));
  }
};

/** Returns why an account must not have `count` volumes, as a message. */
export const volumeQuotaProblem = ({ settings }: Context, count: number): string | undefined => {
  const { volumes: max } = settings.accountLimits;
  return count > max ? `your account may have ${max} volumes; delete one first` : undefined;
};

/** Fails if the account neither has the volume nor may have one more. */
const checkQuota = async (
  context: Context,
  account: AccountId,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<void, ControlPlaneError>> => {
  const own = await context.ports.provider.volumes.list(account, options);
  if (own.isErr()) return err(own.error);
  if (own.value.some((one) => one.name === name)) return ok(undefined);
  const problem = volumeQuotaProblem(context, own.value.length + 1);
  return problem === undefined ? ok(undefined) : err(invalidInput([issue(["name"], problem, "quota_exceeded")]));
};

export const createVolume = useCase({
  fields: createVolumeFields,
  requires: volumeStore,
  run: async ({ context, principal: { account }, input: { name }, options }) => {
    const quota = await checkQuota(context, account, name, options);
    if (quota.isErr()) return err(quota.error);
    const stored = await context.ports.provider.volumes.create(account, name, options);
    return stored.map(({ volume, created }): CreatedVolume => ({ name, created, created_at: volume.createdAt }));
  },
});

/** Converts a volume, with the names of the services that mount it. */
const volumeIn = (services: readonly Service[]) => {
  const attachments = attachmentsOf(services);
  return ({ name, id, createdAt }: StoredVolume): Volume => ({
    name,
    id,
    created_at: createdAt,
    attached_to: [...(attachments.get(name) ?? [])],
  });
};

/** Lists the account's volumes by name, each with the deployments that mount it. */
export const listVolumes = accountUseCase({
  requires: volumeStore,
  run: async ({ context, principal: { account }, options }) => {
    const { volumes, services } = context.ports.provider;
    const [own, running] = await Promise.all([volumes.list(account, options), services.list(account, options)]);
    if (own.isErr()) return err(own.error);
    return running.map((mounting) => own.value.map(volumeIn(mounting)));
  },
});

/** Fails with `conflict` if a service mounts the volume. */
const checkUnmounted = async (
  { ports }: Context,
  { owner, name }: StoredVolume,
  options: CallOptions,
): Promise<Result<void, ControlPlaneError>> => {
  const running = await ports.provider.services.list(owner, options);
  if (running.isErr()) return err(running.error);
  const problem = deletionProblem(name, attachmentsOf(running.value).get(name) ?? []);
  return problem === undefined ? ok(undefined) : err(conflict(problem));
};

/**
 * Moves a volume to the trash. Hides it first and then reads the mounts, so that a concurrent deploy either appears among
 * them or finds the volume hidden (see `mayServe` of the rollout). No service ever mounts a deleted volume.
 */
const moveToTrash = async (
  context: Context,
  volume: StoredVolume,
  options: CallOptions,
): Promise<Result<void, ControlPlaneError>> => {
  const { clock, logger, provider } = context.ports;
  const hidden = await provider.volumes.beginDelete(volume, options);
  if (hidden.isErr()) return err(hidden.error);
  const unmounted = await checkUnmounted(context, volume, options);
  const moved = unmounted.isErr() ? unmounted : await provider.volumes.moveToTrash(volume, timestampOf(clock.now()));
  if (moved.isOk()) return ok(undefined);
  const shown = await provider.volumes.abortDelete(volume);
  if (shown.isErr()) logger.warn("a volume stays hidden after its deletion failed", { volume: volume.id });
  return err(moved.error);
};

export const deleteVolume = useCase({
  fields: deleteVolumeFields,
  requires: volumeStore,
  authorize: ({ context, principal, input, options }) => findOwnVolume(context, principal, input.name, options),
  run: async ({ context, options }, volume) => {
    const unmounted = await checkUnmounted(context, volume, options);
    if (unmounted.isErr()) return err(unmounted.error);
    const moved = await moveToTrash(context, volume, options);
    return moved.map(() => ({ detail: `'${volume.name}' was deleted; it can be restored for 7 days.` }));
  },
});

/** Returns the volumes that the account can restore, newest first. */
const restorableVolumes = async (
  { ports: { provider, clock } }: Context,
  { account }: Principal,
  options: CallOptions,
): Promise<Result<readonly TrashedVolume[], ControlPlaneError>> => {
  const deleted = await provider.volumes.trash(account, options);
  return deleted.map((all) => trashOf(all, clock.now()));
};

export const listTrash = accountUseCase({
  requires: volumeStore,
  run: ({ context, principal, options }) => restorableVolumes(context, principal, options),
});

export const restoreVolume = useCase({
  fields: restoreVolumeFields,
  requires: volumeStore,
  run: async ({ context, principal, input: { name, id }, options }) => {
    const { account } = principal;
    const { volumes, services } = context.ports.provider;
    const trash = await restorableVolumes(context, principal, options);
    if (trash.isErr()) return err(trash.error);
    const trashed = trash.value.find((one) => one.name === name && one.id === (id ?? one.id));
    const found = await volumes.find(account, name, options);
    if (found.isErr()) return err(found.error);
    const { kind } = found.value;
    if (trashed === undefined)
      return err(
        kind === "elsewhere"
          ? forbidden(`The volume '${name}' belongs to another account.`)
          : notFound(`No deleted volume '${name}' can be restored. The trash keeps volumes for 7 days.`),
      );
    if (kind === "held" || kind === "hidden")
      return err(conflict(`You already have a volume '${name}'. Delete it before you restore another.`));
    const quota = await checkQuota(context, account, name, options);
    if (quota.isErr()) return err(quota.error);
    // Read the mounts before the restore, so that a failed read leaves the volume in the trash.
    const running = await services.list(account, options);
    if (running.isErr()) return err(running.error);
    const restored = await volumes.restore(account, trashed.id, options);
    return restored.map(volumeIn(running.value));
  },
});
