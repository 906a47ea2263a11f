/**
 * Binds the mounts of a deploy to buckets. Creates missing volumes and detects volumes that were deleted since the
 * plan.
 */
import { deploying } from "../../domain/deploy/events.ts";
import type { DeployPlan, PlannedVolume } from "../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { BoundMount } from "../../domain/volumes/mounts.ts";
import { writeConflict } from "../../domain/volumes/write-condition.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { VolumeState } from "../../ports/volume-store.ts";
import { err, ok, safeTry } from "../../result.ts";
import type { PhaseResult, RunContext } from "./phase.ts";

const deleted = (name: string): DeployFailure => ({
  reason: "volume_unavailable",
  message: `The volume '${name}' was deleted in the meantime. Restore it with 'portside volume restore ${name}', or deploy again to create an empty volume.`,
});

const failureOfStore = (name: string, error: ControlPlaneError): DeployFailure =>
  error.kind === "conflict"
    ? deleted(name)
    : { reason: "provider_unavailable", message: `Cannot use the volume '${name}': ${error.message}` };

const DELETION_MS = 5000;
const POLL_MS = 50;

/** Returns the state of a volume. Waits up to `DELETION_MS` for a deletion in progress. */
const settledState = async ({ ports, run }: RunContext, name: VolumeName): Promise<PhaseResult<VolumeState>> => {
  for (let waited = 0; ; waited += POLL_MS) {
    const found = await ports.provider.volumes.find(run.owner, name);
    if (found.isErr()) return err(failureOfStore(name, found.error));
    if (found.value.kind !== "hidden" || waited >= DELETION_MS || run.signal.aborted) return ok(found.value);
    await ports.clock.sleep(POLL_MS, run.signal);
  }
};

/** Returns the failure if the deployment has changed since the plan was made. */
const checkUnchanged = async ({ ports, run }: RunContext, { expected }: DeployPlan): Promise<PhaseResult<void>> => {
  const found = await ports.provider.services.find(run.name, { signal: run.signal });
  if (found.isErr()) return err({ reason: "provider_unavailable", message: found.error.message });
  const state = found.value;
  const present = state.kind === "held" ? { ...state, etag: state.service.etag } : state;
  const conflict = writeConflict(run.owner, expected, present);
  return conflict === undefined ? ok(undefined) : err(conflict);
};

/**
 * Returns the bucket of a planned volume. Never recreates a volume that existed at the time of the plan, because the
 * service would find it empty.
 */
const bucketOf = (deploy: RunContext, { name, id }: PlannedVolume) =>
  safeTry(async function* () {
    const { ports, run } = deploy;
    const state = yield* await settledState(deploy, name);
    if (id !== null) return state.kind === "held" && state.volume.id === id ? ok(id) : err(deleted(name));
    const stored = await ports.provider.volumes.create(run.owner, name, { signal: run.signal });
    const { volume, created } = yield* stored.mapErr((error) => failureOfStore(name, error));
    if (created) run.emit(deploying(`Created new volume '${name}'`, { volume: name }));
    return ok(volume.id);
  });

/** Creates the missing volumes, unless another deploy came first. Returns each mount with its bucket. */
export const bindVolumes = (deploy: RunContext, plan: DeployPlan) =>
  safeTry(async function* () {
    const { spec, volumes } = plan;
    if (volumes.some(({ id }) => id === null)) yield* await checkUnchanged(deploy, plan);
    const buckets = new Map<string, string>();
    for (const planned of volumes) buckets.set(planned.name, yield* await bucketOf(deploy, planned));
    // The plan contains every mounted volume.
    return ok(spec.mounts.map((mount): BoundMount => ({ ...mount, bucket: buckets.get(mount.volume) as string })));
  });

/**
 * Returns a failure if a mounted volume was deleted. The caller must first make the mounts visible to all readers, so
 * that later deletions find the mount and fail.
 */
export const checkMounts = async (
  deploy: RunContext,
  mounts: readonly BoundMount[],
): Promise<DeployFailure | undefined> => {
  for (const { volume, bucket } of mounts) {
    const state = await settledState(deploy, volume);
    if (state.isErr()) return state.error;
    if (state.value.kind !== "held" || state.value.volume.id !== bucket) return deleted(volume);
  }
  return undefined;
};
