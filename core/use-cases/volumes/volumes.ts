/** Volumes: make, list, delete, restore. What mounts them is read from the templates of what runs, each time. */
import type { z } from "zod";
import type { AccountId, Principal } from "../../domain/accounts/account.ts";
import { attachmentsOf, deletionProblem } from "../../domain/volumes/attachments.ts";
import { type createdVolumeSchema, type TrashedVolume, trashOf, type Volume } from "../../domain/volumes/volume.ts";
import { refusal } from "../../domain/wire/capabilities.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { timestampOf } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { createVolumeFields, deleteVolumeFields, restoreVolumeFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, conflict, forbidden, invalidInput, notFound } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import type { StoredVolume } from "../../ports/volume-store.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";

export type CreatedVolume = z.output<typeof createdVolumeSchema>;

/** The caller's own volume of that name; without one, 403 where another account has one, else 404. */
export const ownVolume = async (
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

/** Why the account may not have so many volumes, in words. */
export const tooManyVolumes = ({ settings }: Context, count: number): string | undefined => {
  const most = settings.accountLimits.volumes;
  return count > most ? `your account may have ${most} volumes; delete one first` : undefined;
};

/** Ok where the account has the volume, or may have one more. */
const withRoom = async (
  context: Context,
  account: AccountId,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<void, ControlPlaneError>> => {
  const own = await context.ports.provider.volumes.list(account, options);
  if (own.isErr()) return err(own.error);
  const full = own.value.some((one) => one.name === name) ? undefined : tooManyVolumes(context, own.value.length + 1);
  return full === undefined ? ok(undefined) : err(invalidInput([issue(["name"], full, "quota_exceeded")]));
};

const unlessOffered = ({ ports }: Context): ControlPlaneError | undefined =>
  refusal(ports.provider.capabilities.volumes.store);

/** What every call on a volume that is there begins with: the request is whole, volumes are offered, this one is the caller's. */
export const admitted = async (
  context: Context,
  principal: Principal,
  issues: readonly Issue[],
  name: VolumeName | undefined,
  options: CallOptions,
): Promise<Result<StoredVolume, ControlPlaneError>> => {
  if (issues.length > 0) return err(invalidInput(issues));
  const missing = unlessOffered(context);
  return missing === undefined ? ownVolume(context, principal, name as VolumeName, options) : err(missing);
};

export const createVolume = (
  context: Context,
  { account }: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<CreatedVolume, ControlPlaneError> =>
  catchBugs<CreatedVolume, ControlPlaneError>(async () => {
    const { volumes } = context.ports.provider;
    const { values, issues } = parseFields(createVolumeFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const missing = unlessOffered(context);
    if (missing !== undefined) return err(missing);
    const name = values.name as VolumeName;
    const room = await withRoom(context, account, name, options);
    if (room.isErr()) return err(room.error);
    const made = await volumes.create(account, name, options);
    return made.map(({ volume, created }) => ({ name, created, created_at: volume.createdAt }));
  });

/** The account's volumes by name, each with who mounts it now. */
export const listVolumes = (
  context: Context,
  { account }: Principal,
  options: CallOptions = {},
): ResultAsync<readonly Volume[], ControlPlaneError> =>
  catchBugs<readonly Volume[], ControlPlaneError>(async () => {
    const missing = unlessOffered(context);
    if (missing !== undefined) return err(missing);
    const { volumes, services } = context.ports.provider;
    const [own, running] = await Promise.all([volumes.list(account, options), services.list(account, options)]);
    if (own.isErr()) return err(own.error);
    return running.map(attachmentsOf).map((attached) =>
      own.value.map(({ name, id, createdAt }) => ({
        name,
        id,
        created_at: createdAt,
        attached_to: [...(attached.get(name) ?? [])],
      })),
    );
  });

/** Ok where nothing mounts the volume now. */
const unmounted = async (
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
 * Hidden first, and the mounts read again behind that: a deploy that mounts it meanwhile either shows in them, or finds
 * it hidden (see `mayServe` of the rollout). So whichever comes second is refused, and nothing mounts what is gone.
 */
const discard = async (
  context: Context,
  volume: StoredVolume,
  options: CallOptions,
): Promise<Result<void, ControlPlaneError>> => {
  const { clock, logger, provider } = context.ports;
  const hidden = await provider.volumes.beginDelete(volume, options);
  if (hidden.isErr()) return err(hidden.error);
  const decided = await unmounted(context, volume, options);
  const gone = decided.isErr() ? decided : await provider.volumes.moveToTrash(volume, timestampOf(clock.now()));
  if (gone.isOk()) return ok(undefined);
  const shown = await provider.volumes.abortDelete(volume);
  if (shown.isErr()) logger.warn("a volume that stays could not be shown again", { volume: volume.id });
  return err(gone.error);
};

export const deleteVolume = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<{ detail: string }, ControlPlaneError> =>
  catchBugs<{ detail: string }, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(deleteVolumeFields, raw);
    const volume = await admitted(context, principal, issues, values.name, options);
    if (volume.isErr()) return err(volume.error);
    const free = await unmounted(context, volume.value, options);
    if (free.isErr()) return err(free.error);
    const gone = await discard(context, volume.value, options);
    return gone.map(() => ({ detail: `'${volume.value.name}' was deleted; it can be restored for 7 days.` }));
  });

/** What the account can restore, newest first. */
export const listTrash = (
  context: Context,
  { account }: Principal,
  options: CallOptions = {},
): ResultAsync<readonly TrashedVolume[], ControlPlaneError> =>
  catchBugs<readonly TrashedVolume[], ControlPlaneError>(async () => {
    const missing = unlessOffered(context);
    if (missing !== undefined) return err(missing);
    const { provider, clock } = context.ports;
    const deleted = await provider.volumes.trash(account, options);
    return deleted.map((all) => trashOf(all, clock.now()));
  });

const restorable = (trash: readonly TrashedVolume[], name: string, id: string | undefined): TrashedVolume | undefined =>
  trash.find((one) => one.name === name && (id === undefined || one.id === id));

export const restoreVolume = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<Volume, ControlPlaneError> =>
  catchBugs<Volume, ControlPlaneError>(async () => {
    const { values, issues } = parseFields(restoreVolumeFields, raw);
    if (issues.length > 0) return err(invalidInput(issues));
    const name = values.name as VolumeName;
    const trash = await listTrash(context, principal, options);
    if (trash.isErr()) return err(trash.error);
    const wanted = restorable(trash.value, name, values.id ?? undefined);
    const { volumes, services } = context.ports.provider;
    const present = await volumes.find(principal.account, name, options);
    if (present.isErr()) return err(present.error);
    if (wanted === undefined)
      return err(
        present.value.kind === "elsewhere"
          ? forbidden(`The volume '${name}' belongs to another account.`)
          : notFound(`There is no deleted volume '${name}' that could be restored; the trash keeps them for 7 days.`),
      );
    if (present.value.kind === "held" || present.value.kind === "hidden")
      return err(conflict(`You have a volume '${name}' now; delete it first, or keep it.`));
    const room = await withRoom(context, principal.account, name, options);
    if (room.isErr()) return err(room.error);
    // Before it is back, so that nothing is done where the mounts cannot be read.
    const running = await services.list(principal.account, options);
    if (running.isErr()) return err(running.error);
    const mounters = attachmentsOf(running.value).get(name) ?? [];
    const back = await volumes.restore(principal.account, wanted.id, options);
    return back.map(({ id, createdAt }) => ({ name, id, created_at: createdAt, attached_to: [...mounters] }));
  });
