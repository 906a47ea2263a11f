/** A deploy's volumes: those that are missing are made, and what mounts a volume is sure that it stays. */
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

const gone = (name: string): DeployFailure => ({
  reason: "volume_unavailable",
  message: `The volume '${name}' was deleted meanwhile. Restore it with 'portside volume restore ${name}', or deploy again for a new, empty one.`,
});

const failureOfStore = (name: string, error: ControlPlaneError): DeployFailure =>
  error.kind === "conflict"
    ? gone(name)
    : { reason: "provider_unavailable", message: `The volume '${name}': ${error.message}` };

const DECISION_MS = 5000;
const LOOK_MS = 50;

/** What stands under the name once it is decided: a volume that is hidden stays or goes within moments. */
const decided = async (ports: Ports, run: RunningDeploy, name: VolumeName): Promise<VolumeState | DeployFailure> => {
  for (let waited = 0; ; waited += LOOK_MS) {
    const found = await ports.provider.volumes.find(run.owner, name);
    if (found.isErr()) return failureOfStore(name, found.error);
    if (found.value.kind !== "hidden" || waited >= DECISION_MS || run.signal.aborted) return found.value;
    await ports.clock.sleep(LOOK_MS, run.signal);
  }
};

/** The bucket of a planned volume. One that the plan had seen is never made again: its data would seem lost. */
const bucketOf = async (
  ports: Ports,
  run: RunningDeploy,
  { name, id }: PlannedVolume,
): Promise<string | DeployFailure> => {
  const state = await decided(ports, run, name);
  if ("reason" in state) return state;
  if (id !== null) return state.kind === "held" && state.volume.id === id ? id : gone(name);
  const made = await ports.provider.volumes.create(run.owner, name, { signal: run.signal });
  if (made.isErr()) return failureOfStore(name, made.error);
  if (made.value.created) run.emit(deploying(`Created new volume '${name}'`, { volume: name }));
  return made.value.volume.id;
};

/** Makes the volumes that are missing, and binds each mount to its bucket. */
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
  // Every mounted volume was planned.
  return { ok: true, value: spec.mounts.map((mount) => ({ ...mount, bucket: buckets.get(mount.volume) as string })) };
};

/**
 * Why a revision that shows its mounts to every reader may not serve: one of the volumes went before it showed. A volume
 * that is still there now stays, because its deletion would find the mount.
 */
export const checkMounts = async (
  ports: Ports,
  run: RunningDeploy,
  mounts: readonly BoundMount[],
): Promise<DeployFailure | undefined> => {
  for (const mount of mounts) {
    const state = await decided(ports, run, mount.volume);
    if ("reason" in state) return state;
    if (state.kind !== "held" || state.volume.id !== mount.bucket) return gone(mount.volume);
  }
  return undefined;
};
