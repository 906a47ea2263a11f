/** Binds the mounts of a deploy to buckets: creates missing volumes, and detects volumes that are deleted meanwhile. */
import { deploying } from "../../domain/deploy/events.ts";
import type { DeployPlan, PlannedVolume } from "../../domain/deploy/plan.ts";
import type { DeployFailure } from "../../domain/deploy/reason.ts";
import type { BoundMount } from "../../domain/volumes/mounts.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import type { ControlPlaneError } from "../../errors.ts";
import type { Ports } from "../../ports/provider.ts";
import type { VolumeState } from "../../ports/volume-store.ts";
import type { PhaseResult } from "./phase.ts";
import type { RunningDeploy } from "./running-deploy.ts";

const deleted = (name: string): DeployFailure => ({
  reason: "volume_unavailable",
  message: `The volume '${name}' was deleted meanwhile. Restore it with 'portside volume restore ${name}', or deploy again for a new, empty one.`,
});

const failureOfStore = (name: string, error: ControlPlaneError): DeployFailure =>
  error.kind === "conflict"
    ? deleted(name)
    : { reason: "provider_unavailable", message: `The volume '${name}': ${error.message}` };

const DELETION_MS = 5000;
const POLL_MS = 50;

/** Returns the state of a volume. Waits for a deletion in progress, which completes or is cancelled within seconds. */
const settledState = async (
  ports: Ports,
  run: RunningDeploy,
  name: VolumeName,
): Promise<VolumeState | DeployFailure> => {
  for (let waited = 0; ; waited += POLL_MS) {
    const found = await ports.provider.volumes.find(run.owner, name);
    if (found.isErr()) return failureOfStore(name, found.error);
    if (found.value.kind !== "hidden" || waited >= DELETION_MS || run.signal.aborted) return found.value;
    await ports.clock.sleep(POLL_MS, run.signal);
  }
};

/** Returns the bucket of a planned volume. Never creates a volume again that the plan saw: its data would seem lost. */
const bucketOf = async (
  ports: Ports,
  run: RunningDeploy,
  { name, id }: PlannedVolume,
): Promise<string | DeployFailure> => {
  const state = await settledState(ports, run, name);
  if ("reason" in state) return state;
  if (id !== null) return state.kind === "held" && state.volume.id === id ? id : deleted(name);
  const stored = await ports.provider.volumes.create(run.owner, name, { signal: run.signal });
  if (stored.isErr()) return failureOfStore(name, stored.error);
  if (stored.value.created) run.emit(deploying(`Created new volume '${name}'`, { volume: name }));
  return stored.value.volume.id;
};

/** Creates the missing volumes. Returns each mount with its bucket. */
export const bindVolumes = async (
  ports: Ports,
  run: RunningDeploy,
  { spec, volumes }: DeployPlan,
): Promise<PhaseResult<readonly BoundMount[]>> => {
  const buckets = new Map<string, string>();
  for (const planned of volumes) {
    const bucket = await bucketOf(ports, run, planned);
    if (typeof bucket !== "string") return { ok: false, failure: bucket };
    buckets.set(planned.name, bucket);
  }
  // The plan contains every mounted volume.
  return { ok: true, value: spec.mounts.map((mount) => ({ ...mount, bucket: buckets.get(mount.volume) as string })) };
};

/**
 * Returns a failure if a mounted volume was deleted. The caller must call it when every reader sees the mounts: from then
 * on a deletion finds the mount and fails.
 */
export const checkMounts = async (
  ports: Ports,
  run: RunningDeploy,
  mounts: readonly BoundMount[],
): Promise<DeployFailure | undefined> => {
  for (const mount of mounts) {
    const state = await settledState(ports, run, mount.volume);
    if ("reason" in state) return state;
    if (state.kind !== "held" || state.volume.id !== mount.bucket) return deleted(mount.volume);
  }
  return undefined;
};
