/**
 * Creates, lists, deletes and restores volumes. The templates of the running services are the only record of mounts.
 */
import type { z } from "zod";
import type { Service } from "../../domain/deploy/service-template.ts";
import { attachmentsOf, deletionProblem } from "../../domain/volumes/attachments.ts";
import { isBeingDeleted, nameIsTaken } from "../../domain/volumes/conflicts.ts";
import { type createdVolumeSchema, type TrashedVolume, trashOf, type Volume } from "../../domain/volumes/volume.ts";
import type { Capabilities, Feature } from "../../domain/wire/capabilities.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { createVolumeFields, deleteVolumeFields, restoreVolumeFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { StoredVolume } from "../../ports/volume-store.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import type { Context } from "../pipeline/context.ts";
import { accountUseCase, type Caller, useCase } from "../pipeline/use-case.ts";

/** The volume that a request created, or the existing one. */
export type CreatedVolume = z.output<typeof createdVolumeSchema>;

/** The capability that every use case of volumes needs. */
export const volumeStore = ({ volumes }: Capabilities): Feature => volumes.store;

/**
 * Returns the account's volume with the name. Fails with `forbidden` if only other accounts have a volume of that name,
 * with `not_found` if no account does, and with `conflict` during a deletion.
 */
export const findOwnVolume = async (
  { context, principal: { account }, options }: Caller,
  name: VolumeName,
): Promise<Result<StoredVolume, ControlPlaneError>> => {
  const found = await context.ports.provider.volumes.find(account, name, options);
  if (found.isErr()) return err(found.error);
  switch (found.value.kind) {
    case "held":
      return ok(found.value.volume);
    case "other_account":
      return err(forbidden(`The volume '${name}' belongs to another account.`));
    case "hidden":
      return err(isBeingDeleted(name));
    case "free":
      return err(notFound(`Your account has no volume '${name}'.`));
  }
};

/** Returns a message if `count` volumes would exceed the quota. */
export const volumeQuotaProblem = ({ settings }: Context, count: number): string | undefined => {
  const { volumes: max } = settings.accountLimits;
  return count > max ? `your account may have at most ${max} volumes; delete one first` : undefined;
};

/** Fails if a new volume of this name would exceed the quota. Succeeds for an existing volume. */
const checkQuota = ({ context, principal: { account }, options }: Caller, name: VolumeName) =>
  safeTry(async function* () {
    const own = yield* await context.ports.provider.volumes.list(account, options);
    if (own.some((one) => one.name === name)) return ok(undefined);
    const problem = volumeQuotaProblem(context, own.length + 1);
    return problem === undefined ? ok(undefined) : err(invalidInput([issue(["name"], problem, "quota_exceeded")]));
  });

export const createVolume = useCase({
  fields: createVolumeFields,
  requires: volumeStore,
  run: (call) => {
    const { context, principal, input, options } = call;
    return checkQuota(call, input.name)
      .andThen(() => context.ports.provider.volumes.create(principal.account, input.name, options))
      .map(({ volume: { name, createdAt }, created }): CreatedVolume => ({ name, created, created_at: createdAt }));
  },
});

/** Returns a function that converts a volume to its client view, with the names of the services that mount it. */
const volumeIn = (services: readonly Service[]) => {
  const attachments = attachmentsOf(services);
  return ({ name, id, createdAt }: StoredVolume): Volume => ({
    name,
    id,
    created_at: createdAt,
    attached_to: [...(attachments.get(name) ?? [])],
  });
};

/** Lists the account's volumes with the deployments that mount them, sorted by volume name. */
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
const checkUnmounted = ({ context, options }: Caller, { owner, name }: StoredVolume) =>
  context.ports.provider.services.list(owner, options).andThen((running) => {
    const problem = deletionProblem(name, attachmentsOf(running).get(name) ?? []);
    return problem === undefined ? ok(undefined) : err(conflict(problem));
  });

/**
 * Moves a volume to the trash. Hides the volume before it reads the mounts, so that a concurrent deploy either
 * appears among the mounts or finds the volume hidden (see `RolloutRequest.mayServe`). Therefore no service mounts a
 * deleted volume.
 */
const moveToTrash = (caller: Caller, volume: StoredVolume) =>
  safeTry(async function* () {
    const { clock, logger, provider } = caller.context.ports;
    yield* await provider.volumes.beginDelete(volume, caller.options);
    const moved = await checkUnmounted(caller, volume).andThen(() =>
      provider.volumes.moveToTrash(volume, timestampOf(clock.now())),
    );
    if (moved.isOk()) return ok(undefined);
    const shown = await provider.volumes.abortDelete(volume);
    if (shown.isErr()) logger.warn("a volume stays hidden after its deletion failed", { volume: volume.id });
    return err(moved.error);
  });

export const deleteVolume = useCase({
  fields: deleteVolumeFields,
  requires: volumeStore,
  authorize: (call) => findOwnVolume(call, call.input.name),
  run: (call, volume) =>
    checkUnmounted(call, volume)
      .andThen(() => moveToTrash(call, volume))
      .map(() => ({ detail: `'${volume.name}' was deleted. You can restore it for 7 days.` })),
});

/** Returns the volumes that the account can restore, most recently deleted first. */
export const restorableVolumes = ({ context: { ports }, principal, options }: Caller) =>
  ports.provider.volumes
    .trash(principal.account, options)
    .map((deleted): readonly TrashedVolume[] => trashOf(deleted, ports.clock.now()));

export const listTrash = accountUseCase({ requires: volumeStore, run: restorableVolumes });

export const restoreVolume = useCase({
  fields: restoreVolumeFields,
  requires: volumeStore,
  run: (call) =>
    safeTry(async function* () {
      const { context, principal, input, options } = call;
      const { volumes, services } = context.ports.provider;
      const { account } = principal;
      const { name, id } = input;
      const trash = yield* await restorableVolumes(call);
      const trashed = trash.find((one) => one.name === name && one.id === (id ?? one.id));
      const { kind } = yield* await volumes.find(account, name, options);
      if (trashed === undefined)
        return err(
          kind === "other_account"
            ? forbidden(`The volume '${name}' belongs to another account.`)
            : notFound(`No deleted volume '${name}' can be restored. Deleted volumes can be restored for 7 days.`),
        );
      if (kind === "held" || kind === "hidden") return err(nameIsTaken(name));
      yield* await checkQuota(call, name);
      // Read the mounts before the restore, so that a failed read leaves the volume in the trash.
      const running = yield* await services.list(account, options);
      const restored = yield* await volumes.restore(account, trashed.id, options);
      return ok(volumeIn(running)(restored));
    }),
});
